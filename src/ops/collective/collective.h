// Shared by the files of the collectives. A collective has one operand and runs over the devices of
// named axes. It meets two kinds of vmap: one over an axis that it names, under which it becomes
// ordinary array arithmetic, and one over another axis, under which its dimension numbers shift.
//
// There are two regimes (src/ops/README.md, Collectives). Under pmap, vmap(axis_name) and untyped
// shard_map, types carry no axes and the transpose of psum is psum. In a typed shard_map a psum is
// `psum_invariant`, whose transpose is `pvary`, and vice versa. All other collectives are the same
// op in both regimes.
#pragma once

#include "ir/collective_attrs.h"
#include "ir/op.h"
#include "ops/batching.h"
#include "ops/build.h"

namespace tessera::inline v0::ops::collective {

/// An Op with everything that collectives have in common: the attributes axes, size and, if
/// `grouped`, groups; one operand; a linear JVP; the waived rules. `extra` lists further
/// attributes.
Op make(std::string name, std::string doc, std::string stablehlo, std::vector<AttrSpec> extra,
        bool grouped = true);

/// With the attributes `axis`, a dimension, and `tiled`.
Attrs tiled_attrs(const Strings& axes, std::int64_t size, int axis, bool tiled,
                  const IntLists& groups);

/// Throws CollectiveError unless `size`, if present, is a valid number of devices.
void check_size(const InferArgs& a);
/// Throws CollectiveError unless the groups partition [0, size), with equal sizes if `equal`.
void check_groups(const InferArgs& a, bool equal);
/// Brings a negative dimension of a rank-`rank` value into range; throws ShapeError if it is out of
/// range.
int dimension(const char* op, std::int64_t dim, int rank, const SourceLoc& loc);
/// "'i'" or "('x', 'y')"
std::string axes_text(const Attrs& attrs);

/// Uniformity of results that are equal along the axes. With groups they are equal only where the
/// operand was, and only if the groups have `equal` sizes.
VaryRule removes_axes(bool groups_must_be_equal);
/// Uniformity of results that differ along the axes.
VaryRule adds_axes();
/// Types the result as invariant over the axes, unless there are groups.
VaryRule types_invariant();

/// For vmap: the position of the mapped axis among the axes of the collective.
struct Mapped {
  bool is = false;  // the mapped axis is among them
  Strings rest;     // the other axes, in order
  std::int64_t rest_size = 1;
  bool first = false;  // before all the others, or alone
  bool last = false;   // after all the others
};
/// Throws CollectiveError if there are groups over the mapped axis or, if `ordered`, if the mapped
/// axis lies between two others.
Mapped mapped(const BatchArgs& a, bool ordered);

/// The factors of the extent of a dimension that the devices of the axes share out among them: the
/// members of the mapped axis and those of the rest, in the order of the axes, and, if `tiled`, the
/// slab of each device.
Ints shared_extents(const BatchArgs& a, const Mapped& m, std::int64_t extent, bool tiled);

/// The rule for a dimension that n devices share out among them, with the arithmetic.
std::string shared_out_rule(bool tiled, std::int64_t extent, std::int64_t n);

/// x times an integer, with the same bits as the sum of n equal values wherever that sum is exact.
Value times(Value x, std::int64_t n);
/// The shape with dims [at, at + count) replaced by `by`.
Shape replace_dims(const Shape& s, int at, int count, const Ints& by);
/// Replaces dims [at, at + count) of x by a reshape.
Value reshape_dims(Value x, int at, int count, const Ints& by);

/// Sharding rules for the axes that a per-device program leaves to the partitioner: each shard
/// along them communicates only with its peers. Dimensions pass through, except that a dimension
/// that the collective creates or distributes, with one entry per device, cannot be sharded over
/// another axis.
FactorRule dims_pass(const ShardArgs& a);
/// The rule of a collective that distributes dimension `from` of the operand and collects dimension
/// `to` of the result (-1: none). If `tiled`, an existing dimension is divided or extended;
/// otherwise a dimension is removed or added.
FactorRule dims_exchanged(const ShardArgs& a, int from, int to, bool tiled);

/// The batch rule of an op that keeps shapes, for an axis that it does not name.
BatchResult pass_through(const BatchArgs& a);

}  // namespace tessera::inline v0::ops::collective

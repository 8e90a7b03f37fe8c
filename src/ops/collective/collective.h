// What the files of the collectives share. A collective has one operand, runs over the devices of
// named axes, and meets two kinds of vmap: over the very axis it names, where it becomes ordinary
// array arithmetic, and over another, where its dimension numbers move.
//
// The two regimes (src/ops/README.md, Collectives): under pmap, vmap(axis_name) and untyped
// shard_map, types carry no axes and the transpose of psum is psum. In a typed shard_map a psum is
// `psum_invariant`, whose transpose is `pvary` and the other way round. All other collectives are
// the same op in both.
#pragma once

#include "ir/op.h"
#include "ops/batching.h"
#include "ops/build.h"

namespace tessera::inline v0::ops::collective {

/// A row with what all collectives have in common: attributes axes, size and, where `grouped`,
/// groups; one operand; linear JVP; the waived rules. `extra` are further attributes.
Op make(std::string name, std::string doc, std::string stablehlo, std::vector<AttrSpec> extra,
        bool grouped = true);

Attrs attrs(const Strings& axes, std::int64_t size);
Attrs attrs(const Strings& axes, std::int64_t size, const IntLists& groups);

/// Devices that take part with one another: the size of a group, or of the axes.
std::int64_t members(const Attrs& attrs);
bool grouped(const Attrs& attrs);
/// Throws CollectiveError unless `size`, where there is one, is a number of devices.
void check_size(const InferArgs& a);
/// Throws CollectiveError unless the groups partition [0, size) (and are of equal size where
/// `equal`).
void check_groups(const InferArgs& a, bool equal);
/// Brings a negative dimension of a rank-`rank` value into range; throws ShapeError.
int dimension(const char* op, std::int64_t dim, int rank, const SourceLoc& loc);
/// "'i'" or "('x', 'y')"
std::string axes_text(const Attrs& attrs);

/// Uniformity of results that are equal along the axes (groups: only where the operand was, and
/// `equal` sizes keep that).
VaryRule removes_axes(bool groups_must_be_equal);
/// Uniformity of results that differ along the axes.
VaryRule adds_axes();
/// Typing V -> I.
VaryRule types_invariant();

/// Under vmap: how the mapped axis stands among the axes of the collective.
struct Mapped {
  bool is = false;  // it is among them
  Strings rest;     // the other axes, in order
  std::int64_t rest_size = 1;
  bool first = false;  // before all the others (also where it is alone)
  bool last = false;   // after all the others
};
/// Throws CollectiveError for groups over the mapped axis; where `ordered`, also for a mapped axis
/// between two others.
Mapped mapped(const BatchArgs& a, bool ordered);

/// x times an integer, exactly as the sum of equal values where that is exact.
Value times(Value x, std::int64_t n);
/// The shape with dims [at, at + count) replaced by `by`.
Shape replace_dims(const Shape& s, int at, int count, const Ints& by);
/// Replaces dims [at, at + count) of x by a reshape.
Value reshape_dims(Value x, int at, int count, const Ints& by);
/// Attributes of `a` with other axes.
Attrs with_axes(const Attrs& a, const Strings& axes, std::int64_t size);

/// Sharding rules, for the axes that a per-device program leaves to the partitioner: along these
/// each part exchanges with its peers alone. Dimensions pass through, but what the devices of the
/// collective make of one, or of which they take one each, is cut along no other axis.
FactorRule dims_pass(const ShardArgs& a);
/// Where the operand's dimension `from` is shared out, and the result's dimension `to` collected,
/// -1 for none; `tiled`: along the dimension that is there, else it goes and comes.
FactorRule dims_exchanged(const ShardArgs& a, int from, int to, bool tiled);

/// The batch rule of an op that leaves shapes alone, over an axis it does not name.
BatchResult pass_through(const BatchArgs& a);

}  // namespace tessera::inline v0::ops::collective

// A sharding describes how an array is partitioned over the devices of a mesh.
//
//   ts::Sharding rows(mesh, ts::P("data"));
//   Array a = ts::device_put(x, rows);
//   a.sharding() == rows;                       // and a.shards() are its shards
//   std::cout << ts::visualize_sharding(a);
//
// All shards of an array have the same size, so its dimensions must divide evenly. Otherwise a
// ShardingError names the dimension, the mesh axes and the sizes that would work.
#pragma once

#include <tessera/mesh.h>
#include <tessera/partition_spec.h>
#include <functional>

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <source_location>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// How an array is partitioned over devices: a mesh and a spec. It is immutable and cheap to copy.
class TESSERA_API Sharding {
 public:
  /// An empty sharding.
  Sharding() = default;
  /// The whole array on one device.
  explicit Sharding(Device device, std::source_location loc = std::source_location::current());
  /// Throws ShardingError if the spec names an axis that the mesh does not have or names an axis
  /// twice, and for an empty mesh.
  Sharding(Mesh mesh, PartitionSpec spec,
           std::source_location loc = std::source_location::current());

  const Mesh& mesh() const { return mesh_; }
  const PartitionSpec& spec() const { return spec_; }
  /// The mesh's devices in row-major order.
  const std::vector<Device>& devices() const { return mesh_.devices(); }
  /// Whether every device holds the whole array: no mesh axis of more than one device partitions
  /// it.
  bool is_fully_replicated() const;
  /// Whether both shardings give every device the same part of an array of `ndim` dimensions.
  bool is_equivalent_to(const Sharding& other, int ndim) const;
  /// The shape of each shard. Throws ShardingError if a dimension does not divide.
  Shape shard_shape(const Shape& shape,
                    std::source_location loc = std::source_location::current()) const;
  /// The elements of the whole array that each device holds, in the order of devices(): one range
  /// per dimension. Also works for an abstract mesh.
  std::vector<std::vector<Range>> indices(
      const Shape& shape, std::source_location loc = std::source_location::current()) const;
  bool operator==(const Sharding&) const = default;

 private:
  Mesh mesh_;
  PartitionSpec spec_;
};
/// JAX's name for Sharding.
using NamedSharding = Sharding;

/// "SingleDevice(CpuDevice(id=0))", "NamedSharding(Mesh('i': 4), P('i'))".
TESSERA_API std::string to_string(const Sharding& sharding);
TESSERA_API std::ostream& operator<<(std::ostream& out, const Sharding& sharding);

/// Returns x with this sharding. Shards that are already in place are not copied. Throws
/// ShardingError if the shape of x does not divide, or if a dimension is unconstrained.
TESSERA_API Array device_put(Operand x, const Sharding& sharding);
TESSERA_API Array device_put(Operand x, const Mesh& mesh, const PartitionSpec& spec);
/// Uses the mesh of the innermost scope (use_mesh).
TESSERA_API Array device_put(Operand x, const PartitionSpec& spec);

namespace detail {
TESSERA_API std::vector<Array> put_leaves(const std::vector<Array>& leaves, const TreeDef& tree,
                                          const Mesh& mesh, const SpecTree& specs,
                                          std::source_location loc);
}
/// Places a tree, leaf by leaf; unconstrained leaves stay where they are. Throws TreeError if the
/// specs are not a prefix of the tree, and a single ShardingError that lists all leaves that do not
/// divide.
template <class T>
requires(!std::convertible_to<T, Operand>) T
    device_put(const T& x, const Mesh& mesh, const SpecTree& specs,
               std::source_location loc = std::source_location::current()) {
  return tree::unflatten(
      x, detail::put_leaves(tree::leaves(x), tree::structure(x), mesh, specs, loc), loc);
}
template <class T>
requires(!std::convertible_to<T, Operand>) T
    device_put(const T& x, const SpecTree& specs,
               std::source_location loc = std::source_location::current()) {
  return tree::unflatten(
      x, detail::put_leaves(tree::leaves(x), tree::structure(x), Mesh(), specs, loc), loc);
}
template <class T>
requires(!std::convertible_to<T, Operand>) T
    device_put(const T& x, const Sharding& sharding,
               std::source_location loc = std::source_location::current()) {
  return device_put(x, sharding.mesh(), SpecTree(sharding.spec()), loc);
}

/// Returns x with its sharding fixed to `spec` in the compiled program, on the mesh of the scope or
/// of the surrounding jit; propagation starts from this value as well. Unconstrained dimensions are
/// left to propagation. The values are those of x. The sizes of x need not divide: the last shards
/// are then shorter, or empty. Outside a traced function this is device_put. Otherwise throws
/// ShardingError as device_put does.
TESSERA_API Array with_sharding_constraint(Operand x, const PartitionSpec& spec);
TESSERA_API Array with_sharding_constraint(Operand x, const Sharding& sharding);
namespace detail {
TESSERA_API std::vector<Array> constrain_leaves(const std::vector<Array>& leaves,
                                                const TreeDef& tree, const SpecTree& specs,
                                                std::source_location loc);
}
template <class T>
requires(!std::convertible_to<T, Operand>) T
    with_sharding_constraint(const T& x, const SpecTree& specs,
                             std::source_location loc = std::source_location::current()) {
  return tree::unflatten(
      x, detail::constrain_leaves(tree::leaves(x), tree::structure(x), specs, loc), loc);
}

/// Builds an array of `shape` from its shards. `part` is called with the ranges of each distinct
/// shard, in device order. Throws ShapeError or DTypeError if a shard differs in dtype from the
/// first, or in shape from its ranges.
TESSERA_API Array
make_array_from_callback(const Shape& shape, const Sharding& sharding,
                         const std::function<Array(const std::vector<Range>& index)>& part,
                         std::source_location loc = std::source_location::current());
/// Builds an array of `shape` from one array per device, each on its device, in any order. Nothing
/// is copied. Throws ShardingError if a device has no shard or several. Replicas of a shard are
/// assumed to be equal.
TESSERA_API Array make_array_from_single_device_arrays(
    const Shape& shape, const Sharding& sharding, const std::vector<Array>& parts,
    std::source_location loc = std::source_location::current());
/// Builds an array from data that each process has loaded for itself. In every dimension,
/// `local_data` holds either the shards of this process's devices, concatenated in global order, or
/// the whole dimension: with P("data") over two processes of four devices each, process 0 passes
/// the first half of the rows. Without `global_shape`, each size is the local size times the number
/// of shards divided by the number of this process's shards. In a single process this is
/// device_put. Throws ShardingError if a local size is neither, or if this process's devices hold
/// no part of the array.
TESSERA_API Array make_array_from_process_local_data(const Sharding& sharding, Operand local_data,
                                                     const std::optional<Shape>& global_shape = {});

/// The options of visualize_sharding.
struct VisualizeOptions {
  /// The dimensions drawn vertically and horizontally.
  std::vector<int> dims = {0, 1};
  /// Whether to use terminal colour codes. By default they are used if standard output is a
  /// terminal that supports them.
  std::optional<bool> color = {};
};
/// Draws for a terminal which devices hold which part of an array: one box per shard, with the
/// numbers of its devices. For arrays of more than two dimensions, only `dims` are drawn.
TESSERA_API std::string visualize_sharding(
    const Shape& shape, const Sharding& sharding, const VisualizeOptions& options = {},
    std::source_location loc = std::source_location::current());
TESSERA_API std::string visualize_sharding(Operand x, const VisualizeOptions& options = {});
/// The same drawing as SVG, with one colour per shard.
TESSERA_API std::string sharding_svg(const Shape& shape, const Sharding& sharding,
                                     const VisualizeOptions& options = {},
                                     std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0

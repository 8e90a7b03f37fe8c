// Shardings: how an array is laid out over the devices of a mesh.
//
//   ts::Sharding rows(mesh, ts::P("data"));
//   Array a = ts::device_put(x, rows);
//   a.sharding() == rows;                       // and a.shards() are its parts
//   std::cout << ts::visualize_sharding(a);
//
// A part has a size: ShardingError names dimension, axes and the sizes that would work where a
// dimension does not divide.
#pragma once

#include <tessera/mesh.h>
#include <tessera/partition_spec.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <source_location>
#include <string>
#include <vector>

namespace tessera::inline v0 {

class TESSERA_API Sharding {
 public:
  /// Of nothing.
  Sharding() = default;
  /// Whole on one device.
  explicit Sharding(Device device, std::source_location loc = std::source_location::current());
  /// ShardingError where the spec names an axis that the mesh does not have, or one twice, and for
  /// an empty mesh.
  Sharding(Mesh mesh, PartitionSpec spec,
           std::source_location loc = std::source_location::current());

  const Mesh& mesh() const { return mesh_; }
  const PartitionSpec& spec() const { return spec_; }
  /// Row-major over the mesh.
  const std::vector<Device>& devices() const { return mesh_.devices(); }
  /// Whether every device holds the whole array: no axis of more than one device cuts it.
  bool is_fully_replicated() const;
  /// Whether arrays of `ndim` dimensions lie the same by both: on the same devices the same parts.
  bool is_equivalent_to(const Sharding& other, int ndim) const;
  /// Of each part. ShardingError where a dimension does not divide.
  Shape shard_shape(const Shape& shape,
                    std::source_location loc = std::source_location::current()) const;
  /// By device, in their order: which elements of the whole it holds, a range a dimension. Of an
  /// abstract mesh too.
  std::vector<std::vector<Range>> indices(
      const Shape& shape, std::source_location loc = std::source_location::current()) const;
  bool operator==(const Sharding&) const = default;

 private:
  Mesh mesh_;
  PartitionSpec spec_;
};
using NamedSharding = Sharding;

/// "SingleDevice(CpuDevice(id=0))", "NamedSharding(Mesh('i': 4), P('i'))".
TESSERA_API std::string to_string(const Sharding& sharding);
TESSERA_API std::ostream& operator<<(std::ostream& out, const Sharding& sharding);

/// x laid out so. What lies right already is not copied. ShardingError where its shape does not
/// divide, or a dimension is unconstrained.
TESSERA_API Array device_put(Operand x, const Sharding& sharding);
TESSERA_API Array device_put(Operand x, const Mesh& mesh, const PartitionSpec& spec);
/// On the mesh of the innermost scope (use_mesh).
TESSERA_API Array device_put(Operand x, const PartitionSpec& spec);

namespace detail {
TESSERA_API std::vector<Array> put_leaves(const std::vector<Array>& leaves, const TreeDef& tree,
                                          const Mesh& mesh, const SpecTree& specs,
                                          std::source_location loc);
}
/// A tree, leaf by leaf; unconstrained ones stay where they are. TreeError where the specs are no
/// prefix of it; one ShardingError lists all leaves that do not divide.
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

/// x, which lies so in the program that is compiled, on the mesh of the scope or of the jit around
/// it: a value in the middle of a function is where propagation starts from too. Unconstrained
/// dimensions lie as the others want them. The values are x's. The sizes of x need not divide: the
/// last parts are short then, or empty. Outside of functions that are traced it is device_put.
/// ShardingError as there, but for that.
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

/// An array of `shape` from the parts that `part` gives for their ranges in the whole: called once
/// for each different part, in the order of the devices. ShapeError and DTypeError where a part is
/// not as the first one, or not of the size of its ranges.
TESSERA_API Array
make_array_from_callback(const Shape& shape, const Sharding& sharding,
                         const std::function<Array(const std::vector<Range>& index)>& part,
                         std::source_location loc = std::source_location::current());
/// An array of `shape` from one array a device, each on its device, in any order. Nothing is
/// copied. ShardingError where a device lacks its part or has several; devices that hold the same
/// part are taken at their word.
TESSERA_API Array make_array_from_single_device_arrays(
    const Shape& shape, const Sharding& sharding, const std::vector<Array>& parts,
    std::source_location loc = std::source_location::current());
/// An array of which each process gives its own part, as data that each has read for itself. Of
/// every dimension `local_data` has what the devices of this process have, joined in the order of
/// the whole, or all of it: with P("data") over two processes of four devices each, process 0 the
/// first half of the rows. Without `global_shape` it is as many times the local size as there are
/// parts for each of this process's. In one process it is device_put. ShardingError where the local
/// sizes are neither, or the devices of this process have none of it.
TESSERA_API Array make_array_from_process_local_data(const Sharding& sharding, Operand local_data,
                                                     const std::optional<Shape>& global_shape = {});

struct VisualizeOptions {
  /// Which dimension runs down, and which across.
  std::vector<int> dims = {0, 1};
  /// Colours by terminal codes; by default where standard output is a terminal that shows them.
  std::optional<bool> color = {};
};
/// A picture of which devices hold which part of an array, for a terminal: a box a part, with the
/// numbers of its devices. Of an array with more than two dimensions those of `dims`.
TESSERA_API std::string visualize_sharding(
    const Shape& shape, const Sharding& sharding, const VisualizeOptions& options = {},
    std::source_location loc = std::source_location::current());
TESSERA_API std::string visualize_sharding(Operand x, const VisualizeOptions& options = {});
/// The same as SVG, a colour a part.
TESSERA_API std::string sharding_svg(const Shape& shape, const Sharding& sharding,
                                     const VisualizeOptions& options = {},
                                     std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0

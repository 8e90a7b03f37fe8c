// pmap: one function, run by several devices on different parts of its arguments.
//
//   auto total = ts::pmap([](Array x) { return ts::psum(ts::sum(x), "i"); }, {.axis_name = "i"});
//   total(x)   // x has one row a device; the result one element a device
//
// An argument's mapped axis has as many entries as devices take part; the function sees one of
// them, without that axis. Collectives (tessera/collectives.h) let the devices talk. The call is
// traced and compiled once for each kind of arguments, as jit does it, and may be differentiated,
// mapped, jitted and inlined like any other function. Inside the function every device
// differentiates its own computation: combine gradients with pmean.
//
// A pmap inside another one runs on devices of its own for each device of the one around, so that
// together they take the product of the two sizes. Inside, collectives may name both axes.
//
// Errors come before anything runs, and name every argument that is in the way: ShapeError for
// mapped sizes that disagree, DeviceError for more rows than devices, TreeError for axes that are
// no prefix of the arguments, ShardingError for a result declared replicated that differs from
// device to device, CollectiveError for a collective under a branch that the devices take
// differently. Where a state enters the same on all devices and leaves different there is a
// warning.
#pragma once

#include <tessera/device.h>
#include <tessera/jit.h>

namespace tessera::inline v0 {

struct PmapOptions {
  /// What collectives call the mapped axis. With an empty name there are no collectives over it.
  std::string axis_name = "i";
  /// The mapped axis of each argument, as a prefix of the arguments' tree: an int, which may count
  /// from the end, `replicated` for what all devices share, or a list of such. Static arguments
  /// have an entry too; it is ignored, as are entries of parameters left to their defaults.
  Axes in_axes = 0;
  /// Where the devices' results are stacked. `replicated` gives one copy of what all devices have,
  /// which is proven.
  Axes out_axes = 0;
  /// Which devices take part, in order; the first ones when empty. Only as many as there are rows
  /// are used. Not for a pmap inside a pmap.
  std::vector<Device> devices = {};
  /// Number of devices where no argument is mapped; 0: all of them. Otherwise checked against the
  /// arguments.
  std::int64_t axis_size = 0;
  /// Positions of arguments to give away, as for jit.
  std::vector<int> donate = {};
  /// For errors and profiles; the line of the pmap call when empty.
  std::string name = {};
};

namespace detail {
TESSERA_API std::shared_ptr<CachedFunction> make_pmap_cache(const PmapOptions& options,
                                                            std::source_location loc);
}

namespace detail {
/// Options of other libraries, and slips of the pen, in the order of those that they stand for.
struct NoPmapOption {
  Anything axis{}, axis_names{}, axisname{}, axis_name{}, in_axis{}, in_specs{}, in_axes{},
      out_axis{}, out_specs{}, out_axes{}, device{}, num_devices{}, device_count{}, backend{},
      mesh{}, devices{}, size{}, global_axis_size{}, axis_size{}, donated{}, donate_args{},
      donate_argnums{}, donate{}, static_args{}, static_argnums{}, static_broadcasted_argnums{},
      in_shardings{}, out_shardings{}, name{};
};
}  // namespace detail
__attribute__((unavailable(
    "tessera: pmap has no option of this name; its options, in this order: axis_name, in_axes, "
    "out_axes, devices, axis_size, donate, name (a parameter of a C++ number type is static)")))
detail::Anything
pmap(detail::AnyFunction, const detail::NoPmapOption&);

/// Copies of the result share the cache.
/// pmap(f) names its axis "i".
template <class F>
Jit<std::decay_t<F>> pmap(F&& f, const PmapOptions& options = {},
                          std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), detail::make_pmap_cache(options, loc), "pmap", loc};
}

// --- state with a row a device, as in_axes = 0 wants it

/// x with a new leading axis of `devices` equal rows, stored once. DeviceError unless devices >= 1.
TESSERA_API Array replicate(Operand x, std::int64_t devices);
/// Each leaf of a tree, step counters too; empty leaves stay empty.
template <class T>
requires(!std::convertible_to<T, Operand>) T
    replicate(const T& x, std::int64_t devices,
              std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return replicate(Operand(leaf, loc), devices); }, x);
}

namespace detail {
TESSERA_API std::vector<Array> unreplicate(const std::vector<Array>& leaves,
                                           const std::vector<std::string>& paths,
                                           std::source_location loc);
}
/// The one state behind equal rows: the first row of each leaf, after all rows are compared bit for
/// bit. ShardingError listing every leaf whose rows differ: replicas that ran apart. ShapeError for
/// a leaf without rows. Waits; traced leaves are not compared.
template <class T>
T unreplicate(const T& x, std::source_location loc = std::source_location::current()) {
  return tree::unflatten(x, detail::unreplicate(tree::leaves(x), tree::paths(x), loc));
}

}  // namespace tessera::inline v0

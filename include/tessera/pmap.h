// pmap runs one function on several devices, each on its own slice of the arguments.
//
//   auto total = ts::pmap([](Array x) { return ts::psum(ts::sum(x), "i"); }, {.axis_name = "i"});
//   total(x)   // x has one row per device; the result one element per device
//
// The size of the mapped axis is the number of devices that take part; the function sees one entry,
// without that axis. Devices communicate through collectives (tessera/collectives.h). As with jit,
// the call is traced and compiled once per signature, and it may be differentiated, mapped, jitted
// and inlined like any other function. Inside the function every device differentiates its own
// computation, so combine gradients with pmean.
//
// A nested pmap uses separate devices for each device of the outer one, so that together they use
// as many devices as the product of the two sizes. Collectives inside may name both axes.
//
// All errors are thrown before anything runs, and name every argument involved. ShapeError: mapped
// sizes disagree. DeviceError: there are more rows than devices. TreeError: the axes are not a
// prefix of the arguments. ShardingError: a result declared replicated differs between devices.
// CollectiveError: a collective is in a branch that devices may take differently. A state that
// enters replicated and leaves differing between devices causes a warning.
#pragma once

#include <tessera/detail/foreign_options.h>
#include <tessera/device.h>
#include <tessera/jit.h>
#include <memory>

namespace tessera::inline v0 {

/// The options of pmap.
struct PmapOptions {
  /// The name of the mapped axis in collectives. If it is empty, collectives over the axis are not
  /// possible.
  std::string axis_name = "i";
  /// The mapped axis of each argument, as a prefix of the arguments' tree: an int, which may be
  /// negative, `replicated` for arguments shared by all devices, or a list of these. Entries for
  /// static arguments and for parameters left to their defaults are ignored.
  Axes in_axes = 0;
  /// The axes along which the devices' results are stacked. `replicated` returns a single copy,
  /// after proving that all devices have the same value.
  Axes out_axes = 0;
  /// The devices to use, in order; the default is the first ones. Only as many as there are rows
  /// are used. Not allowed for a nested pmap.
  std::vector<Device> devices = {};
  /// The number of devices if no argument is mapped; 0 means all devices. Otherwise it is checked
  /// against the arguments.
  std::int64_t axis_size = 0;
  /// Positions of arguments to donate, as for jit.
  std::vector<int> donate = {};
  /// The name in errors and profiles. The default is the line of the pmap call.
  std::string name = {};
};

namespace detail {
TESSERA_API std::shared_ptr<CachedFunction> make_pmap_cache(const PmapOptions& options,
                                                            std::source_location loc);
}

__attribute__((unavailable(
    "tessera: pmap has no option of this name; its options, in this order: axis_name, in_axes, "
    "out_axes, devices, axis_size, donate, name (a parameter of a C++ number type is static)")))
detail::Anything
pmap(detail::AnyFunction, const detail::NoPmapOption&);

/// Returns a callable that runs f on several devices, each on its own slice of the arguments (see
/// the top of this header). pmap(f) names the axis "i". Copies of the returned object share one
/// cache.
template <class F>
Jit<std::decay_t<F>> pmap(F&& f, const PmapOptions& options = {},
                          std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), detail::make_pmap_cache(options, loc), "pmap", loc};
}

// --- state with one row per device, as in_axes = 0 expects

/// Returns x with a new leading axis of `devices` equal rows, stored once. Throws DeviceError
/// unless devices >= 1.
TESSERA_API Array replicate(Operand x, std::int64_t devices);
/// Replicates each leaf of a tree, including step counters; empty leaves stay empty.
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
/// Undoes replicate: returns the first row of each leaf, after comparing all rows bit for bit.
/// Throws a ShardingError that lists every leaf whose rows differ, that is, whose replicas
/// diverged; ShapeError for a leaf without rows. Waits for the values; traced leaves are not
/// compared.
template <class T>
T unreplicate(const T& x, std::source_location loc = std::source_location::current()) {
  return tree::unflatten(x, detail::unreplicate(tree::leaves(x), tree::paths(x), loc));
}

}  // namespace tessera::inline v0

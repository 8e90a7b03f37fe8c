// Collectives communicate between the members of a mapped axis (pmap, vmap with an axis_name,
// shard_map).
//
//   pmap([](Array x) { return x / ts::psum(x, "i"); }, {.axis_name = "i"})
//
// Every function here takes a tree and works on each of its leaves. An axis is a name or a list of
// names, major first: over {"x", "y"} member m has the coordinates (m / size(y), m % size(y)). A
// name refers to the innermost enclosing function that binds it; a CollectiveError that lists the
// bound names is thrown if there is none. Arguments are the members' blocks, without the mapped
// axis. Results do not depend on timing: psum and pmean add in a tree that depends only on the
// number of members. An even number is split into halves, which are summed separately and then
// added; an odd number is added from the first member to the last. So eight members add as ((0 + 1)
// + (2 + 3)) + ((4 + 5) + (6 + 7)).
//
// Groups (`{{0, 1}, {2, 3}}`) partition the members, and each group works separately. They are not
// supported over an axis that vmap maps. In a typed shard_map the result of a grouped collective
// varies over the axis, because other groups have other results.
#pragma once

#include <tessera/tree.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// "i" or {"x", "y"}.
class AxisNames {
 public:
  AxisNames(const char* name) : names_{name} {}
  AxisNames(std::string name) : names_{std::move(name)} {}
  AxisNames(std::initializer_list<std::string> names) : names_(names) {}
  AxisNames(std::vector<std::string> names) : names_(std::move(names)) {}
  /// The names, major first.
  const std::vector<std::string>& get() const { return names_; }

 private:
  std::vector<std::string> names_;
};
/// Lists of members that communicate only among themselves: {{0, 1}, {2, 3}}. An empty list is one
/// group of all members.
using AxisGroups = std::vector<std::vector<std::int64_t>>;

/// The options of all_gather and psum_scatter. `groups` restricts them to groups of members.
struct GatherOptions {
  /// The axis of the result for all_gather, and of the operand for psum_scatter; it may be
  /// negative.
  int axis = 0;
  /// Concatenate along the existing axis instead of stacking along a new one.
  bool tiled = false;
  AxisGroups groups = {};
  /// all_gather in a typed shard_map: type the result as equal on all devices, as a replicated
  /// out_spec requires.
  bool invariant = false;
};
/// The options of all_to_all and pswapaxes. With `tiled`, slabs of an existing axis are exchanged;
/// `groups` restricts the exchange to groups of members.
struct ExchangeOptions {
  bool tiled = false;
  AxisGroups groups = {};
};

/// The options of pcast.
struct CastOptions {
  /// Must be "varying".
  std::string to = {};
};

/// The sum over the members, on each of them. Booleans count as int32. A bare C++ number is
/// multiplied by the number of members right away, so psum(1, "i") can be read while tracing.
/// Inside pmap and vmap psum is its own transpose: a gradient taken in the body is that of the sum
/// of all members' losses. In a typed shard_map it is that of the single loss that all members
/// share.
TESSERA_API Array psum(Operand x, const AxisNames& axes, const AxisGroups& groups = {});
/// psum divided by the number of members. Groups must have the same size. Integers give floats.
TESSERA_API Array pmean(Operand x, const AxisNames& axes, const AxisGroups& groups = {});
/// The elementwise maximum over the members; a NaN on any member gives NaN. Not differentiable.
TESSERA_API Array pmax(Operand x, const AxisNames& axes, const AxisGroups& groups = {});
/// The elementwise minimum over the members; a NaN on any member gives NaN. Not differentiable.
TESSERA_API Array pmin(Operand x, const AxisNames& axes, const AxisGroups& groups = {});
/// Returns all members' x, in order, on each of them: stacked along a new axis, or concatenated if
/// tiled.
TESSERA_API Array all_gather(Operand x, const AxisNames& axes, const GatherOptions& options = {});
/// Returns on member k its part of the sum over the members: index k of the axis, which has one
/// entry per member and is removed, or if tiled, the k-th of equal slabs. Throws ShapeError if the
/// extent does not match.
TESSERA_API Array psum_scatter(Operand x, const AxisNames& axes, const GatherOptions& options = {});
/// Returns on member i the entries at index i of axis `split` of every member's x, stacked along
/// axis `concat` of the result. If tiled, slabs are exchanged instead.
TESSERA_API Array all_to_all(Operand x, const AxisNames& axes, int split, int concat,
                             const ExchangeOptions& options = {});
/// The pairs (source, destination) of members for ppermute: each destination receives the source's
/// x, and the other members get zeros. ppermute throws CollectiveError unless the sources are
/// distinct members, and the destinations too.
using Permutation = std::vector<std::pair<std::int64_t, std::int64_t>>;
TESSERA_API Array ppermute(Operand x, const AxisNames& axes, const Permutation& pairs);
/// Member i receives the x of member sources[i]. Throws CollectiveError unless `sources` is a
/// permutation.
TESSERA_API Array pshuffle(Operand x, const AxisNames& axes,
                           const std::vector<std::int64_t>& sources);
/// Exchanges the mapped axis with axis `axis` of x, which must have the same size.
TESSERA_API Array pswapaxes(Operand x, const AxisNames& axes, int axis,
                            const ExchangeOptions& options = {});
/// Returns the x of member `source` on every member.
TESSERA_API Array pbroadcast(Operand x, const AxisNames& axes, std::int64_t source);
/// Returns x typed as varying over the axes of a typed shard_map, without communication. An axis
/// over which x already varies, or which belongs to pmap or vmap, has no effect. Operations apply
/// this to their operands automatically; write it explicitly if the type decides what a derivative
/// means: a derivative with respect to a replicated value is summed over the devices, whereas with
/// respect to pvary(x, "i") each device has its own.
TESSERA_API Array pvary(Operand x, const AxisNames& axes);
/// pvary, written as pcast(x, "i", {.to = "varying"}). Throws CollectiveError for any other type.
TESSERA_API Array pcast(Operand x, const AxisNames& axes, const CastOptions& options);
/// The index of this member along the axes, from 0, as an int32 scalar.
TESSERA_API Array axis_index(const AxisNames& axes,
                             std::source_location loc = std::source_location::current());
/// The number of members, which is known while tracing.
TESSERA_API std::int64_t axis_size(const AxisNames& axes,
                                   std::source_location loc = std::source_location::current());

// --- overloads for trees

namespace detail {
template <class T>
concept OfTrees = !std::convertible_to<const T&, Operand>;
}

template <detail::OfTrees T>
T psum(const T& x, const AxisNames& axes, const AxisGroups& groups = {},
       std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return psum(Operand(leaf, loc), axes, groups); }, x);
}
template <detail::OfTrees T>
T pmean(const T& x, const AxisNames& axes, const AxisGroups& groups = {},
        std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return pmean(Operand(leaf, loc), axes, groups); }, x);
}
template <detail::OfTrees T>
T pmax(const T& x, const AxisNames& axes, const AxisGroups& groups = {},
       std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return pmax(Operand(leaf, loc), axes, groups); }, x);
}
template <detail::OfTrees T>
T pmin(const T& x, const AxisNames& axes, const AxisGroups& groups = {},
       std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return pmin(Operand(leaf, loc), axes, groups); }, x);
}
template <detail::OfTrees T>
T all_gather(const T& x, const AxisNames& axes, const GatherOptions& options = {},
             std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return all_gather(Operand(leaf, loc), axes, options); },
                   x);
}
template <detail::OfTrees T>
T psum_scatter(const T& x, const AxisNames& axes, const GatherOptions& options = {},
               std::source_location loc = std::source_location::current()) {
  return tree::map(
      [&](const Array& leaf) { return psum_scatter(Operand(leaf, loc), axes, options); }, x);
}
template <detail::OfTrees T>
T all_to_all(const T& x, const AxisNames& axes, int split, int concat,
             const ExchangeOptions& options = {},
             std::source_location loc = std::source_location::current()) {
  return tree::map(
      [&](const Array& leaf) {
        return all_to_all(Operand(leaf, loc), axes, split, concat, options);
      },
      x);
}
template <detail::OfTrees T>
T ppermute(const T& x, const AxisNames& axes, const Permutation& pairs,
           std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return ppermute(Operand(leaf, loc), axes, pairs); }, x);
}
template <detail::OfTrees T>
T pshuffle(const T& x, const AxisNames& axes, const std::vector<std::int64_t>& sources,
           std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return pshuffle(Operand(leaf, loc), axes, sources); },
                   x);
}
template <detail::OfTrees T>
T pswapaxes(const T& x, const AxisNames& axes, int axis, const ExchangeOptions& options = {},
            std::source_location loc = std::source_location::current()) {
  return tree::map(
      [&](const Array& leaf) { return pswapaxes(Operand(leaf, loc), axes, axis, options); }, x);
}
template <detail::OfTrees T>
T pbroadcast(const T& x, const AxisNames& axes, std::int64_t source,
             std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return pbroadcast(Operand(leaf, loc), axes, source); },
                   x);
}
template <detail::OfTrees T>
T pvary(const T& x, const AxisNames& axes,
        std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return pvary(Operand(leaf, loc), axes); }, x);
}
template <detail::OfTrees T>
T pcast(const T& x, const AxisNames& axes, const CastOptions& options,
        std::source_location loc = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return pcast(Operand(leaf, loc), axes, options); }, x);
}

}  // namespace tessera::inline v0

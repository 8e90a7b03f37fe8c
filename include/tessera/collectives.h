// Collectives: what the members of a mapped axis (pmap, vmap with an axis_name, shard_map) do
// together.
//
//   pmap([](Array x) { return x / ts::psum(x, "i"); }, {.axis_name = "i"})
//
// Every function here takes a tree and works on each of its leaves. An axis is a name or a list of
// names, first major: over {"x", "y"} member number m is at (m / size(y), m % size(y)). A name is
// that of the innermost function around that binds it; CollectiveError lists the bound ones where
// there is none. Arguments are the members' blocks: the mapped axis is not among their dimensions.
// Results do not depend on timing: psum and pmean add in a tree that the number of members fixes.
// An even number is halved, each half summed on its own and the two sums added; an odd number is
// added from the first member to the last. So eight members add as
// ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)).
//
// Groups (`{{0, 1}, {2, 3}}`) partition the members; each group works on its own. Not over an axis
// that vmap maps. In a typed shard_map the result of a group varies over the axis, whatever the
// collective, because another group has another result.
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
  const std::vector<std::string>& get() const { return names_; }

 private:
  std::vector<std::string> names_;
};
using AxisGroups = std::vector<std::vector<std::int64_t>>;

struct GatherOptions {
  /// Of the result for all_gather, of the operand for psum_scatter; may count from the end.
  int axis = 0;
  /// Along the existing axis, slab after slab, instead of along an axis of its own.
  bool tiled = false;
  AxisGroups groups = {};
  /// all_gather in a typed shard_map: the result counts as the same on all devices, as a replicated
  /// out_spec needs.
  bool invariant = false;
};
struct ExchangeOptions {
  bool tiled = false;
  AxisGroups groups = {};
};

struct CastOptions {
  /// "varying".
  std::string to = {};
};

/// The sum over the members, on each of them. Booleans count as int32. A bare C++ number is
/// multiplied by the number of members at once, so psum(1, "i") can be read while tracing. Inside
/// pmap and vmap its transpose is itself: a gradient taken in the body is that of the sum of all
/// members' losses. In a typed shard_map it is that of the one loss which all share.
TESSERA_API Array psum(Operand x, const AxisNames& axes, const AxisGroups& groups = {});
/// psum divided by the number of members (all groups of one size); integers give floats.
TESSERA_API Array pmean(Operand x, const AxisNames& axes, const AxisGroups& groups = {});
/// The elementwise extremum over the members; a NaN anywhere gives NaN. No derivative.
TESSERA_API Array pmax(Operand x, const AxisNames& axes, const AxisGroups& groups = {});
TESSERA_API Array pmin(Operand x, const AxisNames& axes, const AxisGroups& groups = {});
/// All members' x, in order, on each of them: stacked along a new axis, or tiled.
TESSERA_API Array all_gather(Operand x, const AxisNames& axes, const GatherOptions& options = {});
/// Member k's part of the sum over the members: index k of the axis, which has as many elements as
/// there are members and goes away; tiled, the k-th of equal slabs. ShapeError where the extent
/// does not fit.
TESSERA_API Array psum_scatter(Operand x, const AxisNames& axes, const GatherOptions& options = {});
/// Member i gets index i of axis `split` of every member's x, stacked along `concat` of the result;
/// tiled, slabs instead.
TESSERA_API Array all_to_all(Operand x, const AxisNames& axes, int split, int concat,
                             const ExchangeOptions& options = {});
/// For each pair (source, destination) the destination gets the source's x; other members get
/// zeros. CollectiveError unless sources and destinations are unique members.
using Permutation = std::vector<std::pair<std::int64_t, std::int64_t>>;
TESSERA_API Array ppermute(Operand x, const AxisNames& axes, const Permutation& pairs);
/// Member i gets the x of member sources[i]. CollectiveError unless `sources` is a permutation.
TESSERA_API Array pshuffle(Operand x, const AxisNames& axes,
                           const std::vector<std::int64_t>& sources);
/// Exchanges the mapped axis with axis `axis` of x, which has as many elements.
TESSERA_API Array pswapaxes(Operand x, const AxisNames& axes, int axis,
                            const ExchangeOptions& options = {});
/// The x of member `source`, on each of them.
TESSERA_API Array pbroadcast(Operand x, const AxisNames& axes, std::int64_t source);
/// In a typed shard_map: x, typed as varying over the axes; nothing moves. An axis over which it
/// varies already, or that is one of pmap or vmap, changes nothing. Operations do this to their
/// operands by themselves; it is written where the type decides what a derivative means: that with
/// respect to a value which all devices share is summed over them, that with respect to
/// pvary(x, "i") is each device's own.
TESSERA_API Array pvary(Operand x, const AxisNames& axes);
/// pvary, as pcast(x, "i", {.to = "varying"}). CollectiveError for any other type.
TESSERA_API Array pcast(Operand x, const AxisNames& axes, const CastOptions& options);
/// This member's number, an int32 scalar.
TESSERA_API Array axis_index(const AxisNames& axes,
                             std::source_location loc = std::source_location::current());
/// The number of members, known while tracing.
TESSERA_API std::int64_t axis_size(const AxisNames& axes,
                                   std::source_location loc = std::source_location::current());

// --- of trees

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

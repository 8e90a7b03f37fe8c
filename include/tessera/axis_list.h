// The axes along which a function works.
#pragma once

#include <tessera/config.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// An integer that counts something or denotes a position; bool is not one.
template <class T>
concept Position = std::integral<T> && !std::same_as<T, bool>;

namespace detail {
/// Converts a position, an axis or an extent to int64. Values that do not fit become the largest
/// int64, which exceeds any extent.
template <std::integral I>
constexpr std::int64_t as_position(I i) {
  if constexpr (std::is_unsigned_v<I> && sizeof(I) >= sizeof(std::int64_t))
    return i > static_cast<I>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(i);
  else
    return static_cast<std::int64_t>(i);
}
}  // namespace detail

/// A list of axes: `0`, `{0, -1}`. An empty list means all axes.
class AxisList {
 public:
  AxisList() = default;
  template <Position I>
  AxisList(I axis) : axes_{detail::as_position(axis)} {}
  AxisList(std::initializer_list<std::int64_t> axes) : axes_(axes) {}
  AxisList(std::vector<std::int64_t> axes) : axes_(std::move(axes)) {}
  template <Position I>
  AxisList(const std::vector<I>& axes) : axes_(axes.begin(), axes.end()) {}
  template <Position I, std::size_t N>
  AxisList(const std::array<I, N>& axes) : axes_(axes.begin(), axes.end()) {}
  /// The axes, which may be negative.
  std::span<const std::int64_t> get() const { return {axes_.data(), axes_.size()}; }

 private:
  std::vector<std::int64_t> axes_;
};

// Options are aggregates, so that they can be given by name: sum(x, {.axis = 0}). Axes without a
// name use two other parameter types, because a braced list must match only one of them: if the
// parameter were a class with constructors, g++ 12 would drop the name in `{.ddof = 1}` and take 1
// for an axis.
namespace detail {

/// The first member of option structs. Nothing converts to it, so a list without names never
/// matches options.
struct Named {
  explicit Named() = default;
};

/// The axes in braces, as in sum(x, {0, 1}).
struct BracedAxes {
  struct First {
    template <Position I>
    First(I axis) : axis(as_position(axis)) {}
    std::int64_t axis;
  };
  struct Other : std::optional<std::int64_t> {
    Other() = default;
    template <Position I>
    Other(I axis) : std::optional<std::int64_t>(as_position(axis)) {}
  };
  First axis_0;
  Other axis_1 = {}, axis_2 = {}, axis_3 = {}, axis_4 = {}, axis_5 = {}, axis_6 = {}, axis_7 = {};

  TESSERA_API AxisList list() const;
};

template <class T>
inline constexpr bool is_axis_container = std::same_as<T, AxisList>;
template <Position I, class A>
inline constexpr bool is_axis_container<std::vector<I, A>> = true;
template <Position I, std::size_t N>
inline constexpr bool is_axis_container<std::array<I, N>> = true;

}  // namespace detail

/// The types that denote axes without braces: an integer, an AxisList, a vector or array of
/// integers.
template <class T>
concept NamesAxes = Position<T> || detail::is_axis_container<T>;
/// The types that denote one axis, or none.
template <class T>
concept NamesAxis =
    Position<T> || std::same_as<T, std::optional<std::int64_t>> || std::same_as<T, std::nullopt_t>;

}  // namespace tessera::inline v0

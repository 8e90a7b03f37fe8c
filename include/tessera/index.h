// The parts of an index: positions, ranges, whole axes, new axes and arrays of positions.
#pragma once

#include <tessera/axis_list.h>
#include <tessera/config.h>
#include <memory>

#include <cstdint>
#include <optional>
#include <source_location>
#include <type_traits>

namespace tessera::inline v0 {

class Array;
struct Operand;
struct LogicOptions;

/// In an index, the whole of an axis: x(0, all). Called as a function, the logical reduction: all(x
/// > 0), all(x, axis, keepdims), all(x, {.axis = 0}).
struct All {
  TESSERA_API Array operator()(const Operand& x) const;
  TESSERA_API Array operator()(const Operand& x, const LogicOptions& options) const;
  template <NamesAxes A, std::same_as<bool> K = bool, class Options = LogicOptions>
  auto operator()(const Operand& x, const A& axis, K keepdims = false) const {
    return (*this)(x, Options{.axis = AxisList(axis), .keepdims = keepdims});
  }
  template <std::same_as<bool> K = bool, class Options = LogicOptions>
  auto operator()(const Operand& x, const detail::BracedAxes& axes, K keepdims = false) const {
    return (*this)(x, Options{.axis = axes.list(), .keepdims = keepdims});
  }
};
inline constexpr All all{};
/// In an index, a new axis of one element.
struct NewAxis {};
/// The index that inserts an axis of one element: x(all, newaxis).
inline constexpr NewAxis newaxis{};

/// start:stop:step, as in Python: negative positions count from the end, absent ones mean "to the
/// end".
struct Range {
  std::optional<std::int64_t> start, stop;
  std::int64_t step = 1;
};
inline Range range(std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                   std::int64_t step = 1) {
  return {start, stop, step};
}
/// The first `stop` positions.
inline Range until(std::int64_t stop) { return {std::nullopt, stop, 1}; }
/// From `start` to the end.
inline Range from(std::int64_t start) { return {start, std::nullopt, 1}; }

namespace detail {
template <class T>
concept IndexWord = std::same_as<std::remove_cvref_t<T>, All> ||
    std::same_as<std::remove_cvref_t<T>, NewAxis> || std::same_as<std::remove_cvref_t<T>, Range>;
}  // namespace detail
// In C++20 x[all, 0] is the comma operator, which would discard all but the last index.
template <class A, class B>
requires(detail::IndexWord<A> || detail::IndexWord<B>) __attribute__((
    unavailable("tessera: an index of several axes goes in parentheses: x(all, 0)"))) Range
operator,(A&&, B&&);

/// One entry of a multi-axis index: a position, a range, `all`, `newaxis`, or an integer array of
/// positions to gather.
class AxisIndex {
 public:
  enum class Kind { position, range, all, newaxis, array };
  template <Position I>
  AxisIndex(I position, std::source_location l = std::source_location::current())
      : kind_(Kind::position), position_(detail::as_position(position)), loc_(l) {}
  AxisIndex(All, std::source_location l = std::source_location::current())
      : kind_(Kind::all), loc_(l) {}
  AxisIndex(NewAxis, std::source_location l = std::source_location::current())
      : kind_(Kind::newaxis), loc_(l) {}
  AxisIndex(Range r, std::source_location l = std::source_location::current())
      : kind_(Kind::range), range_(r), loc_(l) {}
  TESSERA_API AxisIndex(const Array& positions,
                        std::source_location l = std::source_location::current());
  // There are no move operations, so that a moved-from index can still be used.
  AxisIndex(const AxisIndex&) = default;
  AxisIndex& operator=(const AxisIndex&) = default;

  Kind kind() const { return kind_; }
  std::int64_t position() const { return position_; }
  const Range& range() const { return range_; }
  const Array& array() const { return *array_; }
  /// The caller's source line, which errors show.
  std::source_location loc() const { return loc_; }

 private:
  Kind kind_;
  std::int64_t position_ = 0;
  Range range_;
  std::shared_ptr<const Array> array_;
  std::source_location loc_;
};

}  // namespace tessera::inline v0

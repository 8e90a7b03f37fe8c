// Array: the one value type of the library.
//
// An Array is a handle to an immutable n-dimensional array: copying it copies a pointer. It is in
// one of four states:
//   empty     default-constructed; a leaf that is not there. Every operation on it throws.
//   concrete  it has values, perhaps still being computed; reading them waits.
//   traced    it stands for a value of a function that is being traced (jit, grad, vmap, pmap,
//   scan, ...): it has a
//             dtype and a shape but no values yet, and is usable only on its thread while that
//             trace lasts.
//   abstract  a dtype and a shape only, for lowering without data.
//
// Concurrent reads and calls on one Array object are safe; assigning to it while another thread
// reads it is not.
#pragma once

#include <tessera/config.h>
#include <tessera/dtype.h>
#include <tessera/error.h>
#include <tessera/shape.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

namespace detail {
struct ArrayImpl;  // src/api/array_impl.h
}

class Array;
class At;
class Sharding;
struct Shard;

/// C++ numbers that stand for arrays of no dimensions.
template <class T>
concept Number =
    std::is_arithmetic_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// Axes of a reduction: none named means all of them. `0`, `{0, -1}`.
class AxisList {
 public:
  AxisList() = default;
  template <std::integral I>
  requires(!std::is_same_v<I, bool>) AxisList(I axis) : axes_{detail::as_position(axis)} {}
  AxisList(std::initializer_list<std::int64_t> axes) : axes_(axes) {}
  AxisList(std::vector<std::int64_t> axes) : axes_(std::move(axes)) {}
  std::span<const std::int64_t> get() const { return axes_; }

 private:
  std::vector<std::int64_t> axes_;
};

struct Operand;

/// The whole of an axis in an index, x(0, all); called, the logical reduction: all(x > 0), all(x,
/// axis, keepdims).
struct All {
  TESSERA_API Array operator()(const Operand& x, AxisList axis = {}, bool keepdims = false) const;
};
inline constexpr All all{};
/// A new axis of one element in an index.
struct NewAxis {};
inline constexpr NewAxis newaxis{};

/// start:stop:step of an index, as Python has it: negative positions count from the end, absent
/// ones mean "to the end".
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

/// One entry of a multi-axis index: a position, a range, `all`, `newaxis`, or an integer array
/// (gathered positions).
class AxisIndex {
 public:
  enum class Kind { position, range, all, newaxis, array };
  template <std::integral I>
  requires(!std::is_same_v<I, bool>)
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

  Kind kind() const { return kind_; }
  std::int64_t position() const { return position_; }
  const Range& range() const { return range_; }
  const Array& array() const { return *array_; }
  /// The caller's line, which errors show.
  std::source_location loc() const { return loc_; }

 private:
  Kind kind_;
  std::int64_t position_ = 0;
  Range range_;
  std::shared_ptr<const Array> array_;
  std::source_location loc_;
};

class TESSERA_API Array {
 public:
  /// Empty.
  Array() = default;
  Array(const Array&) = default;
  Array(Array&&) noexcept = default;
  Array& operator=(const Array&) & = default;
  Array& operator=(Array&&) & noexcept = default;
  /// An Array is immutable, so `x[0] = y` has no meaning: write `x = x.at(0).set(y)`.
  Array& operator=(const Array&) && = delete;
  ~Array() = default;

  /// A weakly typed scalar: bool stays bool; integers are int32 (int64 where the value needs it),
  /// floats float32. It keeps all its bits until it meets a dtype: 0.1 is 0.1 beside a float64.
  template <Number T>
  Array(T value) : Array(scalar(value)) {}
  /// One dimension, strongly typed as the vector is.
  template <Element T>
  requires(!std::is_same_v<T, bool>) explicit Array(const std::vector<T>& values)
      : Array(std::span<const T>(values)) {}
  explicit Array(const std::vector<bool>& values);
  template <Element T>
  explicit Array(std::span<const T> values)
      : Array(from_bytes(dtype_of<T>(), Shape{values.size()}, values.data())) {}
  /// Row-major values of `shape`; ShapeError when the counts disagree.
  template <Element T>
  Array(std::span<const T> values, const Shape& shape,
        std::source_location loc = std::source_location::current())
      : Array(from_values(dtype_of<T>(), shape, values.data(),
                          static_cast<std::int64_t>(values.size()), loc)) {}
  template <Element T>
  requires(!std::is_same_v<T, bool>)
      Array(const std::vector<T>& values, const Shape& shape,
            std::source_location loc = std::source_location::current())
      : Array(std::span<const T>(values), shape, loc) {}

  /// Copies `shape.count()` row-major elements.
  static Array from_bytes(DType dtype, const Shape& shape, const void* bytes);
  /// Uses memory that `owner` keeps alive, without a copy when it is 64-byte aligned.
  static Array adopt(DType dtype, const Shape& shape, void* bytes, std::shared_ptr<void> owner);

  // --- what it is
  bool is_empty() const { return impl_ == nullptr; }
  bool is_concrete() const;
  bool is_traced() const;
  bool is_abstract() const;
  /// These throw TraceError on an empty array.
  DType dtype() const;
  bool weak_type() const;
  const Shape& shape() const;
  /// Extent of one axis, which may count from the end.
  std::int64_t shape(std::int64_t axis,
                     std::source_location loc = std::source_location::current()) const;
  int ndim() const { return shape().rank(); }
  /// Number of elements.
  std::int64_t size() const { return shape().count(); }
  std::int64_t nbytes() const { return size() * size_of(dtype()); }
  /// Length of the first axis; ShapeError for a scalar.
  std::int64_t length(std::source_location loc = std::source_location::current()) const;

  // --- reading; waits for the value, throws the computation's error, TraceError when there is no
  // value to read
  /// The only element, converted to T; ShapeError unless size() is 1, DTypeError for a value that
  /// the integer type T cannot hold (NaN, too large, negative for an unsigned one).
  template <Number T>
  T item(std::source_location loc = std::source_location::current()) const {
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
      return T(static_cast<float>(item_double(loc)));
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(item_double(loc));
    else if constexpr (std::is_same_v<T, bool>)
      return item_double(loc) != 0;
    else if constexpr (std::is_unsigned_v<T>)
      return static_cast<T>(item_uint(std::numeric_limits<T>::max(), loc));
    else
      return static_cast<T>(
          item_int(std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), loc));
  }
  /// All elements, row-major; DTypeError unless T is the element type.
  template <Element T>
  std::vector<T> to_vector(std::source_location loc = std::source_location::current()) const {
    const T* p = static_cast<const T*>(host_bytes(dtype_of<T>(), "to_vector", loc));
    return std::vector<T>(p, p + size());
  }
  /// The elements in host memory, row-major, without a copy where the shards are adjacent; valid
  /// while this Array lives.
  template <Element T>
  std::span<const T> host(std::source_location loc = std::source_location::current()) const {
    return {static_cast<const T*>(host_bytes(dtype_of<T>(), "host", loc)),
            static_cast<std::size_t>(size())};
  }
  /// Reads a scalar in a condition. A traced one throws: use `cond` or `where`.
  explicit operator bool() const;
  template <Number T>
  requires(!std::is_same_v<T, bool>) explicit operator T() const { return item<T>(); }
  /// Waits until the values are there; gives this array.
  const Array& block_until_ready() const;
  bool is_ready() const;
  /// Whether its buffer was given away by donation.
  bool is_deleted() const;

  // --- where it is (tessera/sharding.h)
  Sharding sharding(std::source_location loc = std::source_location::current()) const;
  /// One a device, in the order of the sharding's mesh. No copies.
  std::vector<Shard> shards(std::source_location loc = std::source_location::current()) const;

  // --- indexing. One index takes the first axis; several take as many axes: x(0, all, -1),
  // x(range(1, 4), newaxis).
  Array operator[](AxisIndex index) const;
  // One signature a count: a parameter pack has no caller's line.
  using Index = const AxisIndex&;
  Array operator()(Index a) const { return get({a}, a.loc()); }
  Array operator()(Index a, Index b) const { return get({a, b}, a.loc()); }
  Array operator()(Index a, Index b, Index c) const { return get({a, b, c}, a.loc()); }
  Array operator()(Index a, Index b, Index c, Index d) const { return get({a, b, c, d}, a.loc()); }
  template <std::convertible_to<AxisIndex>... I>
  Array operator()(Index a, Index b, Index c, Index d, Index e, I&&... more) const {
    return get({a, b, c, d, e, AxisIndex(std::forward<I>(more))...}, a.loc());
  }
  Array get(const std::vector<AxisIndex>& index,
            std::source_location loc = std::source_location::current()) const;
  /// Functional updates: x.at(0, all).set(y), .add(y), .multiply(y), .min(y), .max(y). DTypeError
  /// for floats into an integer array.
  template <class... I>
  requires(sizeof...(I) > 0 && (std::convertible_to<I, AxisIndex> && ...)) At at(I&&... index)
  const;

  /// Walks the first axis.
  class Iterator;
  Iterator begin() const;
  Iterator end() const;

  // --- method spellings of common functions
  Array astype(DType dtype, std::source_location loc = std::source_location::current()) const;
  /// One extent may be -1.
  Array reshape(const Shape& shape,
                std::source_location loc = std::source_location::current()) const;
  template <std::integral A>
  Array reshape(A a, std::source_location loc = std::source_location::current()) const {
    return reshape(Shape{a}, loc);
  }
  template <std::integral A, std::integral B>
  Array reshape(A a, B b, std::source_location loc = std::source_location::current()) const {
    return reshape(Shape{a, b}, loc);
  }
  template <std::integral A, std::integral B, std::integral C>
  Array reshape(A a, B b, C c, std::source_location loc = std::source_location::current()) const {
    return reshape(Shape{a, b, c}, loc);
  }
  template <std::integral A, std::integral B, std::integral C, std::integral D>
  Array reshape(A a, B b, C c, D d,
                std::source_location loc = std::source_location::current()) const {
    return reshape(Shape{a, b, c, d}, loc);
  }
  template <std::integral A, std::integral B, std::integral C, std::integral D, std::integral E>
  Array reshape(A a, B b, C c, D d, E e,
                std::source_location loc = std::source_location::current()) const {
    return reshape(Shape{a, b, c, d, e}, loc);
  }
  template <std::integral... I>
  requires(sizeof...(I) > 5) Array reshape(I... extents)
  const { return reshape(Shape{Dim(extents)...}); }
  Array transpose(std::source_location loc = std::source_location::current()) const;
  Array T() const { return transpose(); }
  Array flatten(std::source_location loc = std::source_location::current()) const;

  // --- for the library itself
  explicit Array(std::shared_ptr<detail::ArrayImpl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<detail::ArrayImpl>& impl() const { return impl_; }

 private:
  static Array bool_scalar(bool v);
  static Array float_scalar(double v);
  static Array int_scalar(std::int64_t v);
  static Array uint_scalar(std::uint64_t v);
  template <Number T>
  static Array scalar(T v) {
    if constexpr (std::is_same_v<T, bool>)
      return bool_scalar(v);
    else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
      return from_bytes(dtype_of<T>(), {}, &v);
    else if constexpr (std::is_floating_point_v<T>)
      return float_scalar(static_cast<double>(v));
    else if constexpr (std::is_unsigned_v<T>)
      return uint_scalar(v);
    else
      return int_scalar(v);
  }
  static Array from_values(DType dtype, const Shape& shape, const void* values, std::int64_t count,
                           std::source_location loc);
  double item_double(std::source_location loc) const;
  std::int64_t item_int(std::int64_t least, std::int64_t most, std::source_location loc) const;
  std::uint64_t item_uint(std::uint64_t most, std::source_location loc) const;
  const void* host_bytes(DType as, const char* function, std::source_location loc) const;

  std::shared_ptr<detail::ArrayImpl> impl_;
};

/// An array argument together with the caller's source line, which errors show. Converts from
/// arrays and numbers.
struct Operand {
  Array array;
  std::source_location loc;
  Operand(const Array& a, std::source_location l = std::source_location::current())
      : array(a), loc(l) {}
  Operand(Array&& a, std::source_location l = std::source_location::current())
      : array(std::move(a)), loc(l) {}
  template <Number T>
  Operand(T value, std::source_location l = std::source_location::current())
      : array(value), loc(l) {}
  template <Element T>
  __attribute__((
      unavailable("tessera: a std::vector of numbers is no array yet: write Array(values)")))
  Operand(const std::vector<T>& values, std::source_location l = std::source_location::current());
};

/// A pending functional update of the elements that an index picks.
class TESSERA_API At {
 public:
  At(Array array, std::vector<AxisIndex> index)
      : array_(std::move(array)), index_(std::move(index)) {}
  /// The values broadcast to the picked shape and convert to the array's dtype. Where an index
  /// array names an element twice: set takes the last, the others combine all.
  Array set(Operand values) const;
  Array add(Operand values) const;
  Array multiply(Operand values) const;
  Array min(Operand values) const;
  Array max(Operand values) const;
  Array get(std::source_location loc = std::source_location::current()) const {
    return array_.get(index_, loc);
  }

 private:
  Array array_;
  std::vector<AxisIndex> index_;
};

template <class... I>
requires(sizeof...(I) > 0 && (std::convertible_to<I, AxisIndex> && ...)) At Array::at(I&&... index)
const { return At(*this, {AxisIndex(std::forward<I>(index))...}); }

class Array::Iterator {
 public:
  using value_type = Array;
  using difference_type = std::ptrdiff_t;
  Iterator() = default;
  Iterator(Array array, std::int64_t i) : array_(std::move(array)), i_(i) {}
  Array operator*() const { return array_[i_]; }
  Iterator& operator++() {
    ++i_;
    return *this;
  }
  Iterator operator++(int) {
    Iterator old = *this;
    ++i_;
    return old;
  }
  bool operator==(const Iterator& o) const { return i_ == o.i_; }

 private:
  Array array_;
  std::int64_t i_ = 0;
};

// --- operators: NumPy broadcasting and promotion. Comparisons give boolean arrays; whole arrays
// compare with array_equal and allclose.
TESSERA_API Array operator+(Operand x, Operand y);
TESSERA_API Array operator-(Operand x, Operand y);
TESSERA_API Array operator*(Operand x, Operand y);
/// True division: integers give floats.
TESSERA_API Array operator/(Operand x, Operand y);
/// Remainder with the sign of the divisor, as NumPy has it.
TESSERA_API Array operator%(Operand x, Operand y);
TESSERA_API Array operator-(Operand x);
TESSERA_API Array operator+(Operand x);
TESSERA_API Array operator==(Operand x, Operand y);
TESSERA_API Array operator!=(Operand x, Operand y);
TESSERA_API Array operator<(Operand x, Operand y);
TESSERA_API Array operator<=(Operand x, Operand y);
TESSERA_API Array operator>(Operand x, Operand y);
TESSERA_API Array operator>=(Operand x, Operand y);
TESSERA_API Array operator&(Operand x, Operand y);
TESSERA_API Array operator|(Operand x, Operand y);
TESSERA_API Array operator^(Operand x, Operand y);
TESSERA_API Array operator~(Operand x);
TESSERA_API Array operator<<(Operand x, Operand y);
TESSERA_API Array operator>>(Operand x, Operand y);
// An Array converts explicitly to bool, which makes the language's own && || ! candidates: an exact
// match on the left wins over them, and leaves the right operand to bring the caller's line. Where
// a number is on one side both have to match exactly, as for !, and there is no line. Both sides
// are always evaluated.
TESSERA_API Array operator&&(const Array& x, Operand y);
TESSERA_API Array operator||(const Array& x, Operand y);
TESSERA_API Array operator!(const Array& x);
template <class X, class Y>
concept ArrayAndNumber = (std::same_as<X, Array> && Number<Y>) ||
                         (Number<X> && std::same_as<Y, Array>);
template <class X, class Y>
requires ArrayAndNumber<X, Y> Array operator&&(const X& x, const Y& y) {
  return operator&&(Array(x), Operand(y));
}
template <class X, class Y>
requires ArrayAndNumber<X, Y> Array operator||(const X& x, const Y& y) {
  return operator||(Array(x), Operand(y));
}
inline Array& operator+=(Array& x, Operand y) { return x = Operand(x, y.loc) + y; }
inline Array& operator-=(Array& x, Operand y) { return x = Operand(x, y.loc) - y; }
inline Array& operator*=(Array& x, Operand y) { return x = Operand(x, y.loc) * y; }
inline Array& operator/=(Array& x, Operand y) { return x = Operand(x, y.loc) / y; }

/// As NumPy prints it.
TESSERA_API std::ostream& operator<<(std::ostream& out, const Array& x);
TESSERA_API std::string to_string(const Array& x);
/// "f32[8,16]" and its state; never waits.
TESSERA_API std::string describe(const Array& x);

/// An array of a dtype and a shape only. ShapeError for a negative extent.
TESSERA_API Array abstract(DType dtype, const Shape& shape,
                           std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0

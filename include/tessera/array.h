// Array, the library's only value type.
//
// An Array is a handle to an immutable n-dimensional array: copying it copies a pointer. It is in
// one of four states:
//   empty     default-constructed; an absent leaf. Every operation on it throws.
//   concrete  it has values, perhaps still being computed; reading them waits.
//   traced    it stands for a value of a function that is being traced (jit, grad, vmap, pmap,
//             scan, ...): it has a dtype and a shape but no values yet, and is usable only on its
//             thread while that trace lasts.
//   abstract  a dtype and a shape only, for lowering without data.
//
// Concurrent reads and calls on one Array object are safe; assigning to it while another thread
// reads it is not.
#pragma once

#include <tessera/config.h>
#include <tessera/dtype.h>
#include <tessera/error.h>
#include <tessera/index.h>
#include <tessera/shape.h>
#include <memory>

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

namespace detail {
struct ArrayImpl;  // src/api/array/array_impl.h
}

class Array;
class At;
class Sharding;
struct Shard;
struct ReduceOptions;  // tessera/reductions.h
struct MeanOptions;
struct VarOptions;
struct ArgOptions;
struct CumulativeOptions;

/// C++ numbers, which are accepted as scalar arrays.
template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_same_v<T, float16_t> ||
    std::is_same_v<T, bfloat16_t> || is_complex_v<T>;

/// The numbers that are neither boolean nor complex.
template <class T>
concept RealNumber = Number<T> && !std::is_same_v<T, bool> && !is_complex_v<T>;

/// A handle to an immutable n-dimensional array. The comment at the head of this header describes
/// its states. The methods astype, T, swapaxes, flatten, ravel, squeeze, clip, round, dot, matmul,
/// sum, prod, mean, var, std, max, min, any, all, argmax, argmin, cumsum and cumprod are the
/// functions of these names with this array as the first argument; T is transpose, flatten is
/// ravel.
class TESSERA_API Array {
 public:
  /// An empty array.
  Array() = default;
  // Reference counting is not inline, so that programs of many operators compile a third faster.
  Array(const Array& other) noexcept;
  Array(Array&&) noexcept = default;
  Array& operator=(const Array& other) & noexcept;
  Array& operator=(Array&& other) & noexcept;
  // An Array is immutable, so `x[0] = y` has no meaning. Compilers print the next line in that
  // error.
  Array& operator=(const Array&) && = delete;  // tessera: write x = x.at(0).set(y)
  ~Array();

  /// A weakly typed scalar: bool stays bool, integers become int32 (int64 if the value needs it),
  /// floats float32, complex numbers complex64. The exact value is kept until it meets a dtype:
  /// next to a float64, 0.1 is the float64 0.1.
  template <Number T>
  Array(T value) : Array(scalar(value)) {}
  /// A one-dimensional, strongly typed array of the vector's element type.
  template <Element T>
  requires(!std::is_same_v<T, bool>) explicit Array(const std::vector<T>& values)
      : Array(std::span<const T>(values)) {}
  explicit Array(const std::vector<bool>& values);
  template <Element T>
  explicit Array(std::span<const T> values)
      : Array(from_bytes(dtype_of<T>(), Shape{values.size()}, values.data())) {}
  /// An array of this shape from row-major values. Throws ShapeError unless there are
  /// `shape.count()` values.
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
  /// Reads memory that `owner` keeps alive, without copying it if it is 64-byte aligned. The memory
  /// is never written to, even if the array is donated.
  static Array adopt(DType dtype, const Shape& shape, void* bytes, std::shared_ptr<void> owner);

  // --- properties
  /// Whether this array is empty, as an absent leaf is.
  bool is_empty() const { return impl_ == nullptr; }
  /// Whether it has values, perhaps still being computed.
  bool is_concrete() const;
  /// Whether it stands for a value of a function that is being traced.
  bool is_traced() const;
  /// Whether it has only a dtype and a shape.
  bool is_abstract() const;
  /// The element type. This function and the following ones throw TraceError on an empty array.
  DType dtype(std::source_location loc = std::source_location::current()) const;
  /// Whether the dtype came from a bare C++ number, so that it yields to a strong one (JAX's weak
  /// type).
  bool weak_type(std::source_location loc = std::source_location::current()) const;
  const Shape& shape(std::source_location loc = std::source_location::current()) const;
  /// The extent of one axis, which may be negative to count from the end.
  std::int64_t shape(std::int64_t axis,
                     std::source_location loc = std::source_location::current()) const;
  /// The number of axes.
  int ndim(std::source_location loc = std::source_location::current()) const {
    return shape(loc).rank();
  }
  /// The number of elements.
  std::int64_t size(std::source_location loc = std::source_location::current()) const {
    return shape(loc).count();
  }
  /// The number of elements times the size of one, in bytes.
  std::int64_t nbytes(std::source_location loc = std::source_location::current()) const {
    return size(loc) * size_of(dtype(loc));
  }
  /// The length of the first axis. Throws ShapeError for a scalar.
  std::int64_t length(std::source_location loc = std::source_location::current()) const;

  // --- reading. These functions wait for the value. They throw the computation's error, and
  // TraceError if there is no value to read.
  /// The only element, converted to T. Throws ShapeError unless size() is 1, and DTypeError if the
  /// integer type T cannot hold the value (NaN, too large, negative for an unsigned type), or if a
  /// complex value is read as a real number.
  template <Number T>
  T item(std::source_location loc = std::source_location::current()) const {
    if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
      return T(static_cast<float>(item_double(loc)));
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(item_double(loc));
    else if constexpr (std::is_same_v<T, bool>)
      return item_bool(loc);
    else if constexpr (is_complex_v<T>)
      return item_complex<T>(loc);
    else if constexpr (std::is_unsigned_v<T>)
      return static_cast<T>(item_uint(static_cast<T>(-1), loc));
    else
      return static_cast<T>(item_int(8 * sizeof(T), loc));
  }
  __attribute__((
      unavailable("tessera: say what C++ type to read the element as: x.item<float>()"))) double
  item() const;
  __attribute__((
      unavailable("tessera: say what C++ type to read the elements as: x.to_vector<float>()"))) void
  tolist() const;
  /// All elements in row-major order. Throws DTypeError unless T is the element type.
  template <Element T>
  std::vector<T> to_vector(std::source_location loc = std::source_location::current()) const {
    const std::shared_ptr<const void> bytes = read_bytes(dtype_of<T>(), "to_vector", loc);
    const T* p = static_cast<const T*>(bytes.get());
    return std::vector<T>(p, p + size());
  }
  /// The elements in host memory in row-major order, not copied if the shards are adjacent in
  /// memory. The span is valid while this Array lives.
  template <Element T>
  std::span<const T> host(std::source_location loc = std::source_location::current()) const {
    return {static_cast<const T*>(host_bytes(dtype_of<T>(), "host", loc)),
            static_cast<std::size_t>(size())};
  }
  /// Reads a scalar as a condition. Throws for a traced array: use `cond` or `where`.
  explicit operator bool() const;
  // Clang prints the second line of this declaration in the error for `float y = x`.
  template <RealNumber T>
  explicit operator T() const {  // tessera: write float(x) or x.item<float>()
    return item<T>();
  }
  /// Waits until the values are computed and returns this array.
  const Array& block_until_ready(std::source_location loc = std::source_location::current()) const;
  /// Whether the values are computed, so that reading them does not wait.
  bool is_ready() const;
  /// Whether the array was donated. Reading its values then throws a TraceError that names the
  /// donating call, and it prints as "deleted". Its dtype, shape and sharding remain available.
  bool is_deleted() const;

  // --- placement (tessera/device.h)
  /// The array's sharding: the mesh and the spec.
  Sharding sharding(std::source_location loc = std::source_location::current()) const;
  /// The shards on this process's devices, in the order of the sharding's mesh. Nothing is copied.
  std::vector<Shard> shards(std::source_location loc = std::source_location::current()) const;

  // --- indexing. A single index applies to the first axis, several to as many axes: x(0, all, -1),
  // x(range(1, 4), newaxis).
  Array operator[](AxisIndex index) const;
  // One overload per number of indices, because a function with a parameter pack cannot capture the
  // caller's source line.
  /// One index: a position, a range, `all`, `newaxis`, or an array of positions.
  using Index = const AxisIndex&;
  Array operator()(Index a) const { return get({a}, a.loc()); }
  Array operator()(Index a, Index b) const { return get({a, b}, a.loc()); }
  Array operator()(Index a, Index b, Index c) const { return get({a, b, c}, a.loc()); }
  Array operator()(Index a, Index b, Index c, Index d) const { return get({a, b, c, d}, a.loc()); }
  template <std::convertible_to<AxisIndex>... I>
  Array operator()(Index a, Index b, Index c, Index d, Index e, I&&... more) const {
    return get({a, b, c, d, e, AxisIndex(std::forward<I>(more))...}, a.loc());
  }
  /// The elements that a list of indices selects, as operator() does.
  Array get(const std::vector<AxisIndex>& index,
            std::source_location loc = std::source_location::current()) const;
  /// Functional updates: x.at(0, all).set(y), .add(y), .multiply(y), .min(y), .max(y). The index
  /// may be a boolean array that masks the leading axes: x.at(x < 0).set(0). Throws DTypeError if
  /// floats are written into an integer array.
  template <class... I>
  requires(sizeof...(I) > 0 && (std::convertible_to<I, AxisIndex> && ...)) At at(I&&... index)
  const;

  /// The entries of the first axis for a structured binding, which needs their number at compile
  /// time: auto [a, b] = x.unpack<2>(). Throws ShapeError unless the length is N.
  template <std::size_t N>
  std::array<Array, N> unpack(std::source_location loc = std::source_location::current()) const {
    require_length(N, loc);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<Array, N>{(*this)[{I, loc}]...};
    }
    (std::make_index_sequence<N>());
  }

  /// Iterates over the first axis.
  class Iterator;
  /// The first entry along the first axis.
  Iterator begin() const;
  /// The position past the last entry along the first axis.
  Iterator end() const;

  // --- method spellings of common functions
  Array astype(DType dtype, std::source_location loc = std::source_location::current()) const;
  /// The same elements in row-major order with another shape. One extent may be -1, which is
  /// inferred. Throws ShapeError if the numbers of elements differ.
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
  /// Axis i of the result is axis permutation[i] of this array.
  Array transpose(const std::vector<std::int64_t>& permutation,
                  std::source_location loc = std::source_location::current()) const;
  template <Position A, Position B>
  Array transpose(A a, B b, std::source_location loc = std::source_location::current()) const {
    return transpose(std::vector{std::int64_t(a), std::int64_t(b)}, loc);
  }
  template <Position A, Position B, Position C>
  Array transpose(A a, B b, C c, std::source_location loc = std::source_location::current()) const {
    return transpose(std::vector{std::int64_t(a), std::int64_t(b), std::int64_t(c)}, loc);
  }
  template <Position... I>
  requires(sizeof...(I) > 3) Array transpose(I... axes)
  const { return transpose(std::vector{std::int64_t(axes)...}); }
  Array T(std::source_location loc = std::source_location::current()) const {
    return transpose(loc);
  }
  Array swapaxes(std::int64_t a, std::int64_t b,
                 std::source_location loc = std::source_location::current()) const;
  Array flatten(std::source_location loc = std::source_location::current()) const;
  Array ravel(std::source_location loc = std::source_location::current()) const {
    return flatten(loc);
  }
  Array squeeze(AxisList axis = {},
                std::source_location loc = std::source_location::current()) const;
  Array clip(const Operand& lo, const Operand& hi) const;
  Array round(std::source_location loc = std::source_location::current()) const;
  Array dot(const Operand& y) const;
  Array matmul(const Operand& y) const;
  /// The same values in newly allocated memory.
  Array copy(std::source_location loc = std::source_location::current()) const;

  // The reductions, with the call forms of tessera/reductions.h: x.sum(0), x.sum({0, 1}),
  // x.sum({.axis = 0, .keepdims = true}).
#define TESSERA_METHOD_(name, Options, Axes)                                                      \
  Array name(std::source_location loc = std::source_location::current()) const;                   \
  Array name(const Options& o, std::source_location loc = std::source_location::current()) const; \
  template <Axes A, class O = Options>                                                            \
  Array name(const A& axis, std::source_location loc = std::source_location::current()) const {   \
    return name(O{.axis = axis}, loc);                                                            \
  }
#define TESSERA_REDUCE_METHOD_(name, Options)                                                   \
  TESSERA_METHOD_(name, Options, NamesAxes)                                                     \
  template <class Axes = detail::BracedAxes, class O = Options>                                 \
  Array name(const detail::BracedAxes& axes,                                                    \
             std::source_location loc = std::source_location::current()) const {                \
    return name(O{.axis = axes.list()}, loc);                                                   \
  }                                                                                             \
  template <NamesAxes A, std::same_as<bool> K, class O = Options>                               \
  Array name(const A& axis, K keepdims,                                                         \
             std::source_location loc = std::source_location::current()) const {                \
    return name(O{.axis = axis, .keepdims = keepdims}, loc);                                    \
  }                                                                                             \
  template <NamesAxes A, NamesAxes B, class... More>                                            \
  __attribute__((unavailable("tessera: several axes go in braces: x." #name "({0, 1})"))) Array \
  name(const A&, const B&, const More&...) const;
  TESSERA_REDUCE_METHOD_(sum, ReduceOptions)
  TESSERA_REDUCE_METHOD_(prod, ReduceOptions)
  TESSERA_REDUCE_METHOD_(mean, MeanOptions)
  TESSERA_REDUCE_METHOD_(var, VarOptions)
  TESSERA_REDUCE_METHOD_(std, VarOptions)
  TESSERA_REDUCE_METHOD_(max, ReduceOptions)
  TESSERA_REDUCE_METHOD_(min, ReduceOptions)
  TESSERA_REDUCE_METHOD_(any, LogicOptions)
  TESSERA_REDUCE_METHOD_(all, LogicOptions)
  TESSERA_METHOD_(argmax, ArgOptions, NamesAxis)
  TESSERA_METHOD_(argmin, ArgOptions, NamesAxis)
  TESSERA_METHOD_(cumsum, CumulativeOptions, NamesAxis)
  TESSERA_METHOD_(cumprod, CumulativeOptions, NamesAxis)
#undef TESSERA_REDUCE_METHOD_
#undef TESSERA_METHOD_

  // --- for the library itself
  explicit Array(std::shared_ptr<detail::ArrayImpl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<detail::ArrayImpl>& impl() const { return impl_; }

 private:
  static Array bool_scalar(bool v);
  static Array float_scalar(double v);
  static Array complex_scalar(double real, double imag);
  static Array int_scalar(std::int64_t v);
  static Array uint_scalar(std::uint64_t v);
  template <Number T>
  static Array scalar(T v) {
    if constexpr (std::is_same_v<T, bool>)
      return bool_scalar(v);
    else if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
      return from_bytes(dtype_of<T>(), {}, &v);
    else if constexpr (std::is_floating_point_v<T>)
      return float_scalar(static_cast<double>(v));
    else if constexpr (is_complex_v<T>)
      return complex_scalar(v.real(), v.imag());
    else if constexpr (std::is_unsigned_v<T>)
      return uint_scalar(v);
    else
      return int_scalar(v);
  }
  static Array from_values(DType dtype, const Shape& shape, const void* values, std::int64_t count,
                           std::source_location loc);
  void require_length(std::size_t length, std::source_location loc) const;
  double item_double(std::source_location loc) const;
  bool item_bool(std::source_location loc) const;
  /// Stores the real and the imaginary part.
  void item_parts(double* parts, std::source_location loc) const;
  template <class T>
  T item_complex(std::source_location loc) const {
    double parts[2];
    item_parts(parts, loc);
    using Part = typename T::value_type;
    return T(static_cast<Part>(parts[0]), static_cast<Part>(parts[1]));
  }
  /// A value of a signed integer type of this many bits.
  std::int64_t item_int(int bits, std::source_location loc) const;
  std::uint64_t item_uint(std::uint64_t most, std::source_location loc) const;
  /// The result is valid as long as the array lives.
  const void* host_bytes(DType as, const char* function, std::source_location loc) const;
  /// The bytes are valid while the result lives, which must not outlive this array.
  std::shared_ptr<const void> read_bytes(DType as, const char* function,
                                         std::source_location loc) const;

  // Compilers print the next line in the error for a structured binding of an Array.
  std::shared_ptr<detail::ArrayImpl> impl_;  // tessera: write auto [a, b] = x.unpack<2>()
};

/// x.item<T>() as a free function. In templates and generic lambdas, item<float>(x) replaces
/// x.template item<float>().
template <Number T>
T item(const Array& x, std::source_location loc = std::source_location::current()) {
  return x.item<T>(loc);
}

/// An array argument together with the caller's source line, which errors show. Converts implicitly
/// from arrays and numbers.
struct Operand {
  Array array;
  /// The user's source line, for errors.
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

/// Visits the entries x[0], x[1], ... of the first axis; each is an Array with one axis fewer.
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

/// Prints the values as NumPy does.
TESSERA_API std::ostream& operator<<(std::ostream& out, const Array& x);
TESSERA_API std::string to_string(const Array& x);
/// The type, such as "f32[8,16]", and the state; never waits.
TESSERA_API std::string describe(const Array& x);

/// An abstract array: a dtype and a shape without values. Throws ShapeError for a negative extent.
TESSERA_API Array abstract(DType dtype, const Shape& shape,
                           std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0

#include <tessera/at.h>
#include <tessera/operators.h>
#include <tessera/reductions.h>

#include <tessera/array.h>

#include "api/trace/chain.h"
#include "api/trace/composite.h"
#include "base/process.h"
#include "runtime/array_data.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

namespace tessera::inline v0 {

namespace detail {

namespace {

Array number(const Type& type, auto&& set) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = type;
  impl->is_number = true;
  set(*impl);
  return Array(std::move(impl));
}

}  // namespace

Literal literal_of(const ArrayImpl& a) {
  DType d = a.type.dtype;
  if (is_floating(d)) return scalar_literal(d, a.real);
  if (is_complex(d)) return scalar_literal(d, std::complex(a.real, a.imaginary));
  if (d == DType::uint64) {
    auto bytes = std::make_shared<std::vector<std::byte>>(8);
    std::memcpy(bytes->data(), &a.unsigned_integer, 8);
    return {d, Shape{}, std::move(bytes)};
  }
  return scalar_literal(d, a.integer);
}

const runtime::ArrayDataPtr& data_of(const ArrayImpl& a) {
  if (a.chain) a.chain->finish();
  if (!a.is_number) return a.data;
  if (!a.has_number.load(std::memory_order_acquire)) {
    static auto* first_uses = new std::mutex;
    Locked lock(*first_uses);
    if (!a.has_number.load(std::memory_order_relaxed)) {
      a.number = runtime::on_host(a.type, literal_of(a).bytes->data());
      a.has_number.store(true, std::memory_order_release);
    }
  }
  return a.number;
}

const runtime::ArrayData* known_data(const ArrayImpl& a) {
  if (!a.is_number) return a.data.get();
  return a.has_number.load(std::memory_order_acquire) ? a.number.get() : nullptr;
}

Array make_concrete(runtime::ArrayDataPtr data) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = data->type;
  impl->data = std::move(data);
  return Array(std::move(impl));
}

Array make_traced(std::uint64_t trace, Var var, const Type& type, const SourceLoc& loc) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = type;
  impl->trace = trace;
  impl->var = var;
  impl->loc = loc;
  return Array(std::move(impl));
}

std::string visible_text(const Type& t) {
  Type seen = t;
  seen.dtype = visible_dtype(t);
  return to_string(seen);
}

Array make_abstract(const Type& type) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = type;
  return Array(std::move(impl));
}

const ArrayImpl& need(const Array& a, const char* function, const SourceLoc& loc) {
  if (const auto& impl = a.impl()) return *impl;
  Message(function)
      .problem("an operand is empty: it was default-constructed and never assigned, or moved from")
      .rule("operations need an array that has a dtype and a shape")
      .from(loc)
      .advice("assign it first, for example with zeros(shape)")
      .raise<TraceError>();
}

namespace {

// The float32 values of a weak array, which is stored as doubles; they live as long as the array.
const float* float_bytes_of(const ArrayImpl& a, const runtime::ArrayData& data) {
  runtime::BufferPtr hold;
  const auto* doubles = reinterpret_cast<const double*>(runtime::dense_bytes(data, hold));
  const auto count =
      static_cast<std::size_t>(a.type.shape.count()) * (is_complex(a.type.dtype) ? 2 : 1);
  auto floats = std::make_shared<const std::vector<float>>(doubles, doubles + count);
  Locked lock(data.gathering);
  if (!a.as_floats) a.as_floats = std::move(floats);
  return a.as_floats->data();
}

// The data of an array; throws if it has no values.
const runtime::ArrayDataPtr& readable(const Array& array, const char* function,
                                      const SourceLoc& loc) {
  const ArrayImpl& a = need(array, function, loc);
  if (a.traced()) {
    std::string made = to_string(a.loc);
    Message(function)
        .problem("the value of a traced array " + visible_text(a.type) + " was requested" +
                 (made.empty() ? "" : "; it was made at " + made))
        .rule("while a function is traced its arrays have no values yet")
        .from(loc)
        .advice(std::string_view(function) == "bool"
                    ? "choose between values with cond(pred, f, g) or where(pred, x, y), loop with "
                      "scan or while_loop, or make the parameter a plain C++ type, which is static"
                    : "return it from the traced function and read the result, a loss as "
                      "std::pair(loss, what else is wanted); where a loop or a shape needs the "
                      "number, make the parameter a plain C++ type, which is static")
        .raise<TraceError>();
  }
  if (!a.concrete())
    Message(function)
        .problem("the value of an abstract array " + visible_text(a.type) + " was requested")
        .rule("abstract arrays have a dtype and a shape only")
        .from(loc)
        .advice("use an array with values")
        .raise<TraceError>();
  return data_of(a);
}

}  // namespace

Reading::Reading(const Array& array, const char* function, const SourceLoc& loc)
    : data_(readable(array, function, loc)), use_(*data_) {
  if (!use_) runtime::deleted_message(function, *data_).from(loc).raise<TraceError>();
}

void check_alive(std::span<const Array> inputs, const char* function, const SourceLoc& loc) {
  for (const Array& a : inputs) {
    if (a.is_empty()) continue;
    const runtime::ArrayData* data = known_data(*a.impl());
    if (data && data->deleted())
      runtime::deleted_message(function, *data).from(loc).raise<TraceError>();
  }
}

Array same_values(const Array& x, const char* function, const SourceLoc& loc) {
  const ArrayImpl& a = need(x, function, loc);
  if (!a.concrete()) return x;
  if (a.chain)
    if (auto again = a.chain->again(a)) return *std::move(again);
  if (!a.is_number) return make_concrete(runtime::alias(*Reading(x, function, loc)));
  check_alive({&x, 1}, function, loc);
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = a.type;
  impl->is_number = true;
  impl->unsigned_integer = a.unsigned_integer;  // the bits of either integer
  impl->imaginary = a.imaginary;
  return Array(std::move(impl));
}

}  // namespace detail

using detail::need;

AxisIndex::AxisIndex(const Array& positions, std::source_location l)
    : kind_(Kind::array), array_(std::make_shared<const Array>(positions)), loc_(l) {}

Array::Array(const Array& other) noexcept = default;
Array& Array::operator=(const Array& other) & noexcept = default;
Array& Array::operator=(Array&& other) & noexcept = default;
Array::~Array() = default;

Array::Array(const std::vector<bool>& values) {
  auto bytes = std::make_unique<bool[]>(values.size() + 1);
  std::copy(values.begin(), values.end(), bytes.get());
  *this = from_bytes(DType::boolean, Shape{values.size()}, bytes.get());
}

Array Array::from_bytes(DType dtype, const Shape& shape, const void* bytes) {
  need_countable("Array", shape, {});
  return detail::make_concrete(runtime::from_host(Type(dtype, shape), bytes));
}

Array Array::adopt(DType dtype, const Shape& shape, void* bytes, std::shared_ptr<void> owner) {
  need_countable("Array", shape, {});
  return detail::make_concrete(runtime::adopt_host(Type(dtype, shape), bytes, std::move(owner)));
}

Array Array::from_values(DType dtype, const Shape& shape, const void* values, std::int64_t count,
                         std::source_location loc) {
  std::int64_t holds = 1;
  bool countable = true;
  for (std::int64_t d : shape)
    countable = d >= 0 && !__builtin_mul_overflow(holds, d, &holds) && countable;
  if (!countable || holds != count)
    Message("Array")
        .problem(std::to_string(count) + " values do not fill the shape " + to_string(shape))
        .rule(countable ? "the shape holds " + std::to_string(holds) + " elements"
                        : "extents are 0 or more, and their product is less than 2^63")
        .from(loc)
        .advice("pass as many values as the product of the extents")
        .raise<ShapeError>();
  need_countable("Array", shape, loc);
  return from_bytes(dtype, shape, values);
}

Array Array::bool_scalar(bool v) {
  return detail::number(Type(DType::boolean, {}), [&](detail::ArrayImpl& a) { a.integer = v; });
}
Array Array::float_scalar(double v) {
  return detail::number(Type(DType::float64, {}, true), [&](detail::ArrayImpl& a) { a.real = v; });
}
Array Array::complex_scalar(double real, double imag) {
  return detail::number(Type(DType::complex128, {}, true), [&](detail::ArrayImpl& a) {
    a.real = real;
    a.imaginary = imag;
  });
}
Array Array::int_scalar(std::int64_t v) {
  DType d = v == static_cast<std::int32_t>(v) ? DType::int32 : DType::int64;
  return detail::number(Type(d, {}, true), [&](detail::ArrayImpl& a) { a.integer = v; });
}
Array Array::uint_scalar(std::uint64_t v) {
  if (v <= 0x7fffffffffffffffull) return int_scalar(static_cast<std::int64_t>(v));
  return detail::number(Type(DType::uint64, {}, true),
                        [&](detail::ArrayImpl& a) { a.unsigned_integer = v; });
}

bool Array::is_concrete() const { return impl_ && impl_->concrete(); }
bool Array::is_traced() const { return impl_ && impl_->traced(); }
bool Array::is_abstract() const { return impl_ && !impl_->concrete() && !impl_->traced(); }
DType Array::dtype(std::source_location loc) const {
  return detail::visible_dtype(need(*this, "dtype", loc).type);
}
bool Array::weak_type(std::source_location loc) const {
  return need(*this, "weak_type", loc).type.weak;
}
const Shape& Array::shape(std::source_location loc) const {
  return need(*this, "shape", loc).type.shape;
}
std::int64_t Array::shape(std::int64_t axis, std::source_location loc) const {
  const Shape& s = need(*this, "shape", loc).type.shape;
  return s[static_cast<std::size_t>(normalize_axis(axis, s.rank(), "shape", loc))];
}

std::int64_t Array::length(std::source_location loc) const {
  const Shape& s = need(*this, "length", loc).type.shape;
  if (s.empty())
    Message("length")
        .problem("a scalar has no length")
        .rule("the length is the extent of the first axis")
        .from(loc)
        .advice("read it with item(), or give it an axis with reshape({1})")
        .raise<ShapeError>();
  return s[0];
}

namespace {

void need_type(DType has, DType as, const char* function, const SourceLoc& loc) {
  if (as == has) return;
  Message(function)
      .problem("the array holds " + std::string(name_of(has)) + ", not " + std::string(name_of(as)))
      .rule("elements are read as the type that they have")
      .from(loc)
      .advice("convert first: x.astype(" + std::string(short_name_of(as)) + ")")
      .raise<DTypeError>();
}

}  // namespace

void Array::require_length(std::size_t length, std::source_location loc) const {
  const Shape& s = need(*this, "unpack", loc).type.shape;
  if (!s.empty() && s[0] == static_cast<std::int64_t>(length)) return;
  Message("unpack")
      .problem("the array has shape " + to_string(s) + ", and " + std::to_string(length) +
               (length == 1 ? " element is" : " elements are") + " asked for")
      .rule(s.empty() ? "a scalar has no elements of a first axis"
                      : "there are as many names as elements along the first axis")
      .from(loc)
      .advice(s.empty() ? "read it with item()" : "unpack<" + std::to_string(s[0]) + ">()")
      .raise<ShapeError>();
}

const void* Array::host_bytes(DType as, const char* function, std::source_location loc) const {
  const InFunction called(function, loc);
  const detail::Reading read(*this, function, loc);
  need_type(dtype(), as, function, loc);
  if (dtype() != impl_->type.dtype) return detail::float_bytes_of(*impl_, *read);
  return runtime::host_view(*read);
}

std::shared_ptr<const void> Array::read_bytes(DType as, const char* function,
                                              std::source_location loc) const {
  struct Kept {
    detail::Reading read;
    runtime::BufferPtr buffer;
    Kept(const Array& x, const char* function, const SourceLoc& loc) : read(x, function, loc) {}
  };
  const InFunction called(function, loc);
  auto kept = std::make_shared<Kept>(*this, function, loc);
  need_type(dtype(), as, function, loc);
  const void* bytes =
      dtype() == impl_->type.dtype
          ? static_cast<const void*>(runtime::dense_bytes(*kept->read, kept->buffer))
          : detail::float_bytes_of(*impl_, *kept->read);
  return {std::move(kept), bytes};
}

namespace {

// Calls f with the only element, in its own type.
template <class F>
auto with_item(const Array& a, const SourceLoc& loc, F&& f) {
  const InFunction called("item", loc);
  const detail::Reading read(a, "item", loc);
  if (a.size() != 1)
    Message("item")
        .problem("the array has shape " + to_string(a.shape()) + ", which is " +
                 std::to_string(a.size()) + " elements")
        .rule("item reads the only element of an array")
        .from(loc)
        .advice("pick one first, for example x(0, 0).item<float>(), or read all with to_vector")
        .raise<ShapeError>();
  runtime::BufferPtr hold;
  const std::byte* bytes = runtime::dense_bytes(*read, hold);
  return dispatch(a.impl()->type.dtype, [&](auto tag) {
    using E = decltype(tag);
    E e;
    std::memcpy(&e, bytes, sizeof e);
    if constexpr (std::is_same_v<E, float16_t> || std::is_same_v<E, bfloat16_t>)
      return f(static_cast<float>(e));
    else if constexpr (std::is_same_v<E, bool>)
      return f(static_cast<int>(e));
    else
      return f(e);
  });
}

[[noreturn]] void read_as_real(const Array& a, const SourceLoc& loc) {
  Message("item")
      .problem("the value " + to_string(a) + " is read as a real number")
      .rule("the element is complex")
      .from(loc)
      .advice("read it as it is, item<std::complex<double>>(), or a part: real(x).item<double>()")
      .raise<DTypeError>();
}

// The element as an integer in [least, most]; fractions are truncated.
template <class I>
I integer_item(const Array& a, I least, I most, const SourceLoc& loc) {
  return with_item(a, loc, [&](auto e) {
    bool fits = false;
    if constexpr (is_complex_v<decltype(e)>) {
      read_as_real(a, loc);
    } else if constexpr (std::is_floating_point_v<decltype(e)>) {
      const double whole = std::trunc(static_cast<double>(e));
      // most + 1 is a power of two and thus exact in double, unlike `most` itself.
      const auto half = most / 2 + 1;
      fits =
          whole >= static_cast<double>(least) && whole < std::ldexp(static_cast<double>(half), 1);
    } else {
      fits = std::cmp_greater_equal(e, least) && std::cmp_less_equal(e, most);
    }
    if (!fits) {
      const std::string range = std::to_string(least) + " to " + std::to_string(most);
      Message("item")
          .problem("the value " + to_string(a) + " is read as an integer")
          .rule("the type asked for holds " + range)
          .from(loc)
          .advice(is_floating(a.dtype()) ? "read it as it is, item<double>()"
                                         : "ask for a wider type, item<std::int64_t>()")
          .raise<DTypeError>();
    }
    if constexpr (!is_complex_v<decltype(e)>)
      return static_cast<I>(e);
    else
      return I{};
  });
}

}  // namespace

double Array::item_double(std::source_location loc) const {
  return with_item(*this, loc, [&](auto e) -> double {
    if constexpr (is_complex_v<decltype(e)>)
      read_as_real(*this, loc);
    else
      return static_cast<double>(e);
  });
}
bool Array::item_bool(std::source_location loc) const {
  return item_complex<std::complex<double>>(loc) != 0.0;
}
void Array::item_parts(double* parts, std::source_location loc) const {
  with_item(*this, loc, [&](auto e) {
    if constexpr (is_complex_v<decltype(e)>) {
      parts[0] = static_cast<double>(e.real());
      parts[1] = static_cast<double>(e.imag());
    } else {
      parts[0] = static_cast<double>(e);
      parts[1] = 0;
    }
  });
}
std::int64_t Array::item_int(int bits, std::source_location loc) const {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  return integer_item(*this, -most - 1, most, loc);
}
std::uint64_t Array::item_uint(std::uint64_t most, std::source_location loc) const {
  return integer_item(*this, std::uint64_t{0}, most, loc);
}

Array::operator bool() const {
  const detail::Reading read(*this, "bool");
  if (size() != 1)
    Message("bool")
        .problem("the truth of an array of shape " + to_string(shape()) + " is ambiguous")
        .rule("a condition reads one element")
        .advice("reduce it first: all(x) or any(x); array_equal(x, y) compares whole arrays")
        .raise<ShapeError>();
  return item_bool({});
}

const Array& Array::block_until_ready(std::source_location loc) const {
  const detail::Reading read(*this, "block_until_ready", loc);
  if (read->pending) read->pending->wait();
  return *this;
}

Array Array::copy(std::source_location loc) const {
  const auto& impl = need(*this, "copy", loc);
  if (!impl.concrete()) detail::check_usable(impl, "copy", loc);
  if (!impl.concrete() || impl.is_number) return *this;
  const auto& data = detail::readable(*this, "copy", loc);
  runtime::BufferPtr hold;
  const std::byte* bytes = runtime::dense_bytes(*data, hold);
  return detail::make_concrete(runtime::relayout(runtime::on_host(impl.type, bytes), data->layout));
}

bool Array::is_ready() const {
  if (!is_concrete()) return false;
  if (impl_->is_number) return true;
  try {
    // Nobody else would begin to compute a gathered result.
    const runtime::ArrayDataPtr& data = detail::data_of(*impl_);
    return !data->pending || data->pending->done();
  } catch (const std::exception&) {
    return true;  // reading it throws the error, and does not wait
  }
}

bool Array::is_deleted() const {
  const runtime::ArrayData* data = impl_ ? detail::known_data(*impl_) : nullptr;
  return data && data->deleted();
}

Array::Iterator Array::begin() const {
  detail::check_alive({this, 1}, "range-for");
  return Iterator(*this, 0);
}
Array::Iterator Array::end() const { return Iterator(*this, length()); }

std::string describe(const Array& x) {
  if (x.is_empty()) return "empty";
  std::string s = detail::visible_text(x.impl()->type);
  return s + (x.is_traced() ? " traced" : x.is_abstract() ? " abstract" : "");
}

Array abstract(DType dtype, const Shape& shape, std::source_location loc) {
  for (std::int64_t d : shape)
    if (d < 0)
      Message("abstract")
          .problem("the shape " + to_string(shape) + " has a negative extent")
          .rule("extents are 0 or more")
          .from(loc)
          .advice("check the arithmetic that gave " + std::to_string(d))
          .raise<ShapeError>();
  need_countable("abstract", shape, loc);
  return detail::make_abstract(Type(dtype, shape));
}

}  // namespace tessera::inline v0

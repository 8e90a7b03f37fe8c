#include "stablehlo/emit/text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>

namespace tessera::inline v0::stablehlo {

namespace {

// Longer lists are written as bytes, which readers parse in one pass.
constexpr std::int64_t kMostNumbers = 64;

template <class T>
std::string hexadecimal(T bits) {
  char digits[2 * sizeof(T)];
  const auto end = std::to_chars(digits, digits + sizeof digits, bits, 16).ptr;
  std::string s(digits, end);
  return "0x" + std::string(2 * sizeof(T) - s.size(), '0') + s;
}

// A number with a decimal point if it reads back to the same bits, else its bits.
template <class T>
std::string real_text(T x) {
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  const auto bits = std::bit_cast<Bits>(x);
  const auto wide = [](T v) {
    if constexpr (sizeof(T) == 2)
      return static_cast<double>(static_cast<float>(v));
    else
      return static_cast<double>(v);
  };
  const double value = wide(x);
  if (!std::isfinite(value)) return hexadecimal(bits);
  char text[64];
  const auto written = [&] {
    if constexpr (sizeof(T) == 4)
      return std::to_chars(text, text + sizeof text, x, std::chars_format::scientific);
    else
      return std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  }();
  std::string s(text, written.ptr);
  // Readers parse to double first, which rounds twice.
  double back = 0;
  std::from_chars(s.data(), s.data() + s.size(), back);
  if (T again =
          [&] {
            if constexpr (sizeof(T) == 2)
              return T(static_cast<float>(back));
            else
              return static_cast<T>(back);
          }();
      std::bit_cast<Bits>(again) != bits)
    return hexadecimal(bits);
  if (s.find('.') == s.npos) s.insert(s.find('e'), ".0");
  return s;
}

template <class T>
std::string number_text(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return x ? "true" : "false";
  else if constexpr (std::is_integral_v<T>)
    return std::to_string(x);
  else if constexpr (requires { x.real(); })
    return "(" + real_text(x.real()) + "," + real_text(x.imag()) + ")";
  else
    return real_text(x);
}

template <class T>
void nest(std::string& out, const Shape& shape, std::size_t dim, const T*& next) {
  if (dim == shape.size()) {
    T x;
    std::memcpy(&x, next++, sizeof x);
    out += number_text(x);
    return;
  }
  out += '[';
  for (std::int64_t i = 0; i < shape[dim]; ++i) {
    if (i) out += ", ";
    nest(out, shape, dim + 1, next);
  }
  out += ']';
}

std::string bytes_text(const Literal& l) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string s = "\"0x";
  s.reserve(2 * l.bytes->size() + 4);
  for (std::byte b : *l.bytes) {
    s += kDigits[std::to_integer<unsigned>(b) >> 4];
    s += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return s + "\"";
}

}  // namespace

std::string element_text(DType d) {
  if (d == DType::boolean) return "i1";
  if (d == DType::bfloat16) return "bf16";
  const std::string bits = std::to_string(8 * size_of(d));
  if (is_complex(d)) return size_of(d) == 8 ? "complex<f32>" : "complex<f64>";
  if (is_floating(d)) return "f" + bits;
  return (is_unsigned_integer(d) ? "ui" : "i") + bits;
}

std::string type_text(const Type& t) {
  std::string s = "tensor<";
  for (std::int64_t d : t.shape) s += std::to_string(d) + "x";
  return s + element_text(t.dtype) + ">";
}

std::string types_text(std::span<const Type> types) {
  std::string s = "(";
  for (const Type& t : types) s += (s.size() > 1 ? ", " : "") + type_text(t);
  return s + ")";
}
std::string result_types_text(std::span<const Type> types) {
  return types.size() == 1 ? type_text(types[0]) : types_text(types);
}

std::string dense_text(const Literal& l) {
  const std::int64_t n = l.shape.count();
  if (n == 0) return "dense<>";
  if (n > kMostNumbers) return "dense<" + bytes_text(l) + ">";
  std::string out = "dense<";
  dispatch(l.dtype, [&](auto tag) {
    const auto* next = reinterpret_cast<const decltype(tag)*>(l.bytes->data());
    nest(out, l.shape, 0, next);
  });
  return out + ">";
}

std::string array_text(const Ints& values) {
  std::string s = "array<i64";
  for (std::size_t i = 0; i < values.size(); ++i)
    s += (i ? ", " : ": ") + std::to_string(values[i]);
  return s + ">";
}
std::string list_text(const Ints& values) {
  std::string s = "[";
  for (std::size_t i = 0; i < values.size(); ++i) s += (i ? ", " : "") + std::to_string(values[i]);
  return s + "]";
}
std::string rows_text(const IntLists& rows, std::size_t columns) {
  std::string s = "dense<";
  const bool empty = rows.empty() || columns == 0;
  for (std::size_t i = 0; i < rows.size() && !empty; ++i)
    s += (i ? ", " : "[") + list_text(rows[i]);
  return s + (empty ? "" : "]") + "> : tensor<" + std::to_string(rows.size()) + "x" +
         std::to_string(columns) + "xi64>";
}

std::string sharding_text(const std::string& mesh, const Spec& spec, int rank, const Ints& open) {
  std::vector<std::string> dims;
  for (int d = 0; d < rank; ++d) {
    std::vector<std::string> axes;
    for (const std::string& axis : spec.axes_of(d)) axes.push_back(quoted(axis));
    if (std::find(open.begin(), open.end(), d) != open.end()) axes.push_back("?");
    dims.push_back("{" + joined(axes) + "}");
  }
  return "<@" + mesh + ", [" + joined(dims) + "]>";
}

std::string quoted(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string s = "\"";
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      s += std::string("\\") + c;
    else if (u < 0x20 || u == 0x7f)
      s += std::string("\\") + kDigits[u >> 4] + kDigits[u & 15];
    else
      s += c;
  }
  return s + "\"";
}

std::string joined(std::span<const std::string> parts, std::string_view between) {
  std::string s;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i) s += between;
    s += parts[i];
  }
  return s;
}

std::string symbol_text(std::string_view text) {
  std::string s;
  for (char c : text)
    s += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  return s.empty() || (s[0] >= '0' && s[0] <= '9') ? "_" + s : s;
}

}  // namespace tessera::inline v0::stablehlo

#include "ir/text_number.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>

namespace tessera::inline v0 {

namespace {

template <class T>
struct BitsOf;
template <>
struct BitsOf<float16_t> {
  using type = std::uint16_t;
};
template <>
struct BitsOf<bfloat16_t> {
  using type = std::uint16_t;
};
template <>
struct BitsOf<float> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using type = std::uint64_t;
};

template <class T>
inline constexpr bool kNarrow = std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>;
template <class T>
using Number = std::conditional_t<kNarrow<T>, float, T>;

template <class T>
T plain_nan() {
  return T(std::numeric_limits<Number<T>>::quiet_NaN());
}

template <class T>
void append_float(std::string& out, T v) {
  using Bits = typename BitsOf<T>::type;
  auto number = static_cast<Number<T>>(v);
  char buffer[40];
  if (std::isnan(number)) {
    out += "nan";
    auto bits = std::bit_cast<Bits>(v);
    if (bits == std::bit_cast<Bits>(plain_nan<T>())) return;
    auto end = std::to_chars(buffer, buffer + sizeof buffer, bits, 16).ptr;
    out += ":0x";
    out.append(buffer, end);
    return;
  }
  auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  out += text;
  if (text.find_first_of(".ein") == std::string_view::npos) out += ".0";
}

template <class T>
bool parse_whole(std::string_view text, T& v, int base = 10) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v, base);
  return error == std::errc() && end == text.data() + text.size();
}

template <class T>
bool parse_float(std::string_view text, T& v) {
  if (text.starts_with("nan:0x")) {
    typename BitsOf<T>::type bits;
    if (!parse_whole(text.substr(6), bits, 16)) return false;
    v = std::bit_cast<T>(bits);
    return std::isnan(static_cast<Number<T>>(v));
  }
  if (text == "nan") {
    v = plain_nan<T>();
    return true;
  }
  Number<T> number;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(number)) return false;
  v = T(number);
  return true;
}

template <class T>
void append_complex(std::string& out, std::complex<T> v) {
  out += '(';
  append_float(out, v.real());
  out += ", ";
  append_float(out, v.imag());
  out += ')';
}

}  // namespace

void append_element(std::string& out, DType d, const std::byte* bytes) {
  dispatch(d, [&](auto tag) {
    using T = decltype(tag);
    T v;
    std::memcpy(&v, bytes, sizeof v);
    if constexpr (std::is_same_v<T, bool>)
      out += v ? "true" : "false";
    else if constexpr (std::is_integral_v<T>)
      out += std::to_string(v);
    else if constexpr (is_complex_v<T>)
      append_complex(out, v);
    else
      append_float(out, v);
  });
}

bool parse_element(std::string_view text, DType d, std::byte* bytes) {
  return dispatch(d, [&](auto tag) {
    using T = decltype(tag);
    T v{};
    if constexpr (std::is_same_v<T, bool>) {
      if (text != "true" && text != "false") return false;
      v = text == "true";
    } else if constexpr (std::is_integral_v<T>) {
      if (!parse_whole(text, v)) return false;
    } else if constexpr (is_complex_v<T>) {
      return false;  // two numbers
    } else {
      if (!parse_float(text, v)) return false;
    }
    std::memcpy(bytes, &v, sizeof v);
    return true;
  });
}

}  // namespace tessera::inline v0

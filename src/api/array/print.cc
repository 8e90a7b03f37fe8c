// Prints arrays as NumPy does: the shortest digits that read back to the same value, one format for
// all elements, lines of at most 75 columns, and large arrays summarised.
#include <tessera/array.h>

#include "api/array/array_impl.h"
#include "ir/host_array.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <ostream>

namespace tessera::inline v0 {

namespace {

constexpr int kPrecision = 8, kThreshold = 1000, kEdge = 3, kLineWidth = 75;

// The shortest decimal digits that read back to the same value: 0.d1d2d3... * 10^point.
struct Digits {
  std::string digits;
  int point;
};

Digits parse_scientific(const char* begin, const char* end) {
  Digits d;
  const char* e = std::find(begin, end, 'e');
  for (const char* p = begin; p != e; ++p)
    if (*p >= '0' && *p <= '9') d.digits += *p;
  int exponent = 0;
  const char* number = e + 1;
  if (*number == '+') ++number;
  std::from_chars(number, end, exponent);
  while (d.digits.size() > 1 && d.digits.back() == '0') d.digits.pop_back();
  d.point = exponent + 1;
  return d;
}

Digits shortest(double magnitude, DType dtype) {
  char text[64];
  if (dtype == DType::float64) {
    auto r = std::to_chars(text, text + sizeof text, magnitude, std::chars_format::scientific);
    return parse_scientific(text, r.ptr);
  }
  float f = static_cast<float>(magnitude);
  if (dtype == DType::float32) {
    auto r = std::to_chars(text, text + sizeof text, f, std::chars_format::scientific);
    return parse_scientific(text, r.ptr);
  }
  for (int precision = 0; precision < 9; ++precision) {
    auto r = std::to_chars(text, text + sizeof text, f, std::chars_format::scientific, precision);
    float back = 0;
    std::from_chars(text, r.ptr, back);
    bool same = dtype == DType::float16 ? float16_t(back).bits == float16_t(f).bits
                                        : bfloat16_t(back).bits == bfloat16_t(f).bits;
    if (same) return parse_scientific(text, r.ptr);
  }
  auto r = std::to_chars(text, text + sizeof text, f, std::chars_format::scientific);
  return parse_scientific(text, r.ptr);
}

struct NumberParts {
  std::string whole, fraction;  // "-12", "5"
  int exponent = 0;
};

NumberParts positional(double v, DType dtype, int precision) {
  NumberParts p;
  Digits d = shortest(std::fabs(v), dtype);
  int fraction_digits = static_cast<int>(d.digits.size()) - d.point;
  if (v == 0) {
    p.whole = "0";
  } else if (fraction_digits > precision) {
    char text[512];
    auto r =
        std::to_chars(text, text + sizeof text, std::fabs(v), std::chars_format::fixed, precision);
    std::string s(text, r.ptr);
    std::size_t dot = s.find('.');
    p.whole = s.substr(0, dot);
    p.fraction = dot == std::string::npos ? "" : s.substr(dot + 1);
    while (!p.fraction.empty() && p.fraction.back() == '0') p.fraction.pop_back();
  } else if (d.point <= 0) {
    p.whole = "0";
    p.fraction = std::string(static_cast<std::size_t>(-d.point), '0') + d.digits;
  } else {
    std::string all = d.digits;
    if (static_cast<int>(all.size()) < d.point)
      all.append(static_cast<std::size_t>(d.point) - all.size(), '0');
    p.whole = all.substr(0, static_cast<std::size_t>(d.point));
    p.fraction = all.substr(static_cast<std::size_t>(d.point));
  }
  if (std::signbit(v)) p.whole = "-" + p.whole;
  return p;
}

NumberParts scientific(double v, DType dtype, int precision) {
  NumberParts p;
  std::string digits = "0";
  if (v != 0) {
    Digits d = shortest(std::fabs(v), dtype);
    digits = d.digits;
    p.exponent = d.point - 1;
    if (static_cast<int>(digits.size()) > precision + 1) {
      char text[64];
      auto r = std::to_chars(text, text + sizeof text, std::fabs(v), std::chars_format::scientific,
                             precision);
      Digits cut = parse_scientific(text, r.ptr);
      digits = cut.digits;
      p.exponent = cut.point - 1;
    }
  }
  p.whole = (std::signbit(v) ? "-" : "") + digits.substr(0, 1);
  p.fraction = digits.substr(1);
  return p;
}

// Scientific notation with exactly `precision` digits after the point.
NumberParts padded_scientific(double v, int precision) {
  char text[512];
  auto r = std::to_chars(text, text + sizeof text, v, std::chars_format::scientific, precision);
  const std::string s(text, r.ptr);
  const std::size_t dot = s.find('.'), e = s.find('e');
  NumberParts p{s.substr(0, dot), s.substr(dot + 1, e - dot - 1), 0};
  p.exponent = std::stoi(s.substr(e + 1));
  return p;
}

std::string pad_left(const std::string& s, std::size_t width) {
  return s.size() >= width ? s : std::string(width - s.size(), ' ') + s;
}

std::string exponent_text(int e, std::size_t digits) {
  std::string s = std::to_string(std::abs(e));
  if (s.size() < digits) s.insert(0, digits - s.size(), '0');
  return (e < 0 ? "e-" : "e+") + s;
}

// The magnitude from which NumPy 2.4 uses an exponent: beyond the digits that the dtype guarantees.
double exponent_limit(DType dtype) {
  return dtype == DType::float64 ? 1e16 : dtype == DType::float16 ? 1e3 : 1e6;
}

using Formatter = std::function<std::string(std::int64_t flat)>;

Formatter float_formatter(const HostArray& a, const std::vector<std::int64_t>& shown) {
  double biggest = 0, smallest = INFINITY;
  bool finite_nonzero = false, odd = false, negative_inf = false;
  for (auto i : shown) {
    double v = a.number(i);
    if (!std::isfinite(v)) {
      odd = true;
      negative_inf = negative_inf || (std::isinf(v) && v < 0);
    } else if (v != 0) {
      finite_nonzero = true;
      biggest = std::max(biggest, std::fabs(v));
      smallest = std::min(smallest, std::fabs(v));
    }
  }
  bool exponential = finite_nonzero && (biggest >= std::min(1e8, exponent_limit(a.dtype)) ||
                                        smallest < 1e-4 || biggest / smallest > 1000);
  std::size_t whole = 0, fraction = 0, exponent = 2;
  for (auto i : shown) {
    double v = a.number(i);
    if (!std::isfinite(v)) continue;
    NumberParts p =
        exponential ? scientific(v, a.dtype, kPrecision) : positional(v, a.dtype, kPrecision);
    whole = std::max(whole, p.whole.size());
    fraction = std::max(fraction, p.fraction.size());
    exponent = std::max(exponent, std::to_string(std::abs(p.exponent)).size());
  }
  std::size_t right = exponential ? fraction + exponent + 2 : fraction;
  if (odd) {
    std::size_t need = negative_inf ? 4 : 3;
    if (whole + right + 1 < need) whole = need - right - 1;
  }
  return [&a, exponential, whole, fraction, exponent, right](std::int64_t i) {
    double v = a.number(i);
    if (!std::isfinite(v))
      return pad_left(std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf", whole + right + 1);
    NumberParts p =
        exponential ? scientific(v, a.dtype, kPrecision) : positional(v, a.dtype, kPrecision);
    // If other elements have more digits, continue with the next digits of this number.
    if (exponential && p.fraction.size() < fraction)
      p = padded_scientific(v, static_cast<int>(fraction));
    std::string s = pad_left(p.whole, whole) + "." + p.fraction;
    if (exponential) return s + exponent_text(p.exponent, exponent);
    return s + std::string(fraction - p.fraction.size(), ' ');
  };
}

std::string integer_text(const HostArray& a, std::int64_t i) {
  return dispatch(a.dtype, [&](auto tag) -> std::string {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>)
      return std::to_string(a.data<T>()[i]);
    else
      return {};
  });
}

// Formats real and imaginary parts separately, as NumPy does: "1.+2.j". The imaginary part has an
// explicit sign and is padded after its digits.
Formatter complex_formatter(const HostArray& a, const std::vector<std::int64_t>& shown) {
  const DType part = real_dtype(a.dtype);
  auto parts = std::make_shared<HostArray>(part, Shape{2 * a.count()}, a.bytes);
  std::vector<std::int64_t> real, imag;
  for (std::int64_t i : shown) {
    real.push_back(2 * i);
    imag.push_back(2 * i + 1);
  }
  Formatter re = float_formatter(*parts, real), im = float_formatter(*parts, imag);
  auto with_sign = [im](std::int64_t i) {
    std::string text = im(2 * i + 1);
    text.erase(0, text.find_first_not_of(' '));
    if (text[0] != '-') text = "+" + text;
    return text.insert(text.find_last_not_of(' ') + 1, "j");
  };
  std::size_t width = 0;
  for (std::int64_t i : shown) width = std::max(width, with_sign(i).size());
  return [parts, re, with_sign, width](std::int64_t i) {
    return re(2 * i) + pad_left(with_sign(i), width);
  };
}

Formatter formatter(const HostArray& a, const std::vector<std::int64_t>& shown) {
  if (is_complex(a.dtype)) return complex_formatter(a, shown);
  if (is_floating(a.dtype)) return float_formatter(a, shown);
  bool boolean = a.dtype == DType::boolean;
  auto text = [&a, boolean](std::int64_t i) {
    return boolean ? std::string(a.data<bool>()[i] ? "True" : "False") : integer_text(a, i);
  };
  std::size_t width = boolean ? 5 : 0;  // the width of "False", even if no element is false
  for (auto i : shown) width = std::max(width, text(i).size());
  return [text, width](std::int64_t i) { return pad_left(text(i), width); };
}

// The positions along an axis that are printed; -1 stands for the dots.
std::vector<std::int64_t> visible(std::int64_t n, bool summarise) {
  std::vector<std::int64_t> v;
  if (!summarise || n <= std::int64_t{2} * kEdge) {
    for (std::int64_t i = 0; i < n; ++i) v.push_back(i);
  } else {
    for (std::int64_t i = 0; i < kEdge; ++i) v.push_back(i);
    v.push_back(-1);
    for (std::int64_t i = n - kEdge; i < n; ++i) v.push_back(i);
  }
  return v;
}

struct Printer {
  const HostArray& a;
  Shape strides;
  bool summarise;
  Formatter format;

  void collect(int axis, std::int64_t base, std::vector<std::int64_t>& out) const {
    if (axis == a.shape.rank()) {
      out.push_back(base);
      return;
    }
    for (std::int64_t i : visible(a.shape[static_cast<std::size_t>(axis)], summarise))
      if (i >= 0) collect(axis + 1, base + i * strides[static_cast<std::size_t>(axis)], out);
  }

  std::string print(int axis, std::int64_t base, const std::string& indent, int width) const {
    int left = a.shape.rank() - axis;
    if (left == 0) return format(base);
    std::string s;
    std::vector<std::int64_t> rows = visible(a.shape[static_cast<std::size_t>(axis)], summarise);
    if (left == 1) {
      std::string line = indent;
      for (std::size_t k = 0; k < rows.size(); ++k) {
        std::string word =
            rows[k] < 0 ? "..." : format(base + rows[k] * strides[static_cast<std::size_t>(axis)]);
        if (static_cast<int>(line.size() + word.size()) > width - 1 &&
            line.size() > indent.size()) {
          while (!line.empty() && line.back() == ' ') line.pop_back();
          s += line + "\n";
          line = indent;
        }
        line += word;
        if (k + 1 < rows.size()) line += " ";
      }
      s += line;
    } else {
      std::string separator(static_cast<std::size_t>(left - 1), '\n');
      for (std::size_t k = 0; k < rows.size(); ++k) {
        s += indent;
        s += rows[k] < 0 ? "..."
                         : print(axis + 1, base + rows[k] * strides[static_cast<std::size_t>(axis)],
                                 indent + " ", width - 1);
        if (k + 1 < rows.size()) s += separator;
      }
    }
    return "[" + s.substr(std::min(indent.size(), s.size())) + "]";
  }
};

std::string scalar_text(const HostArray& a) {
  if (is_complex(a.dtype)) {  // (1+2j), without trailing points
    const DType part = real_dtype(a.dtype);
    auto text = [&](int which) {
      std::string s =
          scalar_text(HostArray(part, {}, a.bytes + std::ptrdiff_t{which} * size_of(part)));
      if (s.ends_with(".0")) s.resize(s.size() - 2);
      return s;
    };
    std::string re = text(0), im = text(1);
    if (im[0] != '-') im = "+" + im;
    return re == "0" ? im.substr(im[0] == '+') + "j" : "(" + re + im + "j)";
  }
  if (!is_floating(a.dtype))
    return a.dtype == DType::boolean ? (a.data<bool>()[0] ? "True" : "False") : integer_text(a, 0);
  double v = a.number(0);
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  double m = std::fabs(v);
  if (m != 0 && (m >= exponent_limit(a.dtype) || m < 1e-4)) {
    NumberParts p = scientific(v, a.dtype, 17);
    return p.whole + (p.fraction.empty() ? "" : "." + p.fraction) + exponent_text(p.exponent, 2);
  }
  NumberParts p = positional(v, a.dtype, 400);
  return p.whole + "." + (p.fraction.empty() ? "0" : p.fraction);
}

}  // namespace

std::string to_string(const Array& x) {
  if (!x.is_concrete()) return "Array(" + describe(x) + ")";
  const runtime::ArrayData& data = *detail::data_of(*x.impl());
  const runtime::Use use(data);
  if (!use) return "Array(" + describe(x) + " deleted)";
  if (!runtime::is_addressable(data))
    return "Array(" + describe(x) + " on " + std::to_string(data.layout->devices().size()) +
           " devices, of other processes too)";
  runtime::BufferPtr hold;
  const std::byte* bytes = runtime::dense_bytes(data, hold);
  HostArray a(x.impl()->type.dtype, x.shape(), const_cast<std::byte*>(bytes));
  std::vector<float> floats;  // of a weak array, whose data are doubles
  if (x.dtype() != a.dtype) {
    floats.assign(a.data<double>(), a.data<double>() + x.size() * (is_complex(a.dtype) ? 2 : 1));
    a = HostArray(x.dtype(), x.shape(), reinterpret_cast<std::byte*>(floats.data()));
  }
  if (x.ndim() == 0) return scalar_text(a);
  if (x.size() == 0) return "[]";
  Printer p{a, a.shape.strides(), x.size() > kThreshold, {}};
  std::vector<std::int64_t> shown;
  p.collect(0, 0, shown);
  p.format = formatter(a, shown);
  return p.print(0, 0, " ", kLineWidth);
}

std::ostream& operator<<(std::ostream& out, const Array& x) { return out << to_string(x); }

}  // namespace tessera::inline v0

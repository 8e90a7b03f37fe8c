// Arrays of integers as NumPy has them, in 128 bits: the oracle of the drawn cases.
#pragma once

#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace integers {

namespace ts = tessera;
using ts::Array;
using ts::DType;
using ts::Shape;

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

inline std::string text(Wide v) {
  std::string digits;
  UnsignedWide rest = v < 0 ? -static_cast<UnsignedWide>(v) : static_cast<UnsignedWide>(v);
  do digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  while (rest /= 10);
  return v < 0 ? "-" + digits : digits;
}

inline const std::vector<DType>& all_dtypes() {
  static const auto& all = *new std::vector<DType>{ts::i32, ts::u8,  ts::i8,  ts::i64,  ts::u64,
                                                   ts::u32, ts::i16, ts::u16, ts::bool_};
  return all;
}
inline int bits_of(DType d) { return d == ts::bool_ ? 1 : 8 * ts::size_of(d); }
inline Wide least(DType d) { return ts::is_signed_integer(d) ? -(Wide(1) << (bits_of(d) - 1)) : 0; }
inline Wide most(DType d) {
  return (Wide(1) << (bits_of(d) - (ts::is_signed_integer(d) ? 1 : 0))) - 1;
}
inline bool fits(Wide v, DType d) { return v >= least(d) && v <= most(d); }
/// The value of `d` with the same low bits, as integers wrap. Booleans are true unless 0.
inline Wide wrapped(Wide v, DType d) {
  if (d == ts::bool_) return v != 0;
  const UnsignedWide low = static_cast<UnsignedWide>(v) & ((UnsignedWide(1) << bits_of(d)) - 1);
  const Wide r = static_cast<Wide>(low);
  return r > most(d) ? r - (Wide(1) << bits_of(d)) : r;
}
/// A product modulo 2^128, which has the low bits of the true one.
inline Wide times(Wide x, Wide y) {
  return static_cast<Wide>(static_cast<UnsignedWide>(x) * static_cast<UnsignedWide>(y));
}

/// An array of integers or booleans, or a bare C++ number if `number` is set.
struct Grid {
  DType dtype = ts::i32;
  Shape shape;
  std::vector<Wide> at;
  bool number = false;
  bool weak = false;

  std::int64_t count() const { return static_cast<std::int64_t>(at.size()); }
};
inline Grid zeros(DType d, const Shape& shape) {
  return {d, shape, std::vector<Wide>(static_cast<std::size_t>(shape.count()))};
}
/// The dtype of a number has as many bits as the number needs.
inline Grid number(Wide v) {
  const DType d = fits(v, ts::i32) ? ts::i32 : fits(v, ts::i64) ? ts::i64 : ts::u64;
  return {d, {}, {v}, true, true};
}

/// The number as a C++ type, which `kind` selects among those that hold it.
inline Array bare(Wide v, std::int64_t kind) {
  std::vector<Array> all;
  const auto offer = [&](auto tag) {
    using T = decltype(tag);
    if (v >= Wide(std::numeric_limits<T>::min()) && v <= Wide(std::numeric_limits<T>::max()))
      all.push_back(Array(static_cast<T>(v)));
  };
  offer(int{}), offer(0LL), offer(0ULL), offer(0L), offer(0UL), offer(0U);
  offer(std::int8_t{}), offer(std::uint8_t{}), offer(char{}), offer(short{});
  offer(static_cast<unsigned short>(0));
  return all[static_cast<std::size_t>(kind) % all.size()];
}

template <class T>
Array array_as(const Grid& g) {
  const auto values = std::make_unique<T[]>(g.at.size());
  for (std::size_t i = 0; i < g.at.size(); ++i) {
    if constexpr (std::is_same_v<T, ts::float16_t> || std::is_same_v<T, ts::bfloat16_t>)
      values[i] = T(static_cast<float>(g.at[i]));
    else
      values[i] = static_cast<T>(g.at[i]);
  }
  return Array::from_bytes(ts::dtype_of<T>(), g.shape, values.get());
}
/// The values as an array of `d`, each rounded once if `d` is a float.
inline Array array_of(const Grid& g, DType d) {
  return ts::dispatch_real(d, [&](auto tag) { return array_as<decltype(tag)>(g); });
}
inline Array array_of(const Grid& g, std::int64_t kind = 0) {
  return g.number ? bare(g.at[0], kind) : array_of(g, g.dtype);
}

/// The contents of an array, by bits; all NaNs are equal.
struct Seen {
  DType dtype;
  bool weak;
  Shape shape;
  std::vector<std::uint64_t> bits;
  bool operator==(const Seen& o) const {
    return dtype == o.dtype && weak == o.weak && shape == o.shape && bits == o.bits;
  }
};
inline Seen seen(const Array& x) {
  Seen s{x.dtype(), x.weak_type(), x.shape(), {}};
  ts::dispatch_real(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (const T v : x.to_vector<T>()) {
      std::uint64_t b = 0;
      std::memcpy(&b, &v, sizeof(T));
      if constexpr (std::is_floating_point_v<T>)
        if (std::isnan(v)) b = ~std::uint64_t{0};
      s.bits.push_back(b);
    }
  });
  return s;
}
inline Wide integer_of(const Seen& s, std::size_t i) {
  const Wide v = static_cast<Wide>(s.bits[i]);
  return ts::is_signed_integer(s.dtype) ? wrapped(v, s.dtype) : v;
}
inline long double real_of(const Seen& s, std::size_t i) {
  return ts::dispatch_real(s.dtype, [&](auto tag) -> long double {
    using T = decltype(tag);
    T v;
    std::memcpy(static_cast<void*>(&v), &s.bits[i], sizeof(T));
    if constexpr (std::is_same_v<T, ts::float16_t> || std::is_same_v<T, ts::bfloat16_t>)
      return static_cast<float>(v);
    else
      return static_cast<long double>(v);
  });
}
inline std::string text(const Seen& s, std::size_t i) {
  return ts::is_floating(s.dtype) ? std::to_string(real_of(s, i)) : text(integer_of(s, i));
}

/// dtype[shape] {values}, with the first few values.
inline std::string text(const Grid& g) {
  std::string t = g.number ? "number" : std::string(ts::short_name_of(g.dtype));
  if (!g.number) {
    t += "[";
    for (std::size_t i = 0; i < g.shape.size(); ++i)
      t += (i ? "," : "") + std::to_string(g.shape[i]);
    t += "]";
  }
  t += " {";
  for (std::size_t i = 0; i < g.at.size() && i < 12; ++i) t += (i ? ", " : "") + text(g.at[i]);
  return t + (g.at.size() > 12 ? ", ...}" : "}");
}

struct Kind {
  DType dtype;
  bool weak;
};
/// The common dtype of two integer operands: the least integer dtype that holds both, or float64
/// for int64 with uint64. A number takes the dtype of the integers that it meets.
inline Kind promoted(const Kind& a, const Kind& b) {
  if (a.weak && b.weak) return {most(a.dtype) > most(b.dtype) ? a.dtype : b.dtype, true};
  if (a.weak || b.weak) {
    const Kind &weak = a.weak ? a : b, &strong = a.weak ? b : a;
    return strong.dtype == ts::bool_ ? weak : strong;
  }
  if (least(a.dtype) >= least(b.dtype) && most(a.dtype) <= most(b.dtype)) return b;
  if (least(b.dtype) >= least(a.dtype) && most(b.dtype) <= most(a.dtype)) return a;
  for (DType d : {ts::i16, ts::i32, ts::i64})
    if (most(d) >= std::max(most(a.dtype), most(b.dtype))) return {d, false};
  return {ts::f64, false};
}
inline Kind kind_of(const Grid& g) { return {g.dtype, g.weak}; }

inline Shape broadcast(const Shape& a, const Shape& b) {
  Shape s = a.size() > b.size() ? a : b;
  const Shape& other = a.size() > b.size() ? b : a;
  for (std::size_t i = 1; i <= other.size(); ++i) {
    std::int64_t& n = s[s.size() - i];
    if (n == 1) n = other[other.size() - i];
  }
  return s;
}
/// The index of each axis of the flat position `i`.
inline std::vector<std::int64_t> unravel(std::int64_t i, const Shape& s) {
  std::vector<std::int64_t> at(s.size());
  for (std::size_t d = s.size(); d-- > 0; i /= s[d]) at[d] = i % s[d];
  return at;
}
inline std::int64_t ravel(const std::vector<std::int64_t>& at, const Shape& s) {
  std::int64_t i = 0;
  for (std::size_t d = 0; d < s.size(); ++d) i = i * s[d] + at[d];
  return i;
}
/// The element of `g` at a position of a shape that it broadcasts to.
inline Wide element(const Grid& g, const std::vector<std::int64_t>& at) {
  std::int64_t i = 0;
  const std::size_t skip = at.size() - g.shape.size();
  for (std::size_t d = 0; d < g.shape.size(); ++d)
    i = i * g.shape[d] + (g.shape[d] == 1 ? 0 : at[d + skip]);
  return g.at[static_cast<std::size_t>(i)];
}
/// An array of `shape`, from the index of each element.
template <class F>
Grid filled(DType d, const Shape& shape, F&& f) {
  Grid g = zeros(d, shape);
  for (std::int64_t i = 0; i < g.count(); ++i)
    g.at[static_cast<std::size_t>(i)] = f(unravel(i, shape));
  return g;
}

}  // namespace integers

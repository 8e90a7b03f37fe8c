#include <tessera/dtype.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <ostream>

namespace tessera::inline v0 {

std::string_view name_of(DType d) {
  static constexpr std::array<std::string_view, kDTypeCount> names = {
      "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",    "uint32",
      "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};
  return names[static_cast<std::size_t>(d)];
}

std::string to_string(DType d) { return std::string(name_of(d)); }
std::ostream& operator<<(std::ostream& out, DType d) { return out << name_of(d); }

std::string_view short_name_of(DType d) {
  static constexpr std::array<std::string_view, kDTypeCount> names = {
      "bool", "i8",  "i16",  "i32", "i64", "u8",  "u16", "u32",
      "u64",  "f16", "bf16", "f32", "f64", "c64", "c128"};
  return names[static_cast<std::size_t>(d)];
}

namespace {

// The nodes of the promotion lattice: the strong dtypes, then weak integer, weak float and weak
// complex.
constexpr int kWeakInt = kDTypeCount, kWeakFloat = kDTypeCount + 1, kWeakComplex = kDTypeCount + 2,
              kNodes = kDTypeCount + 3;

// Reachability in JAX's promotion lattice with 64-bit types: up[n] is the set of nodes at or above
// n.
const std::array<unsigned, kNodes>& upper_sets() {
  static const std::array<unsigned, kNodes> up = [] {
    auto id = [](DType d) { return static_cast<int>(d); };
    std::array<std::array<int, 3>, kNodes> next{};
    for (auto& n : next) n = {-1, -1, -1};
    auto edge = [&](int a, int b) {
      for (int& slot : next[static_cast<std::size_t>(a)])
        if (slot < 0) {
          slot = b;
          return;
        }
    };
    edge(id(DType::boolean), kWeakInt);
    edge(kWeakInt, id(DType::uint8));
    edge(kWeakInt, id(DType::int8));
    edge(id(DType::uint8), id(DType::int16));
    edge(id(DType::uint8), id(DType::uint16));
    edge(id(DType::uint16), id(DType::int32));
    edge(id(DType::uint16), id(DType::uint32));
    edge(id(DType::uint32), id(DType::int64));
    edge(id(DType::uint32), id(DType::uint64));
    edge(id(DType::uint64), kWeakFloat);
    edge(id(DType::int8), id(DType::int16));
    edge(id(DType::int16), id(DType::int32));
    edge(id(DType::int32), id(DType::int64));
    edge(id(DType::int64), kWeakFloat);
    edge(kWeakFloat, id(DType::bfloat16));
    edge(kWeakFloat, id(DType::float16));
    edge(id(DType::bfloat16), id(DType::float32));
    edge(id(DType::float16), id(DType::float32));
    edge(kWeakFloat, kWeakComplex);
    edge(id(DType::float32), id(DType::float64));
    edge(id(DType::float32), id(DType::complex64));
    edge(id(DType::float64), id(DType::complex128));
    edge(kWeakComplex, id(DType::complex64));
    edge(id(DType::complex64), id(DType::complex128));
    std::array<unsigned, kNodes> sets{};
    for (bool changed = true; changed;) {
      changed = false;
      for (int n = 0; n < kNodes; ++n) {
        unsigned s = sets[static_cast<std::size_t>(n)] | (1u << n);
        for (int m : next[static_cast<std::size_t>(n)])
          if (m >= 0) s |= sets[static_cast<std::size_t>(m)] | (1u << m);
        changed = changed || s != sets[static_cast<std::size_t>(n)];
        sets[static_cast<std::size_t>(n)] = s;
      }
    }
    return sets;
  }();
  return up;
}

}  // namespace

namespace {

// Returns the wider of the two dtypes that are of the kind, or `otherwise` if neither is. A dtype
// of the kind must be weak.
DType weakest_that_holds(DType a, DType b, bool (*kind)(DType), DType otherwise) {
  if (!kind(a)) return kind(b) ? b : otherwise;
  if (!kind(b)) return a;
  if (size_of(a) == size_of(b) && a != b && is_floating(a)) return DType::float32;
  if (size_of(a) == size_of(b)) return std::max(a, b);  // unsigned if one of them is
  return size_of(a) > size_of(b) ? a : b;
}

}  // namespace

Promoted promote(DType a, bool a_weak, DType b, bool b_weak) {
  // A weak value of a narrow dtype (a loop counter, say) is represented by its kind's weak node.
  auto node = [](DType d, bool weak) {
    if (!weak || d == DType::boolean) return static_cast<int>(d);
    return is_complex(d) ? kWeakComplex : is_floating(d) ? kWeakFloat : kWeakInt;
  };
  if (a == b && a_weak == b_weak) return {a, a_weak && a != DType::boolean};
  const auto& up = upper_sets();
  unsigned common =
      up[static_cast<std::size_t>(node(a, a_weak))] & up[static_cast<std::size_t>(node(b, b_weak))];
  // The least upper bound is the common node whose own upper set contains all common nodes.
  for (int n = 0; n < kNodes; ++n) {
    if (!(common & (1u << n)) || up[static_cast<std::size_t>(n)] != common) continue;
    if (n == kWeakInt) return {weakest_that_holds(a, b, is_integer, DType::int32), true};
    // No integer dtype holds both int64 and uint64, and a weak float would lose their bits.
    if (n == kWeakFloat && !a_weak && !b_weak) return {DType::float64, false};
    if (n == kWeakFloat || n == kWeakComplex) {
      const DType x = a_weak ? a : DType::boolean, y = b_weak ? b : DType::boolean;
      return n == kWeakFloat
                 ? Promoted{weakest_that_holds(x, y, is_floating, DType::float32), true}
                 : Promoted{weakest_that_holds(x, y, is_complex, DType::complex64), true};
    }
    return {static_cast<DType>(n), false};
  }
  return {DType::float64, false};
}

float16_t::float16_t(float value) {
  std::uint32_t f = std::bit_cast<std::uint32_t>(value);
  std::uint32_t sign = (f >> 16) & 0x8000u;
  f &= 0x7fffffffu;
  if (f > 0x7f800000u) {
    bits = static_cast<std::uint16_t>(sign | 0x7e00u);
  } else if (f >= 0x477ff000u) {  // rounds past the largest half
    bits = static_cast<std::uint16_t>(sign | 0x7c00u);
  } else if (f <
             0x38800000u) {  // subnormal: align to 2^-24 and let the addition round to nearest even
    float magic = std::bit_cast<float>(f) + 0.5f;
    bits = static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(magic) - 0x3f000000u));
  } else {
    std::uint32_t odd = (f >> 13) & 1u;
    f += 0xc8000fffu + odd;
    bits = static_cast<std::uint16_t>(sign | (f >> 13));
  }
}

float16_t::operator float() const {
  std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  std::uint32_t exponent = (bits >> 10) & 0x1fu, mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    float f = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -f : f;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

}  // namespace tessera::inline v0

#include "pjrt/element.h"

#include "pjrt/error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tessera::inline v0::pjrt {

namespace {

const std::vector<Element>& elements() {
  static const auto* all = [] {
    auto* list = new std::vector<Element>{
        {PJRT_Buffer_Type_PRED, "i1", DType::boolean, 1},
        {PJRT_Buffer_Type_S8, "i8", DType::int8, 1},
        {PJRT_Buffer_Type_S16, "i16", DType::int16, 2},
        {PJRT_Buffer_Type_S32, "i32", DType::int32, 4},
        {PJRT_Buffer_Type_S64, "i64", DType::int64, 8},
        {PJRT_Buffer_Type_U8, "ui8", DType::uint8, 1},
        {PJRT_Buffer_Type_U16, "ui16", DType::uint16, 2},
        {PJRT_Buffer_Type_U32, "ui32", DType::uint32, 4},
        {PJRT_Buffer_Type_U64, "ui64", DType::uint64, 8},
        {PJRT_Buffer_Type_F16, "f16", DType::float16, 2},
        {PJRT_Buffer_Type_F32, "f32", DType::float32, 4},
        {PJRT_Buffer_Type_F64, "f64", DType::float64, 8},
        {PJRT_Buffer_Type_BF16, "bf16", DType::bfloat16, 2},
        {PJRT_Buffer_Type_C64, "complex<f32>", DType::complex64, 8},
        {PJRT_Buffer_Type_C128, "complex<f64>", DType::complex128, 16},
        // A token has no bytes; it is stored as an empty array.
        {PJRT_Buffer_Type_TOKEN, "token", DType::boolean, 1},
    };
    constexpr std::pair<PJRT_Buffer_Type, std::string_view> narrow[] = {
        {PJRT_Buffer_Type_S2, "i2"},
        {PJRT_Buffer_Type_S4, "i4"},
        {PJRT_Buffer_Type_U2, "ui2"},
        {PJRT_Buffer_Type_U4, "ui4"},
        {PJRT_Buffer_Type_F4E2M1FN, "f4E2M1FN"},
        {PJRT_Buffer_Type_F6E2M3FN, "f6E2M3FN"},
        {PJRT_Buffer_Type_F6E3M2FN, "f6E3M2FN"},
        {PJRT_Buffer_Type_F8E3M4, "f8E3M4"},
        {PJRT_Buffer_Type_F8E4M3, "f8E4M3"},
        {PJRT_Buffer_Type_F8E4M3FN, "f8E4M3FN"},
        {PJRT_Buffer_Type_F8E4M3FNUZ, "f8E4M3FNUZ"},
        {PJRT_Buffer_Type_F8E4M3B11FNUZ, "f8E4M3B11FNUZ"},
        {PJRT_Buffer_Type_F8E5M2, "f8E5M2"},
        {PJRT_Buffer_Type_F8E5M2FNUZ, "f8E5M2FNUZ"},
        {PJRT_Buffer_Type_F8E8M0FNU, "f8E8M0FNU"},
    };
    for (const auto& [type, spelling] : narrow) {
      const stablehlo::Narrow* n = stablehlo::narrow_of(spelling);
      list->push_back({type, spelling, n->carrier, 1, n});
    }
    return list;
  }();
  return *all;
}

// The numbers of a narrow float type by their code, and the codes by the bits of the number.
struct Codes {
  std::array<float, 256> number;
  std::vector<std::pair<std::uint32_t, std::uint8_t>> codes;  // sorted by bits
  std::uint8_t nan = 0;

  explicit Codes(const stablehlo::Narrow& type) {
    const int count = 1 << type.bits;
    bool has_nan = false;
    for (int c = 0; c < 256; ++c) {
      const int code = c % count;
      const auto at = static_cast<std::size_t>(c);
      number[at] =
          static_cast<float>(stablehlo::number_of_bits(static_cast<std::uint8_t>(code), type));
      if (c >= count) continue;
      if (!std::isnan(number[at])) {
        codes.emplace_back(std::bit_cast<std::uint32_t>(number[at]), code);
      } else if (!has_nan) {
        has_nan = true;
        nan = static_cast<std::uint8_t>(code);
      }
    }
    std::sort(codes.begin(), codes.end());
    // IEEE's quiet NaN has the first bit of the mantissa set.
    if (type.beyond == stablehlo::Narrow::Beyond::infinity)
      nan = static_cast<std::uint8_t>(
          ((1 << (type.bits - 1 - type.mantissa)) - 1) << type.mantissa | 1 << (type.mantissa - 1));
  }

  std::uint8_t code_of(float x) const {
    if (std::isnan(x)) return nan;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto it = std::lower_bound(codes.begin(), codes.end(), std::pair{bits, std::uint8_t{0}});
    if (it != codes.end() && it->first == bits) return it->second;
    // The type has no negative zero, and perhaps no zero at all.
    return x == 0 && bits != 0 ? code_of(0.0f) : nan;
  }
};

const Codes& codes_of(const stablehlo::Narrow& type) {
  static const auto* all = [] {
    auto* made = new std::unordered_map<const stablehlo::Narrow*, std::unique_ptr<const Codes>>;
    for (const Element& e : elements())
      if (e.narrow && e.dtype == DType::float32)
        (*made)[e.narrow] = std::make_unique<const Codes>(*e.narrow);
    return made;
  }();
  return *all->at(&type);
}

}  // namespace

const Element& element_of(PJRT_Buffer_Type type) {
  for (const Element& e : elements())
    if (e.type == type) return e;
  unimplemented("there is no element type with the number " + std::to_string(type));
}

const Element& element_of(std::string_view spelling) {
  for (const Element& e : elements())
    if (e.spelling == spelling) return e;
  unimplemented("buffers cannot have elements of the type " + std::string(spelling));
}

void store(const Element& element, const std::byte* seen, std::byte* stored, std::int64_t n) {
  if (!element.narrow) {
    if (n) std::memcpy(stored, seen, static_cast<std::size_t>(n * element.bytes));
    return;
  }
  const stablehlo::Narrow& type = *element.narrow;
  if (element.dtype == DType::float32) {
    const Codes& codes = codes_of(type);
    for (std::int64_t i = 0; i < n; ++i)
      std::memcpy(stored + i * 4, &codes.number[static_cast<std::size_t>(seen[i])], 4);
    return;
  }
  // The bits above the number's own are undefined in callers' bytes.
  const int unused = 8 - type.bits;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto high = static_cast<std::uint8_t>(static_cast<unsigned>(seen[i]) << unused);
    stored[i] = element.dtype == DType::int8
                    ? static_cast<std::byte>(static_cast<std::int8_t>(high) >> unused)
                    : static_cast<std::byte>(high >> unused);
  }
}

void show(const Element& element, const std::byte* stored, std::byte* seen, std::int64_t n) {
  if (!element.narrow || element.dtype != DType::float32) {
    if (n) std::memcpy(seen, stored, static_cast<std::size_t>(n * element.bytes));
    return;
  }
  const Codes& codes = codes_of(*element.narrow);
  for (std::int64_t i = 0; i < n; ++i) {
    float x;
    std::memcpy(&x, stored + i * 4, 4);
    seen[i] = static_cast<std::byte>(codes.code_of(x));
  }
}

Shape row_major_order(std::size_t rank) {
  Shape order;
  for (std::size_t d = rank; d-- > 0;) order.push_back(static_cast<std::int64_t>(d));
  return order;
}

bool is_permutation(const Shape& order, std::size_t rank) {
  std::vector<bool> named(rank);
  for (const std::int64_t d : order)
    if (d >= 0 && d < static_cast<std::int64_t>(rank)) named[static_cast<std::size_t>(d)] = true;
  return order.size() == rank && std::find(named.begin(), named.end(), false) == named.end();
}

Shape order_of_layout(std::string_view text, std::size_t rank) {
  Shape order;
  if (text.starts_with('{')) text.remove_prefix(1);
  // After a colon come tiling and memory spaces, which the host does not have.
  text = text.substr(0, text.find_first_of(":}"));
  for (const char *at = text.data(), *end = at + text.size(); at < end;) {
    std::int64_t d = -1;
    const auto read = std::from_chars(at, end, d);
    if (read.ptr == at) break;
    order.push_back(d);
    at = read.ptr + 1;
  }
  return is_permutation(order, rank) ? order : row_major_order(rank);
}

}  // namespace tessera::inline v0::pjrt

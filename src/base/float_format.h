// The precision and range of floating-point dtypes.
#pragma once

#include <tessera/dtype.h>

namespace tessera::inline v0 {

struct FloatFormat {
  int significand_bits = 0;  // including the implicit bit; 0 for dtypes that are not floating
  int least_exponent = 0;    // of the smallest positive normal number, a power of two
};

constexpr FloatFormat float_format(DType d) {
  switch (d) {
    case DType::float16: return {11, -14};
    case DType::bfloat16: return {8, -126};
    case DType::float32: return {24, -126};
    case DType::float64: return {53, -1022};
    case DType::boolean:
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
    case DType::complex64:
    case DType::complex128: break;
  }
  return {};
}

}  // namespace tessera::inline v0

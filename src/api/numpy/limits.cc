#include <tessera/limits.h>

#include "base/message.h"

#include <cmath>

namespace tessera::inline v0 {

namespace {
[[noreturn]] void refuse(const char* name, DType dtype, const char* rule, const char* advice,
                         const SourceLoc& loc) {
  Message(name)
      .problem("the dtype is " + std::string(name_of(dtype)))
      .rule(rule)
      .from(loc)
      .advice(advice)
      .raise<DTypeError>();
}
}  // namespace

iinfo::iinfo(DType d, std::source_location loc) : dtype(d), bits(8 * size_of(d)) {
  if (!is_integer(d))
    refuse("iinfo", d, "it is one of integers", "finfo has the limits of floats", loc);
  const bool with_sign = is_signed_integer(d);
  max = ~std::uint64_t{0} >> (64 - bits + with_sign);
  if (with_sign) min = -static_cast<std::int64_t>(max) - 1;
}

finfo::finfo(DType d, std::source_location loc) : dtype(real_dtype(d)), bits(8 * size_of(dtype)) {
  if (!is_floating(dtype))
    refuse("finfo", d, "it is one of floats", "iinfo has the limits of integers", loc);
  nmant = dtype == DType::float64   ? 52
          : dtype == DType::float32 ? 23
          : dtype == DType::float16 ? 10
                                    : 7;
  nexp = bits - nmant - 1;
  maxexp = 1 << (nexp - 1);
  minexp = 2 - maxexp;
  eps = std::ldexp(1, -nmant);
  epsneg = eps / 2;
  max = std::ldexp(2 - eps, maxexp - 1);
  min = -max;
  tiny = smallest_normal = std::ldexp(1, minexp);
  smallest_subnormal = std::ldexp(1, minexp - nmant);
  precision = static_cast<int>(nmant * std::log10(2.0));
  resolution = std::pow(10.0, -precision);
}

}  // namespace tessera::inline v0

// The limits of dtypes, as in NumPy.
#pragma once

#include <tessera/dtype.h>

#include <cstdint>
#include <source_location>

namespace tessera::inline v0 {

/// The limits of an integer dtype: iinfo(ts::i32).max. Throws DTypeError for any other dtype.
struct iinfo {
  TESSERA_API explicit iinfo(DType dtype,
                             std::source_location loc = std::source_location::current());
  DType dtype;
  int bits = 0;
  std::int64_t min = 0;
  std::uint64_t max = 0;
};

/// The limits and precision of a floating dtype, or of the parts of a complex one:
/// finfo(ts::f32).eps. `eps` is the distance from 1 to the next larger number, `epsneg` to the next
/// smaller one; `tiny` is the least normal number. Throws DTypeError for an integer dtype.
struct finfo {
  TESSERA_API explicit finfo(DType dtype,
                             std::source_location loc = std::source_location::current());
  DType dtype;
  int bits = 0, nmant = 0, nexp = 0, maxexp = 0, minexp = 0, precision = 0;
  double eps = 0, epsneg = 0, max = 0, min = 0, tiny = 0, smallest_normal = 0,
         smallest_subnormal = 0, resolution = 0;
};

}  // namespace tessera::inline v0

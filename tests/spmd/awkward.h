// Numbers that are difficult to sort, and bitwise comparison.
#pragma once

#include "partition_check.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace partitioning {

inline const std::vector<DType> kSortedDTypes = {
    DType::boolean,  DType::int8,    DType::int16,   DType::int32,     DType::int64,
    DType::uint8,    DType::uint16,  DType::uint32,  DType::uint64,    DType::float16,
    DType::bfloat16, DType::float32, DType::float64, DType::complex64, DType::complex128};

// Few different values, so that there are ties: the least and greatest numbers, zeros of both
// signs, and two kinds of NaN, so that bits tell equal elements apart.
inline HostArray awkward(const Type& type, std::uint32_t seed) {
  std::mt19937 rng(seed);
  HostArray a(type.dtype, type.shape);
  dispatch(type.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < a.count(); ++i) {
      const std::uint32_t draw = rng() % 12;
      T& x = a.data<T>()[i];
      if constexpr (std::is_integral_v<T>) {
        x = draw == 0   ? std::numeric_limits<T>::max()
            : draw == 1 ? std::numeric_limits<T>::min()
                        : static_cast<T>(draw % 5);
      } else {
        const double inf = HUGE_VAL, nan = std::nan("");
        const double values[] = {0, -0.0, nan, -nan, inf, -inf, 1, 2, -1, 3, 0, -0.0};
        if constexpr (is_complex_v<T>)
          x = T(static_cast<typename T::value_type>(values[draw]),
                static_cast<typename T::value_type>(values[rng() % 12]));
        else
          x = static_cast<T>(static_cast<float>(values[draw]));
      }
    }
  });
  return a;
}

inline void expect_bits(const std::vector<HostArray>& got, const std::vector<HostArray>& want,
                        const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].shape, want[k].shape) << what;
    const auto size = static_cast<std::size_t>(size_of(got[k].dtype));
    for (std::int64_t i = 0; i < got[k].count(); ++i)
      ASSERT_EQ(std::memcmp(got[k].bytes + static_cast<std::size_t>(i) * size,
                            want[k].bytes + static_cast<std::size_t>(i) * size, size),
                0)
          << what << ", result " << k << ", element " << i;
  }
}

inline void expect_bits(const Case& c, const Partitioned& p, const std::vector<HostArray>& inputs) {
  const std::vector<HostArray> want = evaluate(*c.program, inputs);
  enough_devices();
  expect_bits(evaluate(*p.program, inputs), want, "evaluated");
  expect_bits(tessera::testing::run_compiled(p.program, inputs), want, "compiled");
}

}  // namespace partitioning

// The position of an extremum, computed by two reductions, agrees with the op's own evaluator.
#include "transform/helpers.h"
#include "transform/simplify.h"

#include <cmath>
#include <limits>
#include <random>

namespace tessera::testing {
namespace {

// Few different values, so that there are ties; and rows with NaN, which is the first element of
// one.
HostArray ties(DType dtype, const Shape& shape, bool nans) {
  HostArray x(dtype, shape);
  std::mt19937 rng(7);
  dispatch_real(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_same_v<T, bool>)
      for (std::int64_t i = 0; i < shape.count(); ++i) {
        x.data<T>()[i] = T(static_cast<float>(static_cast<int>(rng() % 9) - (nans ? 4 : 0)));
        if (nans && is_floating(dtype) && rng() % 150 == 0)
          x.data<T>()[i] = T(std::numeric_limits<float>::quiet_NaN());
      }
  });
  return x;
}

TEST(ArgExtremum, TwoReductionsFindTheFirst) {
  for (DType dtype : {f32, f64, bf16, f16, i32, i64, DType::uint8, i16})
    for (bool max : {true, false})
      for (int axis : {0, 1})
        for (bool nans : {false, true}) {
          if (nans && dtype == DType::uint8) continue;
          Shape shape{70, 90};
          ProgramPtr p = trace({Type(dtype, shape)}, [&](Builder&, const Values& in) {
            return Values{max ? ops::argmax(in[0], axis, i32) : ops::argmin(in[0], axis, i32)};
          });
          ProgramPtr q = simplify(p);
          ASSERT_EQ(count_ops(*q, max ? "argmax" : "argmin"), 0u);
          HostArray x = ties(dtype, shape, nans);
          HostArray expected = evaluate(*p, {{x}})[0], found = evaluate(*q, {{x}})[0];
          for (std::int64_t i = 0; i < found.shape.count(); ++i)
            ASSERT_EQ(found.data<std::int32_t>()[i], expected.data<std::int32_t>()[i])
                << name_of(dtype) << (max ? " max" : " min") << " along " << axis << " at " << i;
        }
}

TEST(ArgExtremum, FewElementsStayOneSearch) {
  ProgramPtr p = trace({Type(f32, {90, 10})}, [](Builder&, const Values& in) {
    return Values{ops::argmax(in[0], 1, i32)};
  });
  EXPECT_EQ(count_ops(*simplify(p), "argmax"), 1u);
}

}  // namespace
}  // namespace tessera::testing

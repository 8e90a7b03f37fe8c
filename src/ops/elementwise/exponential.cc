// exp, exp2, expm1, log, log1p, logistic.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"

#include <cmath>
#include <numbers>

namespace tessera::inline v0::ops {

Value exp(Value x) { return x.builder->emit1("exp", {x}); }
Value exp2(Value x) { return x.builder->emit1("exp2", {x}); }
Value expm1(Value x) { return x.builder->emit1("expm1", {x}); }
Value log(Value x) { return x.builder->emit1("log", {x}); }
Value log1p(Value x) { return x.builder->emit1("log1p", {x}); }
Value logistic(Value x) { return x.builder->emit1("logistic", {x}); }

void register_exponential(Registry& r) {
  Op exp = smooth_op(
      Arith::exp, "exp", "exponential", "e to the power x.", -2, 2,
      [](auto x) { return std::exp(x); }, [](Value, Value y) { return y; });
  Op exp2 = smooth_op(
      Arith::exp2, "exp2", "", "2 to the power x.", -2, 2, [](auto x) { return std::exp2(x); },
      [](Value, Value y) { return mul(y, like(y, std::numbers::ln2)); });
  exp2.waived["stablehlo"] = "exported as exponential of x log 2";
  Op expm1 = smooth_op(
      Arith::expm1, "expm1", "exponential_minus_one", "exp(x) - 1, accurate near 0.", -2, 2,
      [](auto x) { return std::expm1(x); }, [](Value, Value y) { return add(y, like(y, 1)); });
  Op log = smooth_op(
      Arith::log, "log", "log", "The natural logarithm of x; NaN below 0, -inf at 0.", 0.5, 2,
      [](auto x) { return std::log(x); }, [](Value x, Value) { return div(like(x, 1), x); });
  Op log1p = smooth_op(
      Arith::log1p, "log1p", "log_plus_one", "log(1 + x), accurate near 0.", -0.5, 2,
      [](auto x) { return std::log1p(x); },
      [](Value x, Value) { return div(like(x, 1), add(x, like(x, 1))); });
  Op logistic = smooth_op(
      Arith::logistic, "logistic", "logistic", "1 / (1 + exp(-x)).", -2, 2,
      [](auto x) {
        auto e = std::exp(-std::fabs(x));
        return (x < 0 ? e : 1) / (1 + e);  // exp(-x) would overflow
      },
      [](Value, Value y) { return mul(y, sub(like(y, 1), y)); });
  add_all(r, exp, exp2, expm1, log, log1p, logistic);
}

}  // namespace tessera::inline v0::ops

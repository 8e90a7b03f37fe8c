#include "api/linalg/pseudo_inverse.h"

#include "api/trace/composite.h"
#include "ir/custom.h"
#include "ops/build.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"

#include <map>
#include <memory>
#include <mutex>

namespace tessera::inline v0::linalg {

Value inverse_above(Value s, double tolerance) {
  const int last = s.rank() - 1;
  if (s.shape()[static_cast<std::size_t>(last)] == 0) return s;
  Shape one = s.shape();
  one[one.size() - 1] = 1;
  const Value most =
      tessera::detail::broadcast_to(ops::reshape(ops::reduce_max(s, {last}), one), s.shape());
  const Value large = ops::gt(s, ops::mul(most, ops::full_like(s, tolerance)));
  const Value safe = ops::select(large, s, ops::full_like(s, 1));
  const Value nan = ops::add(s, ops::neg(s));  // 0, or NaN if s is NaN
  return ops::select(large, ops::div(ops::full_like(s, 1), safe), nan);
}

namespace {

// V diag(1 / s) U^H b
Value pseudo_solve(Value a, Value b, double tolerance) {
  const Values svd = ops::svd(a, true, false);
  const Value inverse = inverse_above(svd[0], tolerance);
  const Value seen = ops::matmul(ops::adjoint(svd[1]), b);
  const Value scaled =
      ops::mul(seen, ops::in_dtype(ops::along_rows(inverse, seen.shape()), seen.dtype()));
  return ops::matmul(ops::adjoint(svd[2]), scaled);
}

Value inverse_of(Value x, double tolerance, bool hermitian) {
  if (!hermitian) {
    const std::int64_t rows = ops::rows_of(x.shape());
    const Shape square = ops::with_matrix(x.shape(), rows, rows);
    return pseudo_solve(x, ops::identity_like(*x.builder, x.dtype(), square), tolerance);
  }
  const Values f = ops::eigh(x, true);
  const Value w = f[0], inverse = inverse_above(ops::abs(w), tolerance);
  const Value scaled = ops::mul(
      f[1],
      ops::in_dtype(ops::along_columns(ops::mul(ops::sign(w), inverse), f[1].shape()), x.dtype()));
  return ops::matmul(scaled, ops::adjoint(f[1]));
}

Value sum(Value x, Value y) { return x.builder->emit1("add", {x, y}); }

// The derivative of x = P b for a tangent `da` of the matrix A that P pseudo-inverts; `rest` is b -
// A x.
Value turned(Value a, Value p, Value x, Value rest, Value da) {
  const Value ph = ops::adjoint(p), dah = ops::adjoint(da);
  const Value inside = ops::matmul(p, ops::matmul(da, x));
  const Value outside = ops::matmul(p, ops::matmul(ph, ops::matmul(dah, rest)));
  const Value moved = ops::matmul(dah, ops::matmul(ph, x));
  const Value beside = ops::sub(moved, ops::matmul(p, ops::matmul(a, moved)));
  return sum(ops::sub(outside, inside), beside);
}

// There is one rule object per tolerance, so that equal programs compare equal.
template <class Rule>
HookPtr rule_for(double tolerance, bool hermitian) {
  static std::mutex& mutex = *new std::mutex;
  static auto& rules = *new std::map<std::pair<double, bool>, HookPtr>;
  const std::scoped_lock lock(mutex);
  HookPtr& rule = rules[{tolerance, hermitian}];
  if (!rule) rule = std::make_shared<Rule>(tolerance, hermitian);
  return rule;
}

struct InverseRule final : CustomJvpRule {
  InverseRule(double tolerance, bool hermitian) : tolerance(tolerance), hermitian(hermitian) {}
  double tolerance;
  bool hermitian;
  std::string name() const override { return "pinv"; }
  ProgramPtr rule(const std::vector<Type>& inputs, const std::vector<bool>&) const override {
    Builder b("pinv");
    const Value a = b.input(inputs[0]), da = b.input(inputs[0]);
    const Value p = pseudo_inverse(a, tolerance, hermitian), ap = ops::matmul(a, p);
    const Value rest = ops::sub(ops::identity_like(b, ap.dtype(), ap.shape()), ap);
    return b.finish(Values{p, turned(a, p, p, rest, da)});
  }
};

struct LeastSquaresRule final : CustomJvpRule {
  LeastSquaresRule(double tolerance, bool) : tolerance(tolerance) {}
  double tolerance;
  std::string name() const override { return "lstsq"; }
  ProgramPtr rule(const std::vector<Type>& inputs,
                  const std::vector<bool>& nonzero) const override {
    Builder builder("lstsq");
    const Value a = builder.input(inputs[0]), b = builder.input(inputs[1]);
    const Value x = least_squares(a, b, tolerance), p = pseudo_inverse(a, tolerance, false);
    MaybeValue dx;
    if (nonzero[0]) {
      const Value da = builder.input(inputs[0]);
      dx = turned(a, p, x, ops::sub(b, ops::matmul(a, x)), da);
    }
    if (nonzero[1]) {
      const Value db = ops::matmul(p, builder.input(inputs[1]));
      dx = dx ? sum(*dx, db) : db;
    }
    return builder.finish(Values{x, *dx});
  }
};

}  // namespace

Value pseudo_inverse(Value a, double tolerance, bool hermitian) {
  Builder b("pinv");
  const Values out{inverse_of(b.input(a.type()), tolerance, hermitian)};
  return ops::custom_jvp_call(*a.builder, b.finish(out), std::array{a},
                              rule_for<InverseRule>(tolerance, hermitian))[0];
}

Value least_squares(Value a, Value b, double tolerance) {
  Builder inner("lstsq");
  const Value matrix = inner.input(a.type()), side = inner.input(b.type());
  const Values out{pseudo_solve(matrix, side, tolerance)};
  return ops::custom_jvp_call(*a.builder, inner.finish(out), std::array{a, b},
                              rule_for<LeastSquaresRule>(tolerance, false))[0];
}

}  // namespace tessera::inline v0::linalg

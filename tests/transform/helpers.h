// Small programs written as lambdas, run on the evaluator, and derivatives checked against
// differences.
#pragma once

#include "ir/host_array.h"
#include "ir/interpret.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ops/build.h"
#include "transform/autodiff.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace tessera::testing {

namespace ops = tessera::ops;
using Doubles = std::vector<double>;
using Function = std::function<Values(Builder&, const Values&)>;

inline const Type kScalar(f64, {});
inline Type vec(std::int64_t n) { return Type(f64, {n}); }

inline ProgramPtr trace(const std::vector<Type>& types, const Function& f,
                        const std::string& name = "f") {
  Builder b(name);
  Values in;
  for (const Type& t : types) in.push_back(b.input(t));
  return b.finish(f(b, in));
}

inline HostArray array(const Type& type, const Doubles& values) {
  HostArray a(type.dtype, type.shape);
  EXPECT_EQ(static_cast<std::size_t>(a.count()), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    dispatch(type.dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
        a.data<T>()[i] = T(static_cast<float>(values[i]));
      else
        a.data<T>()[i] = static_cast<T>(values[i]);
    });
  return a;
}

inline Doubles numbers(const HostArray& a) {
  Doubles v;
  for (std::int64_t i = 0; i < a.count(); ++i) v.push_back(a.number(i));
  return v;
}

/// Runs `p` on flat numbers, after verifying it.
inline std::vector<Doubles> run(const Program& p, const std::vector<Doubles>& inputs) {
  verify(p, "test");
  EXPECT_EQ(p.inputs.size(), inputs.size());
  std::vector<HostArray> in;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    in.push_back(array(p.types[p.inputs[i]], inputs[i]));
  std::vector<Doubles> out;
  for (const HostArray& a : evaluate(p, in)) out.push_back(numbers(a));
  return out;
}
inline std::vector<Doubles> run(const ProgramPtr& p, const std::vector<Doubles>& inputs) {
  return run(*p, inputs);
}

/// x / (1 + x^2) is smooth and bounded, and consists of operations that IEEE defines exactly.
inline Value bend(Value x) { return ops::div(x, ops::add(ops::full_like(x, 1), ops::mul(x, x))); }
inline double bend(double x) { return x / (1 + x * x); }

/// The gradient of the sum of a program's first output with respect to its floating inputs, as a
/// program of the same inputs.
inline ProgramPtr grad_program(const ProgramPtr& p) {
  std::vector<bool> wrt;
  for (Var v : p->inputs) wrt.push_back(is_floating(p->types[v].dtype));
  ProgramPtr vjp = vjp_program(*p, wrt);
  Builder b("grad");
  Values in;
  for (Var v : p->inputs) in.push_back(b.input(p->types[v]));
  bool first = true;
  for (Var v : p->outputs) {
    if (!is_floating(p->types[v].dtype)) continue;
    in.push_back(ops::full(b, p->types[v].dtype, p->types[v].shape, first ? 1.0 : 0.0));
    first = false;
  }
  Values out = b.inline_program(*vjp, in);
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(p->outputs.size()));
  return b.finish_pruned(out);
}

inline Doubles random_numbers(std::mt19937& rng, std::int64_t n, double lo = -1, double hi = 1) {
  std::uniform_real_distribution<double> d(lo, hi);
  Doubles v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(d(rng));
  return v;
}
inline std::vector<Doubles> random_inputs(std::mt19937& rng, const Program& p, double lo = -1,
                                          double hi = 1) {
  std::vector<Doubles> in;
  for (Var v : p.inputs) in.push_back(random_numbers(rng, p.types[v].shape.count(), lo, hi));
  return in;
}

inline double dot(const Doubles& a, const Doubles& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) s += a[i] * b[i];
  return s;
}

/// Checks the derivative of `p` (all inputs floating f64) at `at` in a random direction: the jvp
/// against central differences, and <J v, w> against <v, J^T w>. With step h the difference has an
/// error of h^2 |f'''|/6 and eps |f|/h: at h = 1e-5 and values near one both stay below 1e-9; the
/// tolerance leaves a factor of a hundred for programs of some depth.
inline void check_derivatives(const ProgramPtr& p, const std::vector<Doubles>& at,
                              std::uint32_t seed = 1) {
  std::mt19937 rng(seed);
  std::size_t n = p->inputs.size(), m = p->outputs.size();
  std::vector<Doubles> v, w;
  for (const Doubles& x : at) v.push_back(random_numbers(rng, static_cast<std::int64_t>(x.size())));
  for (Var o : p->outputs) w.push_back(random_numbers(rng, p->types[o].shape.count()));

  JvpProgram jvp = jvp_program(*p, std::vector<bool>(n, true), std::vector<bool>(m, true));
  std::vector<Doubles> in = at;
  in.insert(in.end(), v.begin(), v.end());
  std::vector<Doubles> jv = run(jvp.program, in);
  std::vector<Doubles> value = run(p, at);

  const double h = 1e-5;
  std::vector<Doubles> up = at, down = at;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < at[i].size(); ++k) {
      up[i][k] += h * v[i][k];
      down[i][k] -= h * v[i][k];
    }
  std::vector<Doubles> fu = run(p, up), fd = run(p, down);
  for (std::size_t o = 0; o < m; ++o) {
    EXPECT_EQ(jv[o], value[o]) << "primal output " << o;
    for (std::size_t k = 0; k < fu[o].size(); ++k) {
      double difference = (fu[o][k] - fd[o][k]) / (2 * h);
      EXPECT_NEAR(jv[m + o][k], difference, 1e-7 * (1 + std::abs(difference)))
          << "output " << o << " element " << k;
    }
  }

  ProgramPtr vjp = vjp_program(*p, std::vector<bool>(n, true));
  in = at;
  in.insert(in.end(), w.begin(), w.end());
  std::vector<Doubles> jtw = run(vjp, in);
  double left = 0, right = 0;
  for (std::size_t o = 0; o < m; ++o) {
    EXPECT_EQ(jtw[o], value[o]) << "vjp's primal output " << o;
    left += dot(jv[m + o], w[o]);
  }
  for (std::size_t i = 0; i < n; ++i) right += dot(v[i], jtw[m + i]);
  // Both sides are the same sum in different orders, with a few hundred rounding errors of numbers
  // near one.
  EXPECT_NEAR(left, right, 1e-11 * (1 + std::abs(left)));
}

/// Checks the derivatives of the gradient as well, and those of the gradient's gradient.
inline void check_to_second_order(const ProgramPtr& p, const std::vector<Doubles>& at) {
  check_derivatives(p, at, 1);
  check_derivatives(grad_program(p), at, 2);
}

/// Compares `p`, mapped over a stack along dimension 0 of the inputs in `mapped`, with a loop,
/// exactly.
inline void check_vmap(const ProgramPtr& p, const std::vector<bool>& mapped, std::int64_t size,
                       std::uint32_t seed = 3, bool integers = false) {
  std::mt19937 rng(seed);
  std::vector<int> dims;
  for (bool m : mapped) dims.push_back(m ? 0 : kUnbatched);
  BatchProgram batched =
      batch_program(*p, dims, size, "", std::vector<bool>(p->outputs.size(), true));
  std::vector<Doubles> stacked;
  for (Var v : batched.program->inputs) {
    stacked.push_back(random_numbers(rng, batched.program->types[v].shape.count(),
                                     integers ? -3 : -1, integers ? 3 : 1));
    if (integers || !is_floating(batched.program->types[v].dtype))
      for (double& d : stacked.back()) d = std::floor(d * 2);
  }
  std::vector<Doubles> got = run(batched.program, stacked);
  for (std::int64_t lane = 0; lane < size; ++lane) {
    std::vector<Doubles> one;
    for (std::size_t i = 0; i < stacked.size(); ++i) {
      std::int64_t n = p->types[p->inputs[i]].shape.count();
      one.push_back(
          mapped[i] ? Doubles(stacked[i].begin() + lane * n, stacked[i].begin() + (lane + 1) * n)
                    : stacked[i]);
    }
    std::vector<Doubles> want = run(p, one);
    for (std::size_t o = 0; o < want.size(); ++o) {
      std::int64_t n = static_cast<std::int64_t>(want[o].size());
      EXPECT_EQ(Doubles(got[o].begin() + lane * n, got[o].begin() + (lane + 1) * n), want[o])
          << "lane " << lane << " output " << o;
    }
  }
}

inline std::size_t count_ops(const Program& p, const std::string& op) {
  std::size_t n = 0;
  for (const Equation& e : p.equations) {
    n += e.op->name == op ? 1 : 0;
    for_each_nested(e.attrs, [&](const ProgramPtr& q) { n += count_ops(*q, op); });
  }
  return n;
}

}  // namespace tessera::testing

// For every op, over its examples in double precision, these tests compare derivatives of first and
// second order with finite differences, forward with reverse mode, vmap with a loop, and
// compositions of these.
#include "ir/host_array.h"
#include "ir/interpret.h"
#include "ops/registry_values.h"
#include "ops/registry_walk.h"
#include "transform/autodiff.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace tessera;
using namespace walk;

namespace {

Arrays draw_directions(const std::vector<Type>& types, Random& random) {
  Arrays v;
  for (const Type& t : types)
    if (is_inexact(t.dtype)) v.push_back(draw(t, random, -1, 1, 0, 0));
  return v;
}
std::vector<bool> floating(const std::vector<Type>& types) {
  std::vector<bool> f;
  for (const Type& t : types) f.push_back(is_inexact(t.dtype));
  return f;
}

// For complex numbers this is the real part of the sum of products, because cotangents are not
// conjugated.
double dot(const HostArray& u, const HostArray& v) {
  const HostArray a = parts::of(u), b = parts::of(v);
  double s = 0;
  for (std::int64_t i = 0; i < a.count(); ++i)
    s += (is_complex(u.dtype) && i % 2 ? -1 : 1) * a.number(i) * b.number(i);
  return s;
}
Arrays joined(Arrays a, const Arrays& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// --- derivatives

// (f(x + h v) - f(x - h v)) / 2h for each floating output.
Arrays differences(const Program& p, const Arrays& x, const Arrays& v, double h) {
  auto moved = [&](double step) {
    Arrays y = x;
    std::size_t k = 0;
    for (HostArray& a : y) {
      if (!is_inexact(a.dtype)) continue;
      const HostArray from = parts::of(a), along = parts::of(v.at(k));
      HostArray b(a.dtype, a.shape);
      for (std::int64_t i = 0; i < from.count(); ++i)
        b.data<double>()[i] = from.number(i) + step * along.number(i);
      a = b;
      ++k;
    }
    return run(p, y);
  };
  Arrays up = moved(h), down = moved(-h), d;
  for (std::size_t i = 0; i < up.size(); ++i) {
    if (!is_inexact(up[i].dtype)) continue;
    d.emplace_back(up[i].dtype, up[i].shape);
    const HostArray more = parts::of(up[i]), less = parts::of(down[i]);
    for (std::int64_t j = 0; j < more.count(); ++j) {
      double a = more.number(j), b = less.number(j);
      d.back().data<double>()[j] =
          a == b ? 0 : (a - b) / (2 * h);  // the extremum of no elements is infinite
    }
  }
  return d;
}

bool has_derivative(const Program& p) {
  auto some = [](const std::vector<bool>& f) {
    return std::find(f.begin(), f.end(), true) != f.end();
  };
  return some(floating(p.input_types())) && some(floating(p.output_types()));
}
// A loop of unknown length has no reverse mode.
ProgramPtr vjp_or_none(const Program& p) {
  try {
    return vjp_program(p, floating(p.input_types()));
  } catch (const TraceError&) {
    return nullptr;
  }
}
bool has_forward_mode(const Program& p) {
  try {
    require_forward_mode(p);
  } catch (const TraceError&) {
    return false;
  }
  return true;
}

// The error of a central difference is h^2 |f'''| / 6 + eps |f| / h. At h = 1e-5 and functions
// whose values and derivatives stay within 1e3 of each other that is at most 2e-8 of the scale; a
// wrong rule is off by the scale.
void check_derivatives(const Program& p, const Arrays& x, Random& random, bool numeric) {
  std::vector<Type> in = p.input_types(), out = p.output_types();
  Arrays v = draw_directions(in, random), w = draw_directions(out, random);
  if (v.empty() || w.empty()) return;
  Arrays expected = differences(p, x, v, 1e-5);
  double scale = 1 + largest(run(p, x)) + largest(expected), forward = 0;

  JvpProgram jvp = jvp_program(p, floating(in), floating(out));
  bool has_forward = has_forward_mode(*jvp.program);
  if (has_forward) {
    Arrays jv = run(*jvp.program, joined(x, v));
    jv.erase(jv.begin(), jv.begin() + static_cast<std::ptrdiff_t>(out.size()));
    ASSERT_EQ(jv.size(), w.size());
    for (std::size_t k = 0; k < jv.size(); ++k) {
      forward += dot(jv[k], w[k]);
      scale += largest({jv[k]});
      const HostArray got = parts::of(jv[k]), want = parts::of(expected[k]);
      for (std::int64_t i = 0; numeric && i < got.count(); ++i)
        ASSERT_NEAR(got.number(i), want.number(i), 1e-6 * scale)
            << "jvp, output " << k << ", element " << i << "\n"
            << to_string(p) << to_string(*jvp.program);
    }
  } else {
    for (std::size_t k = 0; k < w.size(); ++k) forward += dot(expected[k], w[k]);
  }

  ProgramPtr vjp = vjp_or_none(p);
  ASSERT_TRUE(vjp || has_forward) << "no derivative in either mode";
  if (!vjp) return;
  Arrays back = run(*vjp, joined(x, w));
  double reverse = 0, terms = 1;
  for (std::size_t k = 0; k < v.size(); ++k) {
    reverse += dot(v[k], back.at(out.size() + k));
    terms += static_cast<double>(v[k].count()) * largest({back[out.size() + k]});
  }
  if (has_forward || numeric) {
    ASSERT_NEAR(forward, reverse, (has_forward ? 1e-12 : 1e-6) * (terms + scale))
        << "forward against reverse mode\n"
        << to_string(p) << to_string(*vjp);
  }
}

// --- batching

HostArray entry(const HostArray& a, int dim, std::int64_t k) {
  if (dim < 0) return a;
  Shape shape = a.shape, strides = shape.strides();
  shape.erase(shape.begin() + dim);
  HostArray out(a.dtype, shape);
  auto n = static_cast<std::size_t>(size_of(a.dtype));
  std::byte* to = out.bytes;
  for_each_index(shape, [&](Shape index) {
    index.insert(index.begin() + dim, k);
    std::copy_n(a.bytes + static_cast<std::size_t>(flat_index(index, strides)) * n, n, to);
    to += n;
  });
  return out;
}

// Rules may reassociate sums when they use a larger op, so floats agree up to rounding.
void check_batch(const Program& p, const std::vector<int>& dims, const Arrays& stacked,
                 std::int64_t size) {
  BatchProgram batched =
      batch_program(p, dims, size, "", std::vector<bool>(p.outputs.size(), true));
  Arrays all = run(*batched.program, stacked);
  for (std::int64_t k = 0; k < size; ++k) {
    Arrays one;
    for (std::size_t i = 0; i < stacked.size(); ++i) one.push_back(entry(stacked[i], dims[i], k));
    Arrays expected = run(p, one);
    double tolerance = 1e-12 * (1 + largest(expected));
    for (std::size_t o = 0; o < expected.size(); ++o) {
      HostArray got = entry(all.at(o), 0, k);
      ASSERT_EQ(got.shape, expected[o].shape) << to_string(p) << to_string(*batched.program);
      ASSERT_EQ(got.dtype, expected[o].dtype);
      for (std::int64_t i = 0; i < got.count(); ++i) {
        double a = got.number(i), b = expected[o].number(i);
        ASSERT_TRUE(a == b || std::fabs(a - b) <= tolerance || (std::isnan(a) && std::isnan(b)))
            << a << " is not " << b << ": output " << o << ", element " << i << " of entry " << k
            << "\n"
            << to_string(p) << to_string(*batched.program);
      }
    }
  }
}

}  // namespace

class RegistryDerivatives : public testing::TestWithParam<std::string> {
 protected:
  const Op& op = Registry::get().at(GetParam());
  Random random{7};
  static constexpr std::int64_t kSize = 3;

  Arrays draw_inputs(const OpExample& e, const std::vector<int>& dims = {}) {
    Arrays x;
    for (std::size_t i = 0; i < e.inputs.size(); ++i) {
      x.push_back(draw_operand(e, i, widened(e.inputs[i]), random, dims.empty() ? -1 : dims[i]));
    }
    return x;
  }

  // Calls f(example, program) for the examples that can run in double precision.
  template <class F>
  void each_example(F f) {
    static const std::map<std::string, std::string> exempt = {
        {"bitcast_convert",
         "its result has the operand's width, so its examples have no double counterpart"},
        {"custom_vjp_tangent", "it is transposed, never run"},
        {"pvary", "its transpose is a sum over devices"},
        {"reduce_precision", "its derivative is rounded too, and so no linear map"}};
    if (auto it = exempt.find(op.name); it != exempt.end()) GTEST_SKIP() << it->second;
    if (!op.evaluate) GTEST_SKIP() << "it has no evaluator";
    if (op.waived.contains("jvp")) GTEST_SKIP() << "it has no derivative";
    for (const OpExample& e : op.examples()) {
      std::vector<Type> types;
      for (const Type& t : e.inputs) types.push_back(widened(t));
      ProgramPtr p = walk::program_of(op, {types, widened(e.attrs)});
      SCOPED_TRACE(to_string(*p));
      f(e, *p);
      if (HasFatalFailure()) return;
    }
  }

  // The ways to stack operands: all along the first dimension, all along the last, and each operand
  // alone.
  static std::vector<std::vector<int>> stackings(const OpExample& e) {
    std::vector<int> front, back;
    for (const Type& t : e.inputs) front.push_back(0), back.push_back(t.shape.rank());
    std::vector<std::vector<int>> all = {front, back};
    for (std::size_t i = 0; e.inputs.size() > 1 && i < e.inputs.size(); ++i) {
      std::vector<int> alone(e.inputs.size(), kUnbatched);
      alone[i] = e.inputs[i].shape.rank() / 2;
      all.push_back(alone);
    }
    return all;
  }
};

TEST_P(RegistryDerivatives, FirstOrder) {
  each_example([&](const OpExample& e, const Program& p) {
    check_derivatives(p, draw_inputs(e), random, e.no_numeric_derivative.empty());
  });
}

// Differentiates the vjp in forward and in reverse mode.
TEST_P(RegistryDerivatives, SecondOrder) {
  each_example([&](const OpExample& e, const Program& p) {
    Arrays w = draw_directions(p.output_types(), random);
    if (ProgramPtr vjp = has_derivative(p) ? vjp_or_none(p) : nullptr)
      check_derivatives(*vjp, joined(draw_inputs(e), w), random, e.no_numeric_derivative.empty());
  });
}

TEST_P(RegistryDerivatives, VmapIsALoop) {
  each_example([&](const OpExample& e, const Program& p) {
    if (e.inputs.empty() || !op.batch) return;
    for (const std::vector<int>& dims : stackings(e)) {
      check_batch(p, dims, draw_inputs(e, dims), kSize);
      if (HasFatalFailure()) return;
    }
  });
}

TEST_P(RegistryDerivatives, VmapOfGradIsALoopAndGradOfVmapIsRight) {
  each_example([&](const OpExample& e, const Program& p) {
    Arrays w = draw_directions(p.output_types(), random);
    if (!op.batch || !has_derivative(p)) return;
    ProgramPtr vjp = vjp_or_none(p);
    for (std::vector<int> dims : stackings(e)) {
      Arrays x = draw_inputs(e, dims);
      BatchProgram batched =
          batch_program(p, dims, kSize, "", std::vector<bool>(p.outputs.size(), true));
      check_derivatives(*batched.program, x, random, e.no_numeric_derivative.empty());
      if (HasFatalFailure()) return;
      if (!vjp) continue;
      for (const HostArray& a : w) {
        Shape shape = a.shape;
        shape.insert(shape.begin(), kSize);
        x.push_back(draw(Type(a.dtype, shape), random, -1, 1, 0, 0));
        dims.push_back(0);
      }
      check_batch(*vjp, dims, x, kSize);
      if (HasFatalFailure()) return;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ops, RegistryDerivatives, testing::ValuesIn(walk::op_names()),
                         walk::test_name);

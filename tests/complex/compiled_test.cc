// Compiled programs of complex numbers give the evaluators' results, equation by equation: vectors
// with remainders, strides, gathers, reductions, contractions, and loops over parts.
#include "codegen/run.h"
#include "ops/build.h"

#include <gtest/gtest.h>

namespace {

using namespace tessera;

HostArray drawn(DType d, const Shape& shape, int seed) {
  std::mt19937_64 rng(static_cast<std::uint64_t>(seed));
  return run::random_array(Type(d, shape), rng, -2, 2);
}

template <class F>
void check(const std::vector<Type>& types, F body, double tolerance = 0) {
  Builder b("complex");
  Values in;
  std::vector<HostArray> arrays;
  for (const Type& t : types) {
    in.push_back(b.input(t));
    arrays.push_back(drawn(t.dtype, t.shape, 3 + static_cast<int>(in.size())));
  }
  const Value out = body(in);
  run::check(b.finish(Values{out}), arrays, tolerance);
}

TEST(ComplexCompiled, Elementwise) {
  for (DType d : {c64, c128})
    for (std::int64_t n : {1, 3, 8, 37, 1000}) {
      SCOPED_TRACE(std::string(name_of(d)) + " " + std::to_string(n));
      const Type t(d, {n});
      check({t, t},
            [](const Values& x) { return ops::add(ops::mul(x[0], x[1]), ops::div(x[0], x[1])); });
      check({t, t}, [](const Values& x) { return ops::sub(ops::conj(x[0]), ops::neg(x[1])); });
      check({t}, [](const Values& x) { return ops::sign(x[0]); });
      check({t}, [](const Values& x) { return ops::abs(x[0]); });
      check({t, t}, [](const Values& x) {
        return ops::eq(x[0], ops::select(ops::ne(x[0], x[1]), x[0], x[1]));
      });
      check({t, t}, [](const Values& x) { return ops::pow(x[0], ops::exp(x[1])); });
      check({t}, [](const Values& x) { return ops::complex(ops::imag(x[0]), ops::real(x[0])); });
      check({t}, [](const Values& x) { return ops::is_finite(ops::log(ops::sub(x[0], x[0]))); });
    }
}

TEST(ComplexCompiled, Movement) {
  for (DType d : {c64, c128}) {
    const Type t(d, {6, 20});
    check({t}, [](const Values& x) {
      return ops::mul(ops::transpose(x[0], {1, 0}), ops::transpose(x[0], {1, 0}));
    });
    check({t}, [](const Values& x) { return ops::neg(ops::reverse(x[0], {1})); });
    check({t}, [](const Values& x) { return ops::neg(ops::slice(x[0], {1, 2}, {6, 19}, {2, 3})); });
    check({t}, [](const Values& x) {
      return ops::pad(ops::neg(x[0]), ops::scalar(*x[0].builder, x[0].dtype(), 2), {1, 0}, {0, 3},
                      {0, 1});
    });
    check({t}, [](const Values& x) {
      return ops::add(x[0], ops::iota(*x[0].builder, x[0].dtype(), x[0].shape(), 1));
    });
    check({t}, [](const Values& x) {
      return ops::broadcast_in_dim(ops::neg(x[0]), {6, 5, 20}, {0, 2});
    });
  }
}

TEST(ComplexCompiled, Reductions) {
  for (DType d : {c64, c128})
    for (std::int64_t n : {3, 64, 1003}) {
      SCOPED_TRACE(std::string(name_of(d)) + " " + std::to_string(n));
      const Type t(d, {5, n});
      const double tolerance = d == c64 ? 1 << 12 : 1 << 14;  // parts may cancel
      for (Ints axes : {Ints{1}, Ints{0}, Ints{0, 1}})
        check(
            {t}, [&](const Values& x) { return ops::reduce_sum(x[0], axes); }, tolerance);
      check(
          {t}, [&](const Values& x) { return ops::reduce_prod(ops::sign(x[0]), {0}); }, tolerance);
    }
}

TEST(ComplexCompiled, Contractions) {
  for (DType d : {c64, c128}) {
    const double tolerance = 1 << 10;
    check(
        {Type(d, {7, 33}), Type(d, {33, 9})},
        [](const Values& x) {
          return ops::dot_general(x[0], x[1], {{1}, {0}, {}, {}});
        },
        tolerance);
    check(
        {Type(d, {2, 4, 5}), Type(d, {2, 3, 5})},
        [](const Values& x) {
          return ops::dot_general(x[0], x[1], {{2}, {2}, {0}, {0}});
        },
        tolerance);
  }
}

}  // namespace

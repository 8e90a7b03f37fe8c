// The examples of the registry in double precision, with drawn operands, for the tests that walk
// it.
#pragma once

#include "ir/builder.h"
#include "ir/host_array.h"
#include "ir/op.h"
#include "parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace walk {

using namespace tessera;
using Arrays = std::vector<HostArray>;
using Random = std::mt19937;

inline DType widened(DType d) {
  return is_floating(d) ? DType::float64 : is_complex(d) ? DType::complex128 : d;
}
inline Type widened(Type t) {
  t.dtype = widened(t.dtype);
  return t;
}
inline Attrs widened(const Attrs& attrs);
inline ProgramPtr widened(const ProgramPtr& p) {
  Builder b(p->name);
  std::vector<Value> env(p->types.size());
  for (Var v : p->inputs) env[v] = b.input(widened(p->types[v]));
  for (const Equation& e : p->equations) {
    Values in;
    for (Var v : e.inputs) in.push_back(env[v]);
    Values out = b.emit(*e.op, in, widened(e.attrs));
    for (std::size_t i = 0; i < out.size(); ++i) env[e.outputs[i]] = out[i];
  }
  Values out;
  for (Var v : p->outputs) out.push_back(env[v]);
  return b.finish(out);
}
inline Attrs widened(const Attrs& attrs) {
  Attrs out = attrs;
  for (const auto& [name, value] : attrs) {
    if (auto* d = std::get_if<DType>(&value)) out.set(name, widened(*d));
    if (auto* p = std::get_if<ProgramPtr>(&value)) out.set(name, widened(*p));
    if (auto* l = std::get_if<Literal>(&value); l && is_inexact(l->dtype)) {
      HostArray from = parts::of(HostArray::from(*l));
      auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(from.count()) *
                                                            sizeof(double));
      HostArray to(DType::float64, from.shape, bytes->data());
      for (std::int64_t i = 0; i < from.count(); ++i) to.data<double>()[i] = from.number(i);
      out.set(name, Literal{widened(l->dtype), l->shape, bytes});
    }
    if (auto* ps = std::get_if<Programs>(&value)) {
      Programs all;
      for (const ProgramPtr& p : *ps) all.push_back(widened(p));
      out.set(name, all);
    }
  }
  return out;
}

inline HostArray draw(const Type& t, Random& random, double lo, double hi, std::int64_t int_lo,
                      std::int64_t int_hi) {
  if (is_complex(t.dtype))
    return parts::joined(draw(parts::of(t), random, lo, hi, int_lo, int_hi), t.dtype);
  HostArray a(t.dtype, t.shape);
  std::uniform_real_distribution<double> real(lo, hi);
  std::uniform_int_distribution<std::int64_t> whole(int_lo, int_hi);
  dispatch(t.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < a.count(); ++i) {
      if constexpr (std::is_same_v<T, bool>)
        a.data<T>()[i] = random() & 1;
      else if constexpr (std::is_integral_v<T>)
        a.data<T>()[i] = static_cast<T>(whole(random));
      else
        a.data<T>()[i] =
            T(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(
                real(random)));
    }
  });
  return a;
}

/// Operand `i` of an example, stacked along dimension `stack` unless that is negative.
inline HostArray draw_operand(const OpExample& e, std::size_t i, Type t, Random& random,
                              int stack = -1) {
  if (stack >= 0) t.shape.insert(t.shape.begin() + stack, 3);
  HostArray x = draw(t, random, e.lo, e.hi, e.int_lo, e.int_hi);
  if (!e.dominant || i > 0) return x;
  std::vector<int> dims;
  for (int d = 0; d < t.shape.rank(); ++d)
    if (d != stack) dims.push_back(d);
  const int row = dims[dims.size() - 2], column = dims.back();
  std::int64_t flat = 0;
  for_each_index(t.shape, [&](const Shape& at) {
    dispatch(t.dtype, [&]<class T>(T) {
      if constexpr (std::is_floating_point_v<T> || is_complex_v<T>)
        if (at[row] == at[column]) x.data<T>()[flat] += T(static_cast<float>(t.shape[row]));
    });
    ++flat;
  });
  return x;
}

inline double largest(const Arrays& all) {
  double m = 0;
  for (const HostArray& each : all) {
    const HostArray a = parts::of(each);
    for (std::int64_t i = 0; i < a.count(); ++i)
      if (std::isfinite(a.number(i))) m = std::max(m, std::fabs(a.number(i)));
  }
  return m;
}
inline Arrays run(const Program& p, const Arrays& inputs) {
  verify(p, "the test");
  EXPECT_EQ(p.inputs.size(), inputs.size());
  return evaluate(p, inputs);
}

}  // namespace walk

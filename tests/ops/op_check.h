// Runs single ops and small straight-line programs through their evaluators, and checks transposes
// by inner products.
#pragma once

#include "ir/op.h"
#include "ops/build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace tessera::testing {

template <class T>
HostArray host(Shape shape, const std::vector<T>& values) {
  HostArray a(dtype_of<T>(), std::move(shape));
  EXPECT_EQ(a.count(), static_cast<std::int64_t>(values.size()));
  std::copy(values.begin(), values.end(), a.data<T>());
  return a;
}
template <class T>
std::vector<T> values(const HostArray& a) {
  EXPECT_EQ(a.dtype, dtype_of<T>());
  return {a.data<T>(), a.data<T>() + a.count()};
}

/// Runs equation by equation; control flow is not supported.
inline std::vector<HostArray> run_program(const Program& p, const std::vector<HostArray>& inputs) {
  std::vector<HostArray> env(p.types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) env[p.inputs[i]] = inputs[i];
  for (const Equation& eqn : p.equations) {
    std::vector<HostArray> in, out;
    for (Var v : eqn.inputs) in.push_back(env[v]);
    for (Var v : eqn.outputs) out.emplace_back(p.type(v).dtype, p.type(v).shape);
    eqn.op->evaluate({eqn.attrs, in, out});
    for (std::size_t i = 0; i < out.size(); ++i) env[eqn.outputs[i]] = out[i];
  }
  std::vector<HostArray> outputs;
  for (Var v : p.outputs) outputs.push_back(env[v]);
  return outputs;
}

/// A function of values that have the inputs' types.
using Function = std::function<Values(Builder&, const Values&)>;
inline std::vector<HostArray> run(const std::vector<HostArray>& inputs, const Function& f) {
  Builder b;
  Values in;
  for (const HostArray& a : inputs) in.push_back(b.input(Type(a.dtype, a.shape)));
  return run_program(*b.finish(f(b, in)), inputs);
}
inline HostArray run_op(const std::string& op, const std::vector<HostArray>& inputs,
                        const Attrs& attrs) {
  return run(inputs, [&](Builder& b, const Values& in) { return b.emit(op, in, attrs); }).at(0);
}

/// The text of the op's factor rule.
inline std::string factor_rule(const std::string& name, const std::vector<Type>& inputs,
                               const Attrs& attrs) {
  const Op& op = Registry::get().at(name);
  std::vector<Type> outputs = op.infer({op, inputs, attrs, {}});
  return to_string(op.sharding({inputs, outputs, attrs}));
}

/// The message of the error that the op's shape rule throws.
template <class E>
std::string infer_error(const std::string& name, const std::vector<Type>& inputs,
                        const Attrs& attrs) {
  const Op& op = Registry::get().at(name);
  try {
    op.infer({op, inputs, attrs, {}});
  } catch (const E& e) {
    return e.what();
  }
  return "no error";
}

/// Floats that are small integers, different from each other nearby: sums of products of them are
/// exact.
inline HostArray integers(const Type& type, int seed) {
  HostArray a(type.dtype, type.shape);
  dispatch(type.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < a.count(); ++i) {
      const std::int64_t v = (i * 7 + seed * 5 + 3) % 11 - 5;
      // A negative integer wraps; a negative float has no value in an unsigned type.
      if constexpr (std::is_integral_v<T>)
        a.data<T>()[i] = static_cast<T>(v);
      else
        a.data<T>()[i] = static_cast<T>(static_cast<float>(v));
    }
  });
  return a;
}

inline double dot(const HostArray& a, const HostArray& b) {
  EXPECT_EQ(a.shape, b.shape);
  double sum = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) sum += a.number(i) * b.number(i);
  return sum;
}

/// <f(x), y> = <x, f^T(y)> for an op that is linear together in the inputs marked so; the others
/// are given.
inline void check_transpose(const std::string& name, const std::vector<Type>& types,
                            const std::vector<bool>& linear, const Attrs& attrs,
                            const std::vector<HostArray>& given = {}) {
  const Op& op = Registry::get().at(name);
  std::vector<HostArray> inputs;
  for (std::size_t i = 0, k = 0; i < types.size(); ++i)
    inputs.push_back(linear[i] ? integers(types[i], static_cast<int>(i)) : given.at(k++));
  HostArray fx = run_op(name, inputs, attrs);
  HostArray y = integers(Type(fx.dtype, fx.shape), 9);
  std::vector<HostArray> all = inputs;
  all.push_back(y);
  std::vector<std::size_t> which;
  std::vector<HostArray> cts = run(all, [&](Builder& b, const Values& in) {
    MaybeValues known(types.size());
    std::unique_ptr<bool[]> flags(new bool[types.size()]);
    for (std::size_t i = 0; i < types.size(); ++i) {
      flags[i] = linear[i];
      if (!linear[i]) known[i] = in[i];
    }
    MaybeValues ct{in.back()};
    MaybeValues result = op.transpose(
        {b, op, attrs, known, types, std::span<const bool>(flags.get(), types.size()), ct});
    Values out;
    for (std::size_t i = 0; i < types.size(); ++i)
      if (linear[i] && result.at(i)) {
        which.push_back(i);
        out.push_back(*result[i]);
      }
    return out;
  });
  double right = 0;
  for (std::size_t k = 0; k < which.size(); ++k) right += dot(inputs[which[k]], cts[k]);
  EXPECT_EQ(dot(fx, y), right) << name;
}

/// The op on inputs stacked along `dims` agrees bit for bit with a loop over the stack.
inline void check_batch(const std::string& name, const std::vector<HostArray>& inputs,
                        const std::vector<int>& dims, const Attrs& attrs) {
  const Op& op = Registry::get().at(name);
  std::int64_t size = 0;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] >= 0) size = inputs[i].shape[static_cast<std::size_t>(dims[i])];
  std::vector<int> out_dims;
  std::vector<HostArray> stacked = run(inputs, [&](Builder& b, const Values& in) {
    BatchResult r = op.batch({b, op, attrs, in, dims, size, ""});
    out_dims = r.dims;
    return r.outputs;
  });
  auto take = [](const HostArray& a, int dim, std::int64_t k) {
    if (dim < 0) return a;
    Shape shape = a.shape, strides = a.shape.strides();
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
  };
  for (std::int64_t k = 0; k < size; ++k) {
    std::vector<HostArray> one;
    for (std::size_t i = 0; i < inputs.size(); ++i) one.push_back(take(inputs[i], dims[i], k));
    std::vector<HostArray> expected =
        run(one, [&](Builder& b, const Values& in) { return b.emit(op, in, attrs); });
    ASSERT_EQ(expected.size(), stacked.size());
    for (std::size_t o = 0; o < expected.size(); ++o) {
      HostArray got = take(stacked[o], out_dims[o], k);
      ASSERT_EQ(got.shape, expected[o].shape) << name;
      EXPECT_TRUE(std::equal(got.bytes, got.bytes + got.size_bytes(), expected[o].bytes))
          << name << ", element " << k;
    }
  }
}

}  // namespace tessera::testing

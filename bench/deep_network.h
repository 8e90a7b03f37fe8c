// A deep network whose blocks are separate equations, for benchmarks of algorithms that walk
// programs.
#pragma once

#include "ir/op.h"
#include "ops/build.h"

namespace deep {

using namespace tessera;

inline constexpr std::int64_t kBatch = 8192, kWidth = 4096, kHidden = 16384, kStep = 4096;

inline Value matmul(Value x, Value y) { return ops::dot_general(x, y, {{1}, {0}, {}, {}}); }
inline Value wide(Value row, Value like, int dim) {
  return ops::broadcast_in_dim(row, like.shape(), {dim});
}

// A block of the network: normalised rows and two layers, added to the input.
inline Value block(Value x, Value scale, Value w1, Value b1, Value w2) {
  Value size = ops::full(*x.builder, DType::float32, {kBatch}, kWidth);
  Value mean = ops::div(ops::reduce_sum(x, {1}), size);
  Value centred = ops::sub(x, wide(mean, x, 0));
  Value variance = ops::div(ops::reduce_sum(ops::mul(centred, centred), {1}), size);
  Value inverse = ops::rsqrt(ops::add(variance, ops::full_like(variance, 1e-5)));
  Value rows = ops::mul(ops::mul(centred, wide(inverse, x, 0)), wide(scale, x, 1));
  Value hidden = matmul(rows, w1);
  hidden = ops::add(hidden, wide(b1, hidden, 1));
  hidden = ops::mul(hidden, ops::logistic(hidden));
  return ops::add(x, matmul(hidden, w2));
}

// The inputs are the rows, then the weights of each block. `other`: each block has a different
// width.
inline ProgramPtr network(int blocks, bool other) {
  Builder b("network");
  const DType f = DType::float32;
  Value x = b.input(Type(f, {kBatch, kWidth}));
  for (int k = 0; k < blocks; ++k) {
    const std::int64_t hidden = kHidden + (other ? kStep * k : 0);
    Value scale = b.input(Type(f, {kWidth})), w1 = b.input(Type(f, {kWidth, hidden}));
    Value b1 = b.input(Type(f, {hidden})), w2 = b.input(Type(f, {hidden, kWidth}));
    x = block(x, scale, w1, b1, w2);
  }
  return b.finish(Values{ops::reduce_sum(ops::mul(x, x), {0, 1})});
}

}  // namespace deep

#include "ops/batching.h"

#include "ops/build.h"

#include <algorithm>
#include <numeric>

namespace tessera::inline v0::ops {

Value move_dim(Value x, int from, int to) {
  if (from == to) return x;
  Ints permutation(static_cast<std::size_t>(x.rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return transpose(x, permutation);
}

Value stacked_at(Value x, int dim, int to, std::int64_t size) {
  if (dim != kUnbatched) return move_dim(x, dim, to);
  Shape shape = x.shape();
  shape.insert(shape.begin() + to, size);
  Ints dims;
  for (int i = 0; i < x.rank(); ++i) dims.push_back(i < to ? i : i + 1);
  return broadcast_in_dim(x, shape, dims);
}

Stacked stacked_alike(const BatchArgs& a) {
  const auto first =
      std::find_if(a.dims.begin(), a.dims.end(), [](int d) { return d != kUnbatched; });
  Stacked s{{}, first == a.dims.end() ? kUnbatched : *first};
  for (std::size_t i = 0; i < a.inputs.size(); ++i)
    s.operands.push_back(stacked_at(a.inputs[i], a.dims[i], s.dim, a.size));
  return s;
}

BatchResult batch_elementwise(const BatchArgs& a) {
  const auto [operands, dim] = stacked_alike(a);
  Values outputs = a.b.emit(a.op, operands, a.attrs);
  return {outputs, std::vector<int>(outputs.size(), dim)};
}

BatchResult no_examples(const BatchArgs& a) {
  std::vector<Type> types;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    types.push_back(a.inputs[i].type());
    if (a.dims[i] != kUnbatched) types.back().shape.erase(types.back().shape.begin() + a.dims[i]);
  }
  BatchResult r;
  for (Type t : a.op.infer({a.op, types, a.attrs, a.b.loc})) {
    t.shape.insert(t.shape.begin(), 0);
    r.outputs.push_back(zeros(a.b, t));
    r.dims.push_back(0);
  }
  return r;
}

Ints shifted_dims(const Ints& dims, int stacked) {
  Ints shifted = dims;
  for (auto& d : shifted) d += d >= stacked;
  return shifted;
}

}  // namespace tessera::inline v0::ops

#include "ir/host_array.h"

#include "ir/op.h"

#include <cstring>
#include <limits>

namespace tessera::inline v0 {

HostArray::HostArray(DType d, Shape s) : dtype(d), shape(std::move(s)) {
  owner = std::make_shared_for_overwrite<std::byte[]>(
      static_cast<std::size_t>(std::max<std::int64_t>(1, size_bytes())));
  bytes = owner.get();
}

HostArray HostArray::from(const Literal& literal) {
  HostArray a(literal.dtype, literal.shape);
  std::memcpy(a.bytes, literal.bytes->data(), literal.bytes->size());
  return a;
}

double HostArray::number(std::int64_t flat) const {
  return dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    T v = data<T>()[flat];
    if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
      return static_cast<double>(static_cast<float>(v));
    else if constexpr (is_complex_v<T>)
      return v.imag() == 0 ? static_cast<double>(v.real())
                           : std::numeric_limits<double>::quiet_NaN();
    else
      return static_cast<double>(v);
  });
}

std::vector<HostArray> evaluate(const Program& p, std::span<const HostArray> inputs) {
  std::vector<HostArray> env(p.types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) env[p.inputs[i]] = inputs[i];
  for (const Equation& eqn : p.equations) {
    if (!eqn.op->evaluate) throw InternalError("op '" + eqn.op->name + "' has no evaluator");
    std::vector<HostArray> in, out;
    for (Var v : eqn.inputs) in.push_back(env[v]);
    for (Var v : eqn.outputs) out.emplace_back(p.types[v].dtype, p.types[v].shape);
    eqn.op->evaluate({eqn.attrs, in, out});
    for (std::size_t i = 0; i < out.size(); ++i) env[eqn.outputs[i]] = out[i];
  }
  std::vector<HostArray> outputs;
  for (Var v : p.outputs) outputs.push_back(env[v]);
  return outputs;
}

void for_each_index(const Shape& shape, FunctionRef<void(const Shape& index)> f) {
  if (shape.count() == 0) return;
  Shape index;
  index.resize(shape.size(), 0);
  for (;;) {
    f(index);
    int d = shape.rank() - 1;
    while (d >= 0 && ++index[d] == shape[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

}  // namespace tessera::inline v0

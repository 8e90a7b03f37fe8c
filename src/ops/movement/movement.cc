#include "ops/movement/movement.h"

#include <algorithm>

namespace tessera::inline v0::ops {

std::string to_string(const Ints& v) { return tessera::to_string(to_shape(v)); }

void check_one_a_dim(const InferArgs& a, const char* attr, const Ints& v, const Shape& operand) {
  if (v.size() == operand.size()) return;
  Message(a.op.name)
      .problem(std::string(attr) + " " + to_string(v) + " has " + std::to_string(v.size()) +
               " entries for an operand of shape " + tessera::to_string(operand))
      .rule("one entry a dimension, here " + std::to_string(operand.rank()))
      .from(a.loc)
      .advice("give " + std::string(attr) + " for every dimension")
      .raise<ShapeError>();
}

void check_dims(const InferArgs& a, const char* attr, const Ints& dims, const Shape& shape) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    bool outside = dims[i] < 0 || dims[i] >= shape.rank();
    bool again = std::find(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(i), dims[i]) !=
                 dims.begin() + static_cast<std::ptrdiff_t>(i);
    if (!outside && !again) continue;
    Message(a.op.name)
        .problem(std::string(attr) + " " + to_string(dims) +
                 (again ? " names dimension " : " names no dimension by ") +
                 std::to_string(dims[i]) + (again ? " twice" : ""))
        .rule(shape.empty() ? "shape () has no dimensions"
                            : "distinct dimensions of shape " + tessera::to_string(shape) +
                                  ", each in [0, " + std::to_string(shape.rank()) + ")")
        .from(a.loc)
        .advice(again ? "name every dimension once" : "count dimensions from 0")
        .raise<ShapeError>();
  }
}

JvpRule linear_jvp(std::vector<int> which) {
  return [which](const JvpArgs& a) -> MaybeValues {
    auto linear = [&](std::size_t i) {
      return which.empty() ||
             std::find(which.begin(), which.end(), static_cast<int>(i)) != which.end();
    };
    bool any = false;
    for (std::size_t i = 0; i < a.inputs.size(); ++i) any = any || (linear(i) && a.tangents[i]);
    if (!any) return MaybeValues(a.outputs.size());
    Values in(a.inputs.begin(), a.inputs.end());
    for (std::size_t i = 0; i < in.size(); ++i)
      if (linear(i)) in[i] = a.tangents[i] ? *a.tangents[i] : zeros_like(a.inputs[i]);
    Values out = a.b.emit(a.op, in, a.attrs);
    return MaybeValues(out.begin(), out.end());
  };
}

CostRule movement_cost() {
  return [](std::span<const Type> inputs, std::span<const Type> outputs, const Attrs&) {
    Cost cost;
    for (const Type& t : outputs) cost.bytes += 2.0 * static_cast<double>(t.bytes());
    double in = 0;
    for (const Type& t : inputs) in += static_cast<double>(t.bytes());
    double out = cost.bytes / 2;
    cost.bytes = out + std::min(in, out);
    return cost;
  };
}

}  // namespace tessera::inline v0::ops

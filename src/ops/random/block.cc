#include "ops/random/block.h"

#include "ops/elementwise/elementwise.h"

namespace tessera::inline v0::ops {

Op block_op(std::string name, std::string doc, int inputs, int outputs, std::string advice) {
  Op op = elementwise_op(std::move(name), "", std::move(doc), inputs, Accepts::integer);
  op.outputs = outputs;
  op.cheap = false;
  op.infer = [outputs, advice = std::move(advice)](const InferArgs& a) {
    check_dtypes(a, a.inputs, Accepts::integer);
    if (a.inputs[0].dtype != DType::uint32)
      Message(a.op.name)
          .problem("operands have dtype " + std::string(name_of(a.inputs[0].dtype)))
          .rule("keys and counters are uint32")
          .from(a.loc)
          .advice(advice)
          .raise<DTypeError>();
    Type t = common_shape(a, a.inputs, DType::uint32);
    t.weak = false;
    return std::vector<Type>(static_cast<std::size_t>(outputs), t);
  };
  op.jvp = no_tangent(static_cast<std::size_t>(outputs));
  op.waived = {{"transpose", "integers have no derivative"},
               {"stablehlo", "exported as integer arithmetic"}};
  op.examples = [n = static_cast<std::size_t>(inputs)] {
    return std::vector<OpExample>{{std::vector<Type>(n, Type(DType::uint32, {2, 3}))},
                                  {std::vector<Type>(n, Type(DType::uint32, {}))}};
  };
  return op;
}

}  // namespace tessera::inline v0::ops

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

Lane WordLanes::word(std::uint32_t v) const {
  return e.constant(DType::uint32, static_cast<std::int64_t>(v));
}
Lane WordLanes::add(Lane a, Lane b) const { return e.binary(Arith::add, a, b); }
Lane WordLanes::exclusive_or(Lane a, Lane b) const { return e.binary(Arith::xor_, a, b); }
Lane WordLanes::rotate(Lane a, int n) const {
  return e.binary(
      Arith::or_, e.binary(Arith::shift_left, a, word(static_cast<std::uint32_t>(n))),
      e.binary(Arith::shift_right_logical, a, word(static_cast<std::uint32_t>(32 - n))));
}
std::array<Lane, 2> WordLanes::product(Lane a, std::uint32_t b) const {
  Lane p = e.binary(Arith::mul, e.convert(a, DType::uint64),
                    e.constant(DType::uint64, static_cast<std::int64_t>(b)));
  Lane high = e.binary(Arith::shift_right_logical, p, e.constant(DType::uint64, std::int64_t{32}));
  return {e.convert(high, DType::uint32), e.convert(p, DType::uint32)};
}

}  // namespace tessera::inline v0::ops

// Emits an elementwise op as the ops that its emit rule consists of, each on whole arrays.
#include "ops/build.h"
#include "stablehlo/emit/rules.h"

#include <deque>

namespace tessera::inline v0::stablehlo::write {

namespace {

// In the order of Arith.
constexpr const char* kUnary[] = {"neg",
                                  "abs",
                                  "sign",
                                  "floor",
                                  "ceil",
                                  "round_nearest_even",
                                  "round_away",
                                  "is_finite",
                                  "not",
                                  "sqrt",
                                  "rsqrt",
                                  "cbrt",
                                  "exp",
                                  "exp2",
                                  "expm1",
                                  "log",
                                  "log1p",
                                  "sin",
                                  "cos",
                                  "tan",
                                  "asin",
                                  "acos",
                                  "atan",
                                  "sinh",
                                  "cosh",
                                  "tanh",
                                  "asinh",
                                  "acosh",
                                  "atanh",
                                  "logistic",
                                  "erf",
                                  "erfc",
                                  "erf_inv",
                                  "lgamma",
                                  "population_count",
                                  "count_leading_zeros",
                                  "real",
                                  "imag",
                                  "conj"};
constexpr const char* kBinary[] = {"add",
                                   "sub",
                                   "mul",
                                   "div",
                                   "rem",
                                   "pow",
                                   "atan2",
                                   "max",
                                   "min",
                                   "and",
                                   "or",
                                   "xor",
                                   "shift_left",
                                   "shift_right_logical",
                                   "shift_right_arithmetic",
                                   "complex",
                                   "eq",
                                   "ne",
                                   "lt",
                                   "le",
                                   "gt",
                                   "ge"};
static_assert(std::size(kUnary) == static_cast<std::size_t>(Arith::add));
static_assert(std::size(kUnary) + std::size(kBinary) == static_cast<std::size_t>(Arith::ge) + 1);

class WholeArrays final : public Emitter {
 public:
  WholeArrays(Builder& b, Values operands, Type result)
      : b_(b), operands_(std::move(operands)), result_(std::move(result)) {}

  Value value(const Lane& lane) const { return *static_cast<const Value*>(lane.handle); }

  const Type& operand_type(int i) const override {
    return operands_[static_cast<std::size_t>(i)].type();
  }
  const Type& result_type() const override { return result_; }
  Lane operand(int i, std::span<const Index>) override {
    return lane(operands_[static_cast<std::size_t>(i)]);
  }
  Lane constant(DType dtype, double value) override { return filled(scalar_literal(dtype, value)); }
  Lane constant(DType dtype, std::int64_t value) override {
    return filled(scalar_literal(dtype, value));
  }
  Lane unary(Arith op, Lane x) override {
    return lane(b_.emit1(kUnary[static_cast<std::size_t>(op)], {value(x)}));
  }
  Lane binary(Arith op, Lane x, Lane y) override {
    const auto at = static_cast<std::size_t>(op) - std::size(kUnary);
    return lane(b_.emit1(kBinary[at], {value(x), value(y)}));
  }
  Lane select(Lane condition, Lane x, Lane y) override {
    return lane(ops::select(value(condition), value(x), value(y)));
  }
  Lane convert(Lane x, DType to) override { return lane(ops::convert(value(x), to)); }
  Lane bitcast(Lane x, DType to) override { return lane(ops::bitcast_convert(value(x), to)); }

  // Elementwise ops never ask for positions.
  Lane literal(const Literal&, std::span<const Index>) override { return elsewhere(); }
  Lane number(const Index&, DType) override { return elsewhere(); }
  Index index(const Lane&, std::int64_t, std::int64_t) override { return elsewhere(), Index(); }
  Lane guarded(std::span<const Bound>, const std::function<Lane()>&, Lane) override {
    return elsewhere();
  }
  Lane reduce(std::span<const std::int64_t>, Lane,
              const std::function<Lane(std::span<const Index>)>&,
              const std::function<Lane(Lane, Lane)>&) override {
    return elsewhere();
  }
  std::vector<Lane> fold(std::span<const std::int64_t>, std::vector<Lane>,
                         const std::function<std::vector<Lane>(std::span<const Index>,
                                                               std::span<const Lane>)>&) override {
    return {elsewhere()};
  }

 private:
  Lane lane(Value v) {
    values_.push_back(v);
    return {&values_.back(), v.dtype()};
  }
  Lane filled(const Literal& l) {
    return lane(ops::broadcast_in_dim(ops::constant(b_, l), result_.shape, {}));
  }
  Lane elsewhere() { throw InternalError("an elementwise op reads its own element only"); }

  Builder& b_;
  Values operands_;
  Type result_;
  std::deque<Value> values_;
};

}  // namespace

Names by_elements(Writing& w) {
  Builder b;
  Values operands;
  Equation e;
  e.op = &w.op;
  e.attrs = w.attrs;
  for (const Type& t : w.in_types) operands.push_back(b.input(Type(t.dtype, t.shape)));
  const std::vector<Index> at(static_cast<std::size_t>(w.type().shape.rank()), Index(0));
  Values out;
  std::deque<WholeArrays> emitters;
  for (std::size_t k = 0; k < w.out_types.size(); ++k) {
    WholeArrays& emitter = emitters.emplace_back(b, operands, w.out_types[k]);
    out.push_back(emitter.value(w.op.emit(emitter, e, static_cast<int>(k), at)));
  }
  return w.block.program(*b.finish_pruned(out), w.in);
}

}  // namespace tessera::inline v0::stablehlo::write

// eq, ne, lt, le, gt, ge.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"

namespace tessera::inline v0::ops {

Value eq(Value x, Value y) { return x.builder->emit1("eq", {x, y}); }
Value ne(Value x, Value y) { return x.builder->emit1("ne", {x, y}); }
Value lt(Value x, Value y) { return x.builder->emit1("lt", {x, y}); }
Value le(Value x, Value y) { return x.builder->emit1("le", {x, y}); }
Value gt(Value x, Value y) { return x.builder->emit1("gt", {x, y}); }
Value ge(Value x, Value y) { return x.builder->emit1("ge", {x, y}); }

namespace {

// Complex numbers can be compared for equality only.
bool orders(Arith arith) { return arith != Arith::eq && arith != Arith::ne; }

Op comparison(Arith arith, const std::string& name, const std::string& symbol, EvalRule evaluate) {
  Op op =
      arith_op(arith, name, "compare",
               "Whether x " + symbol + " y, as booleans. With a NaN it is " +
                   (name == "ne" ? "true" : "false") + "; -0 equals +0; false is less than true.",
               2, orders(arith) ? Accepts::ordered : Accepts::any);
  op.exact = true;
  op.infer = [arith](const InferArgs& a) {
    check_dtypes(a, a.inputs, orders(arith) ? Accepts::ordered : Accepts::any);
    Type t = common_shape(a, a.inputs, DType::boolean);
    t.weak = false;
    return std::vector<Type>{t};
  };
  op.jvp = no_tangent();
  op.waived["transpose"] = "booleans have no derivative";
  op.evaluate = std::move(evaluate);
  return op;
}

}  // namespace

void register_compare(Registry& r) {
  Op eq = comparison(Arith::eq, "eq",
                     "==", evaluate_predicate<2>([](auto x, auto y) { return x == y; }));
  Op ne = comparison(Arith::ne, "ne",
                     "!=", evaluate_predicate<2>([](auto x, auto y) { return x != y; }));
  Op lt = comparison(Arith::lt, "lt", "<",
                     evaluate_ordered_predicate<2>([](auto x, auto y) { return x < y; }));
  Op le = comparison(Arith::le, "le",
                     "<=", evaluate_ordered_predicate<2>([](auto x, auto y) { return x <= y; }));
  Op gt = comparison(Arith::gt, "gt", ">",
                     evaluate_ordered_predicate<2>([](auto x, auto y) { return x > y; }));
  Op ge = comparison(Arith::ge, "ge",
                     ">=", evaluate_ordered_predicate<2>([](auto x, auto y) { return x >= y; }));
  add_all(r, eq, ne, lt, le, gt, ge);
}

}  // namespace tessera::inline v0::ops

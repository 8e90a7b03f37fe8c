#include "ops/elementwise/elementwise.h"

#include "ops/factors.h"

namespace tessera::inline v0::ops {

bool accepts(Accepts what, DType d) {
  switch (what) {
    case Accepts::floating: return is_floating(d);
    case Accepts::inexact: return is_inexact(d);
    case Accepts::complex: return is_complex(d);
    case Accepts::signed_numeric: return is_floating(d) || is_signed_integer(d);
    case Accepts::real_numeric: return d != DType::boolean && !is_complex(d);
    case Accepts::numeric: return d != DType::boolean;
    case Accepts::integer: return is_integer(d);
    case Accepts::integral: return is_integer(d) || d == DType::boolean;
    case Accepts::ordered: return !is_complex(d);
    case Accepts::any: return true;
  }
  return false;
}

DType unsigned_of(DType d) {
  switch (size_of(d)) {
    case 1: return DType::uint8;
    case 2: return DType::uint16;
    case 4: return DType::uint32;
    default: return DType::uint64;
  }
}

std::string describe(Accepts what) {
  switch (what) {
    case Accepts::floating: return "floating-point";
    case Accepts::inexact: return "floating-point or complex";
    case Accepts::complex: return "complex";
    case Accepts::signed_numeric: return "floating-point or signed integer";
    case Accepts::real_numeric: return "floating-point or integer";
    case Accepts::numeric: return "floating-point, complex or integer";
    case Accepts::integer: return "integer";
    case Accepts::integral: return "integer or boolean";
    case Accepts::ordered: return "of a dtype with an order, which complex numbers lack";
    case Accepts::any: return "any";
  }
  return "";
}

namespace {
std::string list_of(std::span<const Type> types, std::string (*part)(const Type&)) {
  std::string s;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i) s += i + 1 == types.size() ? " and " : ", ";
    s += part(types[i]);
  }
  return s;
}
}  // namespace

void check_dtypes(const InferArgs& a, std::span<const Type> types, Accepts what) {
  for (const Type& t : types)
    if (t.dtype != types[0].dtype)
      Message(a.op.name)
          .problem("operands have dtypes " +
                   list_of(types, [](const Type& x) { return std::string(name_of(x.dtype)); }))
          .rule("operands have one dtype; nothing is promoted here")
          .from(a.loc)
          .advice("convert one operand to the dtype of the other with astype")
          .raise<DTypeError>();
  if (types.empty() || accepts(what, types[0].dtype)) return;
  Message m(a.op.name);
  m.problem("operands have dtype " + std::string(name_of(types[0].dtype)))
      .rule("operands are " + describe(what))
      .from(a.loc);
  m.advice(is_complex(types[0].dtype) ? "take a part of each element: real(x), imag(x) or abs(x)"
           : accepts(what, DType::float32)   ? "convert to float32 with astype"
           : accepts(what, DType::complex64) ? "convert to complex64 with astype"
                                             : "convert to int32 with astype");
  m.raise<DTypeError>();
}

Type common_shape(const InferArgs& a, std::span<const Type> types, DType dtype) {
  bool weak = true;
  for (const Type& t : types) {
    weak = weak && t.weak;
    if (t.shape == types[0].shape) continue;
    Message(a.op.name)
        .problem("operands have shapes " +
                 list_of(types, [](const Type& x) { return to_string(x.shape); }))
        .rule("operands have one shape; nothing is broadcast here")
        .from(a.loc)
        .advice("broadcast the operands to one shape with broadcast_to")
        .raise<ShapeError>();
  }
  return Type(dtype, types[0].shape, weak);
}

InferRule infer_same(Accepts what) {
  return [what](const InferArgs& a) {
    check_dtypes(a, a.inputs, what);
    return std::vector<Type>{common_shape(a, a.inputs, a.inputs[0].dtype)};
  };
}

FactorRule pointwise_sharding(const ShardArgs& a) {
  return pointwise_rule(a.outputs[0].shape, static_cast<int>(a.inputs.size()),
                        static_cast<int>(a.outputs.size()));
}

CostRule pointwise_cost(double flops) {
  return [flops](std::span<const Type> inputs, std::span<const Type> outputs, const Attrs&) {
    Cost c{flops * static_cast<double>(outputs[0].shape.count()), 0};
    for (const Type& t : inputs) c.bytes += static_cast<double>(t.bytes());
    for (const Type& t : outputs) c.bytes += static_cast<double>(t.bytes());
    return c;
  };
}

Op elementwise_op(std::string name, std::string stablehlo, std::string doc, int operands,
                  Accepts what, double lo, double hi) {
  Op op;
  op.name = std::move(name);
  op.doc = std::move(doc);
  op.stablehlo = std::move(stablehlo);
  op.inputs = operands;
  op.elementwise = true;
  op.infer = infer_same(what);
  op.batch = batch_elementwise;
  op.sharding = pointwise_sharding;
  op.cost = pointwise_cost(1);
  op.examples = [=] {
    std::vector<OpExample> examples;
    auto add = [&](const Type& t) {
      OpExample e;
      e.inputs.assign(static_cast<std::size_t>(operands), t);
      e.lo = lo;
      e.hi = hi;
      examples.push_back(std::move(e));
    };
    if (accepts(what, DType::float32)) {
      add(Type(DType::float32, {2, 3}));
      add(Type(DType::bfloat16, {4}));
      add(Type(DType::float64, {}, true));
    }
    if (accepts(what, DType::complex64)) {
      add(Type(DType::complex64, {2, 3}));
      add(Type(DType::complex128, {3}));
    }
    if (accepts(what, DType::int32)) add(Type(DType::int32, {3, 2}));
    if (accepts(what, DType::uint8)) add(Type(DType::uint8, {5}));
    if (accepts(what, DType::boolean)) add(Type(DType::boolean, {4}));
    return examples;
  };
  return op;
}

Op arith_op(Arith arith, std::string name, std::string stablehlo, std::string doc, int operands,
            Accepts what, double lo, double hi) {
  Op op =
      elementwise_op(std::move(name), std::move(stablehlo), std::move(doc), operands, what, lo, hi);
  op.emit = [arith, operands](Emitter& e, const Equation&, int, std::span<const Index> at) {
    if (operands == 1) return e.unary(arith, e.operand(0, at));
    return e.binary(arith, e.operand(0, at), e.operand(1, at));
  };
  return op;
}

Lane through_float(Emitter& e, Lane x, const std::function<Lane(Lane)>& f) {
  if (x.dtype != DType::float16 && x.dtype != DType::bfloat16) return f(x);
  return e.convert(f(e.convert(x, DType::float32)), x.dtype);
}
Lane through_float(Emitter& e, Lane x, Lane y, const std::function<Lane(Lane, Lane)>& f) {
  return through_float(e, x, [&](Lane wide) { return f(wide, e.convert(y, wide.dtype)); });
}

Value like(Value x, double value) {
  Value s = scalar(*x.builder, x.dtype(), value, true);
  return x.rank() == 0 ? s : broadcast_in_dim(s, x.shape(), {});
}

JvpRule scaled_by(std::function<Value(Value, Value)> derivative) {
  return [derivative = std::move(derivative)](const JvpArgs& a) {
    if (!a.tangents[0]) return MaybeValues{std::nullopt};
    return MaybeValues{mul(*a.tangents[0], derivative(a.inputs[0], a.outputs[0]))};
  };
}

JvpRule no_tangent(std::size_t results) {
  return [results](const JvpArgs&) { return MaybeValues(results); };
}

SimplifyRule neutral_element(double neutral, bool commutes) {
  return [=](const SimplifyArgs& a) {
    const Var x = a.eqn.inputs[0], y = a.eqn.inputs[1];
    Simplified s;
    // Multiplying complex numbers by 1, or adding 0, can change the signs of zeros.
    if (is_complex(a.around.type(x).dtype)) return s;
    if (a.around.is(y, neutral))
      s.same = x;
    else if (commutes && a.around.is(x, neutral))
      s.same = y;
    return s;
  };
}

MaybeValue plus(const MaybeValue& x, const MaybeValue& y) {
  if (!x || !y) return x ? x : y;
  return add(*x, *y);
}

}  // namespace tessera::inline v0::ops

// What every elementwise op shares, so that an op's file holds only what is its own: the dtypes it
// takes, its derivative, its arithmetic. Operands have one shape and, unless the op says otherwise,
// one dtype; the result is weak where all operands are.
#pragma once

#include "ops/batching.h"
#include "ops/build.h"

#include <string>

namespace tessera::inline v0::ops {

/// Element types an op takes. `floating` is real floats, `inexact` these and complex numbers,
/// `signed_numeric` floats and signed integers, `numeric` all but booleans, `real_numeric` and
/// `ordered` are `numeric` and `any` without complex numbers, `integral` is integers and booleans.
enum class Accepts {
  floating,
  inexact,
  complex,
  signed_numeric,
  real_numeric,
  numeric,
  integer,
  integral,
  ordered,
  any
};
bool accepts(Accepts what, DType d);
/// The unsigned integers as wide as `d`.
DType unsigned_of(DType d);
/// "floating-point", "numeric (not boolean)", ...
std::string describe(Accepts what);

/// A row with the shared rules filled in: infer, batch, sharding, cost (one flop an element), and
/// examples over the dtypes taken whose floats lie in [lo, hi]. An op without a StableHLO spelling
/// says why in `waived`.
Op elementwise_op(std::string name, std::string stablehlo, std::string doc, int operands,
                  Accepts accepts, double lo = -2, double hi = 2);
/// As elementwise_op, emitted as `arith` of its operands.
Op arith_op(Arith arith, std::string name, std::string stablehlo, std::string doc, int operands,
            Accepts accepts, double lo = -2, double hi = 2);

/// Emits `f` of x in float32 where x is a 16-bit float, rounding once; in x's own dtype otherwise.
Lane through_float(Emitter& e, Lane x, const std::function<Lane(Lane)>& f);
Lane through_float(Emitter& e, Lane x, Lane y, const std::function<Lane(Lane, Lane)>& f);

/// Throws the user's error unless all of `types` have one shape; the result's type with `dtype`.
Type common_shape(const InferArgs& a, std::span<const Type> types, DType dtype);
/// Throws unless all of `types` have one dtype that `what` takes.
void check_dtypes(const InferArgs& a, std::span<const Type> types, Accepts what);
/// The shared infer rule: one dtype, one shape.
InferRule infer_same(Accepts accepts);

/// The rule of operands and results that all have the same dims.
FactorRule pointwise_sharding(const ShardArgs& a);
/// `flops` an element of the first result; every operand and result read or written once.
CostRule pointwise_cost(double flops);

/// The constant `value` in x's dtype and shape, weak so that it never decides the dtype of what it
/// meets.
Value like(Value x, double value);

/// Tangent of an op of one operand x and result y: t * derivative(x, y).
JvpRule scaled_by(std::function<Value(Value x, Value y)> derivative);
/// The result is piecewise constant or an integer: it has no tangent.
JvpRule no_tangent(std::size_t results = 1);
/// Of two operands, one gives back the other where all its elements are `neutral`: the second, or
/// either where the op commutes.
SimplifyRule neutral_element(double neutral, bool commutes);
/// The sum of two tangents or cotangents, each of which may be zero.
MaybeValue plus(const MaybeValue& x, const MaybeValue& y);

/// Registers one op after another: `add_all(r, a, b, c)`.
template <class... Ops>
void add_all(Registry& r, Ops&... ops) {
  (r.add(std::move(ops)), ...);
}

}  // namespace tessera::inline v0::ops

// Shared by all elementwise ops, so that an op's file contains only its dtypes, its derivative and
// its arithmetic. Operands have one shape and, unless the op says otherwise, one dtype; the result
// is weak if all operands are.
#pragma once

#include "ops/batching.h"
#include "ops/build.h"

#include <string>

namespace tessera::inline v0::ops {

/// The dtypes that an op takes. `floating` means real floats, `inexact` adds complex numbers,
/// `signed_numeric` means floats and signed integers, `numeric` everything but booleans,
/// `real_numeric` and `ordered` are `numeric` and `any` without complex numbers, and `integral`
/// means integers and booleans.
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
/// The unsigned integer dtype of the same width as `d`.
DType unsigned_of(DType d);
/// "floating-point", "numeric (not boolean)", ...
std::string describe(Accepts what);

/// An Op with the shared rules filled in: infer, batch, sharding, cost (one flop per element), and
/// examples over the accepted dtypes with floats in [lo, hi]. An op without a StableHLO counterpart
/// gives the reason in `waived`.
Op elementwise_op(std::string name, std::string stablehlo, std::string doc, int operands,
                  Accepts accepts, double lo = -2, double hi = 2);
/// Like elementwise_op, and emitted as `arith` of its operands.
Op arith_op(Arith arith, std::string name, std::string stablehlo, std::string doc, int operands,
            Accepts accepts, double lo = -2, double hi = 2);

/// Emits `f` of x in float32 if x is a 16-bit float, rounding once; otherwise in x's own dtype.
Lane through_float(Emitter& e, Lane x, const std::function<Lane(Lane)>& f);
Lane through_float(Emitter& e, Lane x, Lane y, const std::function<Lane(Lane, Lane)>& f);

/// Throws the user's error unless all of `types` have one shape; returns the result's type with
/// `dtype`.
Type common_shape(const InferArgs& a, std::span<const Type> types, DType dtype);
/// Throws unless all of `types` have one dtype that `what` accepts.
void check_dtypes(const InferArgs& a, std::span<const Type> types, Accepts what);
/// The shared infer rule: one dtype, one shape.
InferRule infer_same(Accepts accepts);

/// The sharding rule if all operands and results have the same dimensions.
FactorRule pointwise_sharding(const ShardArgs& a);
/// `flops` per element of the first result; every operand and result is read or written once.
CostRule pointwise_cost(double flops);

/// The constant `value` in x's dtype and shape, weak so that it never decides the dtype of a
/// result.
Value like(Value x, double value);

/// The tangent of an op with operand x and result y: t * derivative(x, y).
JvpRule scaled_by(std::function<Value(Value x, Value y)> derivative);
/// For results that are piecewise constant or integers: there is no tangent.
JvpRule no_tangent(std::size_t results = 1);
/// The rules of an op that returns its operand: it costs nothing, and its result may share the
/// operand's memory.
void forward_operand(Op& op);
/// For a binary op: returns one operand if all elements of the other equal `neutral`. The other
/// must be the second operand, unless the op commutes.
SimplifyRule neutral_element(double neutral, bool commutes);
/// The sum of two tangents or cotangents, each of which may be a symbolic zero.
MaybeValue plus(const MaybeValue& x, const MaybeValue& y);

/// Registers several ops in order: `add_all(r, a, b, c)`.
template <class... Ops>
void add_all(Registry& r, Ops&... ops) {
  (r.add(std::move(ops)), ...);
}

}  // namespace tessera::inline v0::ops

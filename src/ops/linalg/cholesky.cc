// Cholesky factors of Hermitian positive definite matrices.
#include "ops/linalg/calls.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"

namespace tessera::inline v0::ops {

Value cholesky(Value a) { return a.builder->emit1("cholesky", {a}); }

namespace {

// dL = L phi(L^-1 dA L^-H), where phi takes the lower triangle and half the diagonal (Murray 2016).
MaybeValues cholesky_jvp(const JvpArgs& a) {
  if (!a.tangents[0]) return {std::nullopt};
  const Value l = a.outputs[0], da = hermitian_from_lower(*a.tangents[0]);
  const Value right = triangular_solve(
      l, da, {.left_side = false, .lower = true, .transposed = Transposed::adjoint});
  const Value inner = triangular_solve(l, right, {.left_side = true, .lower = true});
  const Value below = lower_triangle(inner, -1), diagonal = diagonal_matrix(diagonal_of(inner));
  return {matmul(l, add(below, mul(diagonal, full_like(diagonal, 0.5))))};
}

}  // namespace

void register_cholesky(Registry& r) {
  Op op;
  op.name = "cholesky";
  op.doc =
      "The lower triangular L of A = L L^H, for each Hermitian positive definite matrix A in the "
      "last two dimensions, of which the lower triangle and the real parts of the diagonal are "
      "read. Zero above the diagonal; NaN on and below it where A is not positive definite.";
  op.stablehlo = "cholesky";
  op.inputs = 1;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = cholesky_call;
  op.library_bytes = 4096;
  op.infer = [](const InferArgs& a) {
    check_square(a);
    return std::vector<Type>{Type(a.inputs[0].dtype, a.inputs[0].shape)};
  };
  op.jvp = cholesky_jvp;
  op.batch = batch_before;
  op.sharding = cut_before({2}, {2});
  op.cost = matrix_cost([](double n, double) { return n * n * n / 3; });
  op.evaluate = evaluate_by_call("cholesky");
  op.waived = {{"transpose", "its tangent is made of triangular_solve and products"},
               {"updates", "a factor of a state is another value"},
               {"emit", "a library factorises"}};
  op.examples = [] {
    const auto example = [](DType dtype, Shape shape) {
      OpExample e{{Type(dtype, std::move(shape))}, {}};
      e.dominant = true;
      return e;
    };
    return std::vector<OpExample>{
        example(DType::float32, {3, 3}), example(DType::float64, {2, 4, 4}),
        example(DType::complex64, {2, 2}), example(DType::complex128, {2, 3, 3}),
        example(DType::float64, {1, 1})};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops

#include "ops/linalg/schur.h"

#include "ops/linalg/matrices.h"

namespace tessera::inline v0::ops {

Values schur(Value a) { return a.builder->emit("schur", {{a}}, {}); }

void register_schur(Registry& r) {
  Op op = factorisation_op(
      "schur",
      "A = Z T Z^H of each square matrix in the last two dimensions, Z^H Z = 1: T is upper "
      "triangular where A is complex, and has blocks of two rows on its diagonal where a real A "
      "has "
      "a pair of complex eigenvalues. The results are T and Z. NaN where an element is not finite. "
      "It has no derivative.",
      schur_call);
  op.outputs = 2;
  op.infer = [](const InferArgs& a) {
    check_square(a);
    return std::vector<Type>{a.inputs[0], a.inputs[0]};
  };
  op.sharding = cut_before({2}, {2, 2});
  op.cost = matrix_cost([](double n, double) { return 25 * n * n * n; });
  op.waived["jvp"] = "which eigenvalue stands where may change at any matrix";
  op.waived["transpose"] = "it is not linear";
  op.examples = [] {
    return std::vector<OpExample>{{{Type(DType::float32, {3, 3})}, {}},
                                  {{Type(DType::float64, {2, 2, 2})}, {}},
                                  {{Type(DType::complex64, {2, 2})}, {}},
                                  {{Type(DType::complex128, {4, 4})}, {}}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops

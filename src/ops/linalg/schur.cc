#include "ops/linalg/schur.h"

#include "ops/linalg/matrices.h"

namespace tessera::inline v0::ops {

Values schur(Value a) { return a.builder->emit("schur", {{a}}, {}); }

void register_schur(Registry& r) {
  Op op;
  op.name = "schur";
  op.doc =
      "A = Z T Z^H of each square matrix in the last two dimensions, Z^H Z = 1: T is upper "
      "triangular where A is complex, and has blocks of two rows on its diagonal where a real A "
      "has "
      "a pair of complex eigenvalues. The results are T and Z. NaN where an element is not finite. "
      "It has no derivative.";
  op.inputs = 1;
  op.outputs = 2;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = schur_call;
  op.library_bytes = 4096;
  op.infer = [](const InferArgs& a) {
    check_square(a);
    return std::vector<Type>{a.inputs[0], a.inputs[0]};
  };
  op.batch = batch_before;
  op.sharding = cut_before({2}, {2, 2});
  op.cost = matrix_cost([](double n, double) { return 25 * n * n * n; });
  op.evaluate = evaluate_by_call("schur");
  op.waived = {{"jvp", "which eigenvalue stands where may change at any matrix"},
               {"transpose", "it is not linear"},
               {"updates", "a factor of a state is another value"},
               {"stablehlo", "exported as a call of LAPACK"},
               {"emit", "a library factorises"}};
  op.examples = [] {
    return std::vector<OpExample>{{{Type(DType::float32, {3, 3})}, {}},
                                  {{Type(DType::float64, {2, 2, 2})}, {}},
                                  {{Type(DType::complex64, {2, 2})}, {}},
                                  {{Type(DType::complex128, {4, 4})}, {}}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops

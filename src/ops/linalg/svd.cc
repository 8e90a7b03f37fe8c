// Singular values and vectors.
#include "ops/linalg/calls.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"

#include <algorithm>

namespace tessera::inline v0::ops {

Values svd(Value a, bool vectors, bool full) {
  return a.builder->emit("svd", {{a}}, {{"full", full}, {"vectors", vectors}});
}

namespace {

std::vector<Type> infer(const InferArgs& a) {
  check_matrix(a);
  check_workspace(a);
  const Type& x = a.inputs[0];
  const std::int64_t m = rows_of(x.shape), n = columns_of(x.shape), k = std::min(m, n);
  std::vector<Type> out{Type(real_dtype(x.dtype), with_vector(x.shape, k))};
  if (!a.attrs.flag("vectors")) return out;
  const bool full = a.attrs.flag("full");
  out.emplace_back(x.dtype, with_matrix(x.shape, m, full ? m : k));
  out.emplace_back(x.dtype, with_matrix(x.shape, full ? n : k, n));
  return out;
}

// 1 / (s_j^2 - s_i^2), and 0 on the diagonal.
Value differences(Value s, const Shape& shape) {
  const Value to = along_columns(s, shape), from = along_rows(s, shape);
  const Value product = mul(add(to, from), sub(to, from));
  const Value one = identity_like(*s.builder, s.dtype(), shape);
  return sub(div(full_like(product, 1), add(product, one)), one);
}

// Giles 2008, An extended collection of matrix derivative results, 3.3.
MaybeValues jvp(const JvpArgs& a) {
  if (!a.tangents[0]) return MaybeValues(a.outputs.size());
  const Value x = a.inputs[0], da = *a.tangents[0];
  const std::int64_t m = rows_of(x.shape()), n = columns_of(x.shape());
  const bool vectors = a.attrs.flag("vectors"), full = a.attrs.flag("full");
  if (vectors && full && m != n)
    Message(a.op.name)
        .problem("full vectors of " + to_string(x.type()) + " have no derivative")
        .rule("vectors beyond the smaller extent are any that complete a basis")
        .from(a.b.loc)
        .advice("leave them out: svd(x, false)")
        .raise<TraceError>();
  const Values factors = vectors ? Values(a.outputs.begin(), a.outputs.end()) : svd(x, true, false);
  const Value s = factors[0], u = factors[1], vh = factors[2], uh = adjoint(u), v = adjoint(vh);
  const Value ds = matmul(matmul(uh, da), v);
  const Value values = real_part(diagonal_of(ds));
  if (!vectors) return {values};
  const DType dtype = x.dtype();
  const Shape& shape = ds.shape();
  const Value f = in_dtype(differences(s, shape), dtype),
              columns = in_dtype(along_columns(s, shape), dtype),
              rows = in_dtype(along_rows(s, shape), dtype);
  const auto symmetric = [](Value y) { return add(y, adjoint(y)); };
  const Value inverse = in_dtype(diagonal_matrix(reciprocal_or_zero(s)), dtype);
  const Value skew = mul(sub(ds, adjoint(ds)), inverse);
  Value du = matmul(u, add(mul(f, symmetric(mul(columns, ds))), mul(skew, full_like(skew, 0.5))));
  Value dv = matmul(v, mul(f, symmetric(mul(rows, ds))));
  const auto outside = [&](Value moved, Value basis, Value basis_h) {
    const Value rest = sub(moved, matmul(basis, matmul(basis_h, moved)));
    return div(rest, in_dtype(along_columns(s, rest.shape()), dtype));
  };
  if (m > n) du = add(du, outside(matmul(da, v), u, uh));
  if (n > m) dv = add(dv, outside(matmul(adjoint(da), u), v, vh));
  return {values, du, adjoint(dv)};
}

ShardRule sharding() {
  return [](const ShardArgs& a) {
    return a.attrs.flag("vectors") ? cut_before({2}, {1, 2, 2})(a) : cut_before({2}, {1})(a);
  };
}

}  // namespace

void register_svd(Registry& r) {
  Op op;
  op.name = "svd";
  op.doc =
      "A = U diag(s) V^H of each matrix (m, n) in the last two dimensions. The results are s, "
      "descending, and where `vectors` are asked for U and V^H: as many as singular values, or "
      "complete bases where `full`. NaN where an element is not finite. Derivatives of vectors "
      "are those of distinct singular values.";
  op.attrs = {{"full", AttrKind::boolean, "whether U and V are square"},
              {"vectors", AttrKind::boolean, "whether U and V^H are results"}};
  op.inputs = 1;
  op.outputs = -1;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = svd_call;
  op.library_bytes = 4096;
  op.infer = infer;
  op.jvp = jvp;
  op.batch = batch_before;
  op.sharding = sharding();
  op.cost = matrix_cost([](double m, double n) { return 14 * m * n * std::min(m, n); });
  op.evaluate = evaluate_by_call("svd");
  op.waived = {{"transpose", "its tangent is made of products"},
               {"updates", "a factor of a state is another value"},
               {"stablehlo", "exported as a call of LAPACK"},
               {"emit", "a library factorises"}};
  op.examples = [] {
    const auto example = [](DType dtype, Shape shape, bool vectors, bool full) {
      return OpExample{{Type(dtype, std::move(shape))}, {{"full", full}, {"vectors", vectors}}};
    };
    const char* const phase = "LAPACK chooses the phases of complex vectors";
    OpExample complex = example(DType::complex128, {3, 3}, true, false);
    complex.no_numeric_derivative = phase;
    return std::vector<OpExample>{example(DType::float32, {3, 3}, true, false),
                                  example(DType::float64, {2, 4, 3}, true, false),
                                  example(DType::float64, {2, 4}, true, false),
                                  example(DType::complex64, {3, 2}, false, false),
                                  example(DType::float64, {2, 3, 3}, false, false),
                                  complex,
                                  example(DType::float64, {3, 3}, true, true)};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops

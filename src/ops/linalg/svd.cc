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

std::vector<Type> svd_infer(const InferArgs& a) {
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

// The rotations of U and V as sum and difference. `together` is (dS + dS^H) / (s_j - s_i), or 0
// where the two are equal, as in the derivative of eigh. `apart` is (dS - dS^H) / (s_j + s_i) off
// the diagonal, which is defined for equal values too.
struct Rotations {
  Value together, apart;
};
Rotations rotations(Value s, Value ds) {
  const Shape& shape = ds.shape();
  const Value to = along_columns(s, shape), from = along_rows(s, shape);
  const auto over = [&](Value v) {
    return in_dtype(reciprocal_or_zero(zero_by_rounding(v, s)), ds.dtype());
  };
  const Value one = identity_like(*s.builder, s.dtype(), shape);
  const Value off = in_dtype(sub(full_like(one, 1), one), ds.dtype());
  return {mul(add(ds, adjoint(ds)), over(sub(to, from))),
          mul(mul(sub(ds, adjoint(ds)), over(add(to, from))), off)};
}

// M. Giles (2008), An extended collection of matrix derivative results, 3.3, with the rotations of
// the two bases separated.
MaybeValues svd_jvp(const JvpArgs& a) {
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
  // The vectors of a zero singular value are an arbitrary completion of the basis: they do not
  // change because of it.
  const Value inverses = reciprocal_or_zero(zero_by_rounding(s, s));
  const Value inverse = in_dtype(diagonal_matrix(inverses), dtype);
  const Value skew = mul(sub(ds, adjoint(ds)), inverse);
  const Rotations turned = rotations(s, ds);
  const Value half = full_like(skew, 0.5);
  Value du = matmul(u, mul(add(add(turned.together, turned.apart), skew), half));
  Value dv = matmul(v, mul(sub(turned.together, turned.apart), half));
  const auto outside = [&](Value moved, Value basis, Value basis_h) {
    const Value rest = sub(moved, matmul(basis, matmul(basis_h, moved)));
    return mul(rest, in_dtype(along_columns(inverses, rest.shape()), dtype));
  };
  if (m > n) du = add(du, outside(matmul(da, v), u, uh));
  if (n > m) dv = add(dv, outside(matmul(adjoint(da), u), v, vh));
  return {values, du, adjoint(dv)};
}

ShardRule svd_sharding() {
  return [](const ShardArgs& a) {
    return a.attrs.flag("vectors") ? cut_before({2}, {1, 2, 2})(a) : cut_before({2}, {1})(a);
  };
}

}  // namespace

void register_svd(Registry& r) {
  Op op = factorisation_op(
      "svd",
      "A = U diag(s) V^H of each matrix (m, n) in the last two dimensions. The results are s, "
      "descending, and where `vectors` are asked for U and V^H: as many as singular values, or "
      "complete bases where `full`. NaN where an element is not finite. The derivatives of vectors "
      "of equal singular values have no part along each other, those of a singular value of 0 none "
      "along the rest of the space.",
      svd_call);
  op.attrs = {{"full", AttrKind::boolean, "whether U and V are square"},
              {"vectors", AttrKind::boolean, "whether U and V^H are results"}};
  op.outputs = -1;
  op.infer = svd_infer;
  op.jvp = svd_jvp;
  op.sharding = svd_sharding();
  op.cost = matrix_cost([](double m, double n) { return 14 * m * n * std::min(m, n); });
  op.waived["transpose"] = "its tangent is made of products";
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

// Calls of LAPACK, as JAX exports linear algebra for CPUs: lapack_spotrf_ffi and its kin; and of the
// libraries for GPUs that stand for it, cusolver_potrf_ffi and hipsolver_potrf_ffi. What they say of
// success (`info`) is 0, since a matrix that they refuse gives NaN here, but where others read it.
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"
#include "stablehlo/import/rules.h"

#include <algorithm>
#include <limits>

namespace tessera::inline v0::stablehlo::rules {

namespace {

// A letter of the call's configuration.
char letter(const Reading& r, std::string_view key, char otherwise) {
  for (const char* name : {"mhlo.backend_config", "backend_config"})
    if (const AttributeSyntax* config = r.find(name))
      if (const Ints value = r.field(*config, key); value.size() == 1)
        return static_cast<char>(value[0]);
  return otherwise;
}

// Whether a call reads the lower triangle: LAPACK has a letter for it, the others have a flag.
bool of_lower(const Reading& r) {
  if (const AttributeSyntax* config = r.find("mhlo.backend_config"))
    if (const AttributeSyntax* flag = find(config->entries, "lower"))
      return flag->integer_value != 0;
  return letter(r, "uplo", 'L') == 'L';
}

Value nothing_in(Reading& r, std::size_t result) { return ops::zeros(r.b, r.result(result)); }

Value matrix(Reading& r) {
  if (r.in.empty() || r.in[0].rank() < 2) r.refuse("its operand has no rows and columns");
  return r.in[0];
}

// Whether each matrix has a NaN in its last place, as a refused one has.
Value refused(Value x) {
  const std::int64_t m = ops::rows_of(x.shape()), n = ops::columns_of(x.shape());
  const Value last = ops::submatrix(x, m - 1, m, n - 1, n);
  const Shape shape(x.shape().begin(), x.shape().end() - 2);
  return ops::convert(ops::reshape(ops::ne(last, last), shape), DType::int32);
}

// The other triangle stays as it is.
Values potrf(Reading& r) {
  const Value a = matrix(r);
  const bool lower = of_lower(r);
  const Value l = ops::cholesky(lower ? a : ops::adjoint(a));
  const Value info = a.shape().count() == 0 ? nothing_in(r, 1) : refused(l);
  const Value row = ops::iota(r.b, DType::int64, a.shape(), a.rank() - 2),
              column = ops::iota(r.b, DType::int64, a.shape(), a.rank() - 1);
  return {lower ? ops::select(ops::ge(row, column), l, a)
                : ops::select(ops::le(row, column), ops::adjoint(l), a),
          info};
}

Values getrf(Reading& r) {
  const Values f = ops::lu(matrix(r));
  return {f[0], ops::add(f[1], ops::full_like(f[1], 1)), nothing_in(r, 2)};  // it counts from 1
}

// What lies below the diagonal, and the scalars, mean something to orgqr alone, which asks for the
// matrix itself: to everybody else they are NaN.
Values geqrf(Reading& r) {
  const Value a = matrix(r);
  const std::int64_t m = ops::rows_of(a.shape()), n = ops::columns_of(a.shape());
  const Value upper = ops::padded_to(ops::qr(a, false)[1], m, n);
  const Value row = ops::iota(r.b, DType::int64, a.shape(), a.rank() - 2),
              column = ops::iota(r.b, DType::int64, a.shape(), a.rank() - 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Value packed = ops::select(ops::gt(row, column), ops::full_like(upper, nan), upper);
  const Value scalars = ops::full(r.b, a.dtype(), r.result(1).shape, nan);
  r.importer.reflected.emplace_back(scalars, a);
  return {packed, scalars};
}

Values orgqr(Reading& r) {
  r.need_operands(2);
  const auto& known = r.importer.reflected;
  const auto of = std::find_if(known.begin(), known.end(),
                               [&](const auto& pair) { return pair.first == r.in[1]; });
  if (of == known.end())
    r.refuse("its reflectors are not those of a geqrf in the same function",
             "they are read together, as a QR factorisation", "export jnp.linalg.qr as a whole");
  const Value a = of->second;
  const std::int64_t m = ops::rows_of(a.shape()), n = ops::columns_of(a.shape()),
                     columns = ops::columns_of(r.result().shape);
  const Value q = ops::qr(a, columns > std::min(m, n))[0];
  if (columns > ops::columns_of(q.shape())) r.refuse("it has more columns than rows");
  return {ops::submatrix(q, 0, m, 0, columns)};
}

Values gesdd(Reading& r) {
  const Value a = matrix(r);
  const char mode = letter(r, "mode", 'A');
  if (mode != 'A' && mode != 'S' && mode != 'N') r.refuse("its mode is not A, S or N");
  const bool vectors = mode != 'N';
  const Values f = ops::svd(a, vectors, mode == 'A');
  return {a, f[0], vectors ? f[1] : nothing_in(r, 2), vectors ? f[2] : nothing_in(r, 3),
          nothing_in(r, 4)};
}

Values heevd(Reading& r) {
  const Value a = matrix(r);
  const Value lower = of_lower(r) ? a : ops::adjoint(a);
  if (letter(r, "mode", 'V') == 'N') return {a, ops::eigh(lower, false)[0], nothing_in(r, 2)};
  const Values f = ops::eigh(lower, true);
  return {f[1], f[0], nothing_in(r, 2)};
}

Values geev(Reading& r) {
  const Value a = matrix(r);
  const bool left = letter(r, "compute_left", 'N') == 'V',
             right = letter(r, "compute_right", 'N') == 'V';
  const Values f = ops::eig(a, left || right);
  Values out{f[0]};
  if (!is_complex(a.dtype())) out = {ops::real(f[0]), ops::imag(f[0])};
  out.push_back(left ? ops::left_eigenvectors(f[1]) : nothing_in(r, out.size()));
  out.push_back(right ? f[1] : nothing_in(r, out.size()));
  out.push_back(nothing_in(r, out.size()));
  return out;
}

Values trsm(Reading& r) {
  r.need_operands(2);
  ops::TriangularDims dims;
  dims.left_side = letter(r, "side", 'L') == 'L';
  dims.lower = letter(r, "uplo", 'L') == 'L';
  dims.unit_diagonal = letter(r, "diag", 'N') == 'U';
  const char t = letter(r, "trans_x", 'N');
  dims.transposed = t == 'T'   ? ops::Transposed::yes
                    : t == 'C' ? ops::Transposed::adjoint
                               : ops::Transposed::no;
  return {ops::triangular_solve(r.in[0], r.in[1], dims)};
}

}  // namespace

Rule lapack_rule(std::string_view target) {
  struct Row {
    std::string_view routine;
    Rule rule;
  };
  static constexpr Row kRows[] = {
      {"potrf", potrf}, {"getrf", getrf}, {"geqrf", geqrf}, {"orgqr", orgqr}, {"ungqr", orgqr},
      {"gesdd", gesdd}, {"syevd", heevd}, {"heevd", heevd}, {"geev", geev},   {"trsm", trsm}};
  constexpr std::string_view kBehind = "_ffi";
  if (!target.ends_with(kBehind)) return nullptr;
  target.remove_suffix(kBehind.size());
  if (const std::string_view before = "lapack_"; target.starts_with(before)) {
    target.remove_prefix(before.size());
    if (target.empty() || std::string_view("sdcz").find(target[0]) == std::string_view::npos)
      return nullptr;
    target.remove_prefix(1);
  } else if (target.starts_with("cusolver_") || target.starts_with("hipsolver_")) {
    target.remove_prefix(target.find('_') + 1);
  } else {
    return nullptr;
  }
  for (const Row& row : kRows)
    if (target == row.routine) return row.rule;
  return nullptr;
}

}  // namespace tessera::inline v0::stablehlo::rules

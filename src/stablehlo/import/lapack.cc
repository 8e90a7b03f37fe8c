// LAPACK calls as JAX exports linear algebra for CPUs (lapack_spotrf_ffi and similar ones), and the
// calls of GPU libraries and of XLA that replace them (cusolver_potrf_ffi, Qr).
// Their status (`info`) is 0, since our ops return NaN for matrices that LAPACK rejects, unless
// something reads it.
#include "ops/linalg/householder.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/schur.h"
#include "ops/linalg/solve.h"
#include "ops/linalg/tridiagonal.h"
#include "stablehlo/import/rules.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tessera::inline v0::stablehlo::rules {

namespace {

// The character of an option in the call's configuration.
char letter(const Reading& r, std::string_view key, char otherwise) {
  for (const char* name : {"mhlo.backend_config", "backend_config"})
    if (const AttributeSyntax* config = r.find(name))
      if (const Ints value = r.field(*config, key); value.size() == 1)
        return static_cast<char>(value[0]);
  return otherwise;
}

bool flag(const Reading& r, std::string_view key, bool otherwise) {
  if (const AttributeSyntax* config = r.find("mhlo.backend_config"))
    if (const AttributeSyntax* given = find(config->entries, key)) return given->integer_value != 0;
  return otherwise;
}

// Whether a call reads the lower triangle: LAPACK has a character for it, the others a flag.
bool of_lower(const Reading& r) { return flag(r, "lower", letter(r, "uplo", 'L') == 'L'); }

Value nothing_in(Reading& r, std::size_t result) { return ops::zeros(r.b, r.result(result)); }

Value matrix(Reading& r) {
  if (r.in.empty() || r.in[0].rank() < 2) r.refuse("its operand has no rows and columns");
  return r.in[0];
}

Value square(Reading& r) {
  const Value a = matrix(r);
  if (ops::rows_of(a.shape()) != ops::columns_of(a.shape()))
    r.refuse("its operand is " + to_string(a.type()), "it takes square matrices");
  return a;
}

// Whether each matrix has NaN as its last element, as rejected ones have.
Value refused(Value x) {
  const std::int64_t m = ops::rows_of(x.shape()), n = ops::columns_of(x.shape());
  const Value last = ops::submatrix(x, m - 1, m, n - 1, n);
  const Shape shape(x.shape().begin(), x.shape().end() - 2);
  return ops::convert(ops::reshape(ops::ne(last, last), shape), DType::int32);
}

// The other triangle is returned unchanged.
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
  return {f[0], ops::add(f[1], ops::full_like(f[1], 1)), nothing_in(r, 2)};  // LAPACK counts from 1
}

// Drops the first row or column.
Value rows_from_1(Value x) {
  const std::int64_t m = ops::rows_of(x.shape());
  return ops::submatrix(x, std::min<std::int64_t>(m, 1), m, 0, ops::columns_of(x.shape()));
}
Value columns_from_1(Value x) { return ops::swapped(rows_from_1(ops::swapped(x))); }
// A vector shifted by one position, with a zero first.
Value one_further(Value v) {
  Ints low(static_cast<std::size_t>(v.rank()), 0), high = low, none = low;
  low.back() = 1, high.back() = -1;
  return ops::pad(v, ops::zeros(*v.builder, Type(v.dtype(), Shape())), low, high, none);
}

std::string_view target_of(const OperationSyntax& op) {
  const AttributeSyntax* target = op.find("call_target_name");
  return op.name == "stablehlo.custom_call" && target ? target->text : std::string_view();
}
bool makes_q(const OperationSyntax& op) {
  const std::string_view target = target_of(op);
  return target.ends_with("orgqr_ffi") || target.ends_with("ungqr_ffi") ||
         target == "ProductOfElementaryHouseholderReflectors";
}

// The block that contains an operation; null if the operation is not in the module's tree.
const RegionSyntax* block_of(const RegionSyntax& region, const OperationSyntax& op) {
  for (const OperationSyntax& o : region.operations) {
    if (&o == &op) return &region;
    for (const RegionSyntax& inside : o.regions)
      if (const RegionSyntax* found = block_of(inside, op)) return found;
  }
  return nullptr;
}

bool reads_beyond_q(const RegionSyntax& region, const UseSyntax& value) {
  for (const OperationSyntax& o : region.operations) {
    if (!makes_q(o))
      for (const UseSyntax& u : o.operands)
        if (u.name == value.name && u.index == value.index) return true;
    for (const RegionSyntax& inside : o.regions)
      if (reads_beyond_q(inside, value)) return true;
  }
  return false;
}

// Whether the reflectors' scalars are used only by routines that form Q from them.
bool for_q_alone(const Reading& r) {
  std::uint32_t next = 0;
  for (const DefSyntax& d : r.op.defs) {
    if (next + d.count > 1)
      for (const FunctionSyntax& f : r.importer.module.functions)
        if (const RegionSyntax* block = block_of(f.body, r.op))
          return !reads_beyond_q(*block, {d.name, 1 - next});
    next += d.count;
  }
  return false;
}

// If only Q is formed from the result, the part below the diagonal stands for the matrix itself,
// which a library routine factorises. The scalars have no other reader, so they are NaN. Otherwise
// they are computed, column by column.
Values geqrf(Reading& r) {
  const Value a = matrix(r);
  if (!for_q_alone(r)) {
    const ops::PackedQr f = ops::packed_qr(a, false);
    Values out{f.packed, f.taus};
    for (std::size_t k = out.size(); k < r.op.result_types.size(); ++k)
      out.push_back(nothing_in(r, k));
    return out;
  }
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

// The product of reflectors that are given by their vectors.
Value product_of_reflections(Reading& r) {
  const Value packed = matrix(r), taus = r.in[1];
  const Shape& s = packed.shape();
  Shape few(s.begin(), s.end() - 2);
  if (taus.rank() > 0) few.push_back(taus.shape().back());
  const bool fits = taus.rank() > 0 && taus.dtype() == packed.dtype() && taus.shape() == few &&
                    few.back() <= ops::columns_of(s) && ops::columns_of(s) <= ops::rows_of(s);
  if (!fits)
    r.refuse("its operands are " + to_string(packed.type()) + " and " + to_string(taus.type()),
             "they are reflections in the columns of matrices, no more than rows, and a number for "
             "each");
  return ops::householder_product(packed, taus);
}

Values orgqr(Reading& r) {
  r.need_operands(2);
  const auto& known = r.importer.reflected;
  const auto of = std::find_if(known.begin(), known.end(),
                               [&](const auto& pair) { return pair.first == r.in[1]; });
  if (of == known.end()) return {product_of_reflections(r)};
  const Value a = of->second;
  const std::int64_t m = ops::rows_of(a.shape()), n = ops::columns_of(a.shape()),
                     columns = ops::columns_of(r.result().shape);
  const Value q = ops::qr(a, columns > std::min(m, n))[0];
  if (columns > ops::columns_of(q.shape())) r.refuse("it has more columns than rows");
  return {ops::submatrix(q, 0, m, 0, columns)};
}

// Multiplies a matrix by Q, or by its adjoint, from either side.
Values ormqr(Reading& r) {
  r.need_operands(3);
  const Value packed = matrix(r), taus = r.in[1], c = r.in[2];
  const bool left = flag(r, "left", true), turned = flag(r, "transpose", false);
  const Value x = left ? c : ops::adjoint(c);
  Shape few(packed.shape().begin(), packed.shape().end() - 2);
  few.push_back(ops::columns_of(packed.shape()));
  const bool fits = c.rank() == packed.rank() && taus.shape() == few &&
                    taus.dtype() == packed.dtype() && c.dtype() == packed.dtype() &&
                    ops::rows_of(x.shape()) == ops::rows_of(packed.shape()) &&
                    std::equal(few.begin(), few.end() - 1, c.shape().begin());
  if (!fits)
    r.refuse(
        "its operands are " + to_string(packed.type()) + ", " + to_string(taus.type()) + " and " +
            to_string(c.type()),
        "they are reflections in the columns of matrices, a number for each, and matrices with "
        "as many rows, or columns, as a reflection");
  // X Q is the adjoint of Q^H X^H.
  const Value y = ops::times_reflections(packed, taus, x, left == turned);
  return {left ? y : ops::adjoint(y)};
}

// Columns with a nonzero number in the second operand go first.
Values geqp3(Reading& r) {
  r.need_operands(2);
  const Value a = matrix(r), numbers = r.in[1];
  Shape line(a.shape().begin(), a.shape().end() - 2);
  line.push_back(ops::columns_of(a.shape()));
  if (Type(numbers.dtype(), numbers.shape()) != Type(DType::int32, line))
    r.refuse("its second operand is " + to_string(numbers.type()),
             "it is " + to_string(Type(DType::int32, line)) + ", a number for each column");
  MaybeValue first;
  if (r.known_number(numbers) != 0.0) first = ops::ne(numbers, ops::zeros_like(numbers));
  const ops::PackedQr f = ops::packed_qr(a, true, first);
  Values out{f.packed, ops::add(f.columns, ops::full_like(f.columns, 1)), f.taus};
  for (std::size_t k = out.size(); k < r.op.result_types.size(); ++k)
    out.push_back(nothing_in(r, k));
  return out;
}

Values gesdd(Reading& r) {
  const Value a = matrix(r);
  const char whole = flag(r, "full_matrices", true) ? 'A' : 'S';
  const char mode = letter(r, "mode", flag(r, "compute_uv", true) ? whole : 'N');
  if (mode != 'A' && mode != 'S' && mode != 'N') r.refuse("its mode is not A, S or N");
  const bool vectors = mode != 'N';
  const Values f = ops::svd(a, vectors, mode == 'A');
  if (!vectors) return {a, f[0], nothing_in(r, 2), nothing_in(r, 3), nothing_in(r, 4)};
  // For matrices that are passed row by row, the factors are exchanged.
  const bool exchanged = flag(r, "transposed", false);
  return {a, f[0], f[exchanged ? 2 : 1], f[exchanged ? 1 : 2], nothing_in(r, 4)};
}

// Jacobi's method returns V, and LAPACK's routines its adjoint.
Values gesvdj(Reading& r) {
  const Value a = matrix(r);
  if (!flag(r, "compute_uv", true))
    return {a, ops::svd(a, false, false)[0], nothing_in(r, 2), nothing_in(r, 3), nothing_in(r, 4)};
  const Values f = ops::svd(a, true, flag(r, "full_matrices", true));
  return {a, f[0], f[1], ops::adjoint(f[2]), nothing_in(r, 4)};
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

// cuSOLVER returns the eigenvalues as complex numbers. For a real matrix, a pair of conjugate ones
// has the real part of its eigenvectors in one column and the imaginary part in the next.
Values solver_geev(Reading& r) {
  const Value a = square(r);
  if (flag(r, "left", false)) r.refuse("it computes left eigenvectors", "cuSOLVER has none");
  const bool right = flag(r, "right", true);
  const Values f = ops::eig(a, right);
  Value v = nothing_in(r, 3);
  if (right && is_complex(a.dtype())) {
    v = f[1];
  } else if (right) {
    const Value im = ops::along_columns(ops::imag(f[0]), a.shape());
    v = ops::select(ops::lt(im, ops::zeros_like(im)), ops::neg(ops::imag(f[1])), ops::real(f[1]));
  }
  return {a, f[0], nothing_in(r, 2), v, nothing_in(r, 4)};
}

Values gees(Reading& r) {
  const Value a = square(r);
  if (letter(r, "sort", 'N') != 'N')
    r.refuse("it sorts its eigenvalues, by a function that is not here");
  const Values f = ops::schur(a);
  const Value on = ops::diagonal_of(f[0]);
  Values out{f[0], f[1]};
  if (is_complex(a.dtype())) {
    out.push_back(on);
  } else {
    // A 2 x 2 block has a pair of eigenvalues, re + i im first, and equal elements on the diagonal.
    const std::int64_t n = ops::columns_of(a.shape());
    const Value below = ops::diagonal_of(ops::padded_to(rows_from_1(f[0]), n, n)),
                above = ops::diagonal_of(ops::padded_to(columns_from_1(f[0]), n, n));
    const Value part = ops::mul(ops::sqrt(ops::abs(below)), ops::sqrt(ops::abs(above)));
    const Value begins = ops::ne(below, ops::zeros_like(below)), zero = ops::zeros_like(part),
                im = ops::select(begins, part, zero);
    out.push_back(on);
    out.push_back(ops::sub(im, one_further(im)));
  }
  for (std::size_t k = out.size(); k < r.op.result_types.size(); ++k)
    out.push_back(nothing_in(r, k));
  return out;
}

// Each device computes whole matrices, as with a call of a library. Sums over parts of columns
// would round differently.
Value whole_matrices(const Reading& r, Value a) {
  const Importer& importer = r.importer;
  if (importer.options.devices <= 1 || importer.devices) return a;
  const std::vector<MeshRef> meshes = importer.meshes_over(importer.options.devices);
  if (meshes.empty()) return a;
  Ints batch(static_cast<std::size_t>(a.rank() - 2));
  std::iota(batch.begin(), batch.end(), 0);
  return importer.lying(a, meshes[0], Spec(), batch);
}

Values gehrd(Reading& r) {
  const Value a = whole_matrices(r, square(r));
  const std::int64_t n = ops::columns_of(a.shape());
  const AttributeSyntax* config = r.find("mhlo.backend_config");
  const Ints low = config ? r.field(*config, "low") : Ints{},
             high = config ? r.field(*config, "high") : Ints{};
  if (n > 0 && (low != Ints{1} || high != Ints{n})) r.refuse("it is not for all rows");
  const ops::PackedHessenberg h = ops::packed_hessenberg(a);
  return {h.packed, h.taus, nothing_in(r, 2)};
}

// The Hessenberg form of a Hermitian matrix is tridiagonal. The triangle that is not read is
// returned unchanged. For the upper one, the columns are processed from last to first: it is the
// lower one of the matrix rotated by 180 degrees.
Values hetrd(Reading& r) {
  const Value given = whole_matrices(r, square(r));
  const bool lower = of_lower(r);
  const auto turned = [&](Value x, int dims) {
    Ints last;
    for (int d = x.rank() - dims; d < x.rank(); ++d) last.push_back(d);
    return lower ? x : ops::reverse(x, last);
  };
  const Value a = turned(given, 2);
  const std::int64_t n = ops::columns_of(a.shape());
  const ops::PackedHessenberg h = ops::packed_hessenberg(ops::hermitian_from_lower(a));
  const Value row = ops::iota(r.b, DType::int64, a.shape(), a.rank() - 2),
              column = ops::iota(r.b, DType::int64, a.shape(), a.rank() - 1);
  const Value beside = ops::submatrix(h.packed, std::min<std::int64_t>(n, 1), n, 0,
                                      std::max<std::int64_t>(n - 1, 0));
  return {turned(ops::select(ops::ge(row, column), h.packed, a), 2),
          turned(ops::real_part(ops::diagonal_of(h.packed)), 1),
          turned(ops::real_part(ops::diagonal_of(beside)), 1), turned(h.taus, 1), nothing_in(r, 4)};
}

void check_diagonals(Reading& r) {
  const Value b = r.in[3];
  if (b.rank() < 2) r.refuse("its last operand has no rows and columns");
  const Type vector(b.dtype(), Shape(b.shape().begin(), b.shape().end() - 1));
  for (std::size_t i = 0; i < 3; ++i)
    if (Type(r.in[i].dtype(), r.in[i].shape()) != vector)
      r.refuse("a diagonal is " + to_string(r.in[i].type()),
               "it is " + to_string(vector) + ", as the right sides are");
}

// Only the solution is used; the results for the factors return the operands.
Values gtsv(Reading& r) {
  r.need_operands(4);
  check_diagonals(r);
  const Value lower = r.in[0], diagonal = r.in[1], upper = r.in[2], b = r.in[3];
  return {lower, diagonal, upper, ops::tridiagonal_solve(lower, diagonal, upper, b),
          nothing_in(r, 4)};
}

}  // namespace

// JAX solves these systems like LAPACK's `lagts`: a pivot is increased until dividing by it is
// finite.
Values tridiagonal_solve_perturbed(Reading& r) {
  r.need_operands(4);
  check_diagonals(r);
  return {ops::tridiagonal_solve(r.in[0], r.in[1], r.in[2], r.in[3], ops::TinyPivots::grow)};
}

namespace {

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

namespace {

// XLA counts rows from 0, and returns the permutation.
Values xla_lu(Reading& r) { return ops::lu(matrix(r)); }

// The first option is whether the lower triangle is read; the eigenvalues are sorted.
Values xla_eigh(Reading& r) {
  const Value a = matrix(r);
  const bool lower = !r.word_or("backend_config", "1").starts_with('0');
  const Values f = ops::eigh(lower ? a : ops::adjoint(a), true);
  return {f[1], f[0]};
}

}  // namespace

Rule lapack_rule(std::string_view target) {
  struct Row {
    std::string_view routine;
    Rule rule;
  };
  static constexpr Row kXla[] = {{"Qr", geqrf},
                                 {"ProductOfElementaryHouseholderReflectors", orgqr},
                                 {"LuDecomposition", xla_lu},
                                 {"Eigh", xla_eigh}};
  static constexpr Row kSolver[] = {{"geev", solver_geev}, {"gesvdj", gesvdj}};
  static constexpr Row kRows[] = {
      {"potrf", potrf}, {"getrf", getrf}, {"geqrf", geqrf}, {"orgqr", orgqr}, {"ungqr", orgqr},
      {"ormqr", ormqr}, {"unmqr", ormqr}, {"geqp3", geqp3}, {"gesdd", gesdd}, {"gesvd", gesdd},
      {"syevd", heevd}, {"heevd", heevd}, {"geev", geev},   {"gees", gees},   {"gehrd", gehrd},
      {"sytrd", hetrd}, {"hetrd", hetrd}, {"gtsv", gtsv},   {"trsm", trsm}};
  for (const Row& row : kXla)
    if (target == row.routine) return row.rule;
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
    for (const Row& row : kSolver)
      if (target == row.routine) return row.rule;
  } else {
    return nullptr;
  }
  for (const Row& row : kRows)
    if (target == row.routine) return row.rule;
  return nullptr;
}

}  // namespace tessera::inline v0::stablehlo::rules

// Fourier transforms and linear algebra. An op without a StableHLO operation is a composite that
// stands for the LAPACK routine as JAX calls it on CPUs.
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"
#include "stablehlo/emit/rules.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::write {

namespace {

// The first letter of a routine's name, which stands for the dtype.
std::string letter_of(DType d) {
  switch (d) {
    case DType::float32: return "s";
    case DType::float64: return "d";
    case DType::complex64: return "c";
    default: return "z";
  }
}

// Matrices are stored column-major, the batch dimensions row-major.
std::string layout_text(const Type& t, bool is_matrix) {
  Names order;
  const int rank = t.shape.rank();
  int next = rank - 1;
  if (is_matrix) {
    order = {std::to_string(rank - 2), std::to_string(rank - 1)};
    next = rank - 3;
  }
  for (; next >= 0; --next) order.push_back(std::to_string(next));
  const std::string list = order.size() == 1 ? order[0] : "[" + joined(order) + "]";
  return "dense<" + (order.empty() ? "" : list) + "> : tensor<" + std::to_string(rank) + "xindex>";
}

struct Part {
  Type type;
  bool is_matrix = true;
};
std::string layouts_text(const std::vector<Part>& parts) {
  Names texts;
  for (const Part& p : parts) texts.push_back(layout_text(p.type, p.is_matrix));
  return "[" + joined(texts) + "]";
}
std::vector<Type> types_of(const std::vector<Part>& parts) {
  std::vector<Type> types;
  for (const Part& p : parts) types.push_back(p.type);
  return types;
}

// Calls a routine; `letters` are options such as "mode = V", as the characters that it takes.
Names lapack(Writing& w, const std::string& routine,
             const std::vector<std::pair<std::string, char>>& letters, const Names& operands,
             const std::vector<Part>& in, const std::vector<Part>& out) {
  Names config;
  for (const auto& [key, c] : letters)
    config.push_back(key + " = " + std::to_string(static_cast<int>(c)) + " : ui8");
  return w.block.define(
      "stablehlo.custom_call @lapack_" + letter_of(in[0].type.dtype) + routine + "_ffi(" +
          joined(operands) + ") {mhlo.backend_config = {" + joined(config) +
          "}, operand_layouts = " + layouts_text(in) + ", result_layouts = " + layouts_text(out) +
          "} : " + types_text(types_of(in)) + " -> " + result_types_text(types_of(out)),
      out.size());
}

Shape batch_of(const Shape& s) { return Shape(s.begin(), s.end() - 2); }
Part info_of(const Type& matrix) { return {Type(DType::int32, batch_of(matrix.shape)), false}; }
bool is_complex_matrix(const Writing& w) { return is_complex(w.in_types[0].dtype); }

// Emits the program that `write` builds for these types, on these operands.
Names by_program(Writing& w, const std::vector<Type>& types, const Names& operands,
                 const std::function<Values(Builder&, const Values&)>& write) {
  Builder b;
  Values in;
  for (const Type& t : types) in.push_back(b.input(t));
  const Values out = write(b, in);
  return w.block.program(*b.finish(out), operands);
}

}  // namespace

Names fft(Writing& w) {
  return w.block.define("stablehlo.fft " + w.in[0] + ", type = " + w.attrs.str("kind") +
                        ", length = " + list_text(w.attrs.ints("length")) + " : " +
                        types_text(w.in_types) + " -> " + type_text(w.type()));
}

// StableHLO leaves the part above the diagonal undefined.
Names cholesky(Writing& w) {
  const Names whole =
      w.block.define("stablehlo.cholesky " + w.in[0] + ", lower = true : " + type_text(w.type()));
  return by_program(w, w.out_types, whole, [](Builder&, const Values& in) -> Values {
    return {ops::lower_triangle(in[0])};
  });
}

Names triangular_solve(Writing& w) {
  const auto flag = [&](const char* name) {
    return std::string(name) + " = " + (w.attrs.flag(name) ? "true" : "false") + ", ";
  };
  return w.block.generic("stablehlo.triangular_solve", w.in,
                         flag("left_side") + flag("lower") + flag("unit_diagonal") +
                             "transpose_a = #stablehlo<transpose " + w.attrs.str("transpose_a") +
                             ">",
                         w.in_types, w.out_types);
}

// LAPACK counts rows from 1.
Names lu(Writing& w) {
  const Type &x = w.in_types[0], &pivots = w.out_types[1];
  const Names all = lapack(w, "getrf", {}, w.in, {{x}}, {{x}, {pivots, false}, info_of(x)});
  const Names rest = by_program(w, {pivots}, {all[1]}, [&](Builder&, const Values& in) -> Values {
    const Value from_0 = ops::sub(in[0], ops::full_like(in[0], 1));
    return {from_0, ops::permutation_of(from_0, ops::columns_of(w.out_types[2].shape))};
  });
  return {all[0], rest[0], rest[1]};
}

Names qr(Writing& w) {
  const Type &x = w.in_types[0], &q = w.out_types[0];
  const std::int64_t m = ops::rows_of(x.shape), n = ops::columns_of(x.shape),
                     columns = ops::columns_of(q.shape);
  const Part scalars{Type(x.dtype, ops::with_vector(x.shape, std::min(m, n))), false};
  const Names all = lapack(w, "geqrf", {}, w.in, {{x}}, {{x}, scalars});
  const Names parts = by_program(w, {x}, {all[0]}, [&](Builder&, const Values& in) -> Values {
    const Value reflectors = ops::submatrix(in[0], 0, m, 0, std::min(n, columns));
    return {
        ops::padded_to(reflectors, m, columns),
        ops::upper_triangle(ops::submatrix(in[0], 0, ops::rows_of(w.out_types[1].shape), 0, n))};
  });
  const std::string routine = is_complex_matrix(w) ? "ungqr" : "orgqr";
  return {lapack(w, routine, {}, {parts[0], all[1]}, {{q}, scalars}, {{q}})[0], parts[1]};
}

Names svd(Writing& w) {
  const Type &x = w.in_types[0], &s = w.out_types[0];
  const bool vectors = w.attrs.flag("vectors");
  const std::int64_t m = ops::rows_of(x.shape), n = ops::columns_of(x.shape);
  const Type u = vectors ? w.out_types[1] : Type(x.dtype, ops::with_matrix(x.shape, m, m)),
             v = vectors ? w.out_types[2] : Type(x.dtype, ops::with_matrix(x.shape, n, n));
  const char mode = !vectors ? 'N' : w.attrs.flag("full") ? 'A' : 'S';
  const Names all =
      lapack(w, "gesdd", {{"mode", mode}}, w.in, {{x}}, {{x}, {s, false}, {u}, {v}, info_of(x)});
  return vectors ? Names{all[1], all[2], all[3]} : Names{all[1]};
}

Names eigh(Writing& w) {
  const Type &x = w.in_types[0], &values = w.out_types[0];
  const bool vectors = w.attrs.flag("vectors");
  const Names all = lapack(w, is_complex_matrix(w) ? "heevd" : "syevd",
                           {{"mode", vectors ? 'V' : 'N'}, {"uplo", 'L'}}, w.in, {{x}},
                           {{x}, {values, false}, info_of(x)});
  return vectors ? Names{all[1], all[0]} : Names{all[1]};
}

// For real matrices, LAPACK returns the real and imaginary parts of the eigenvalues separately.
Names eig(Writing& w) {
  const Type &x = w.in_types[0], &values = w.out_types[0];
  const bool vectors = w.attrs.flag("vectors"), real = !is_complex_matrix(w);
  const Type v(values.dtype, x.shape), part(real ? x.dtype : values.dtype, values.shape);
  std::vector<Part> out{{part, false}};
  if (real) out.push_back({part, false});
  out.insert(out.end(), {{v}, {v}, info_of(x)});
  const Names all = lapack(
      w, "geev", {{"compute_left", 'N'}, {"compute_right", vectors ? 'V' : 'N'}}, w.in, {{x}}, out);
  std::string of = all[0];
  if (real) {
    const std::vector<Type> parts{part, part}, whole{values};
    of = w.block.generic("stablehlo.complex", {all[0], all[1]}, "", parts, whole)[0];
  }
  return vectors ? Names{of, all[all.size() - 2]} : Names{of};
}

Names schur(Writing& w) {
  const Type &x = w.in_types[0],
             values(x.dtype, ops::with_vector(x.shape, ops::columns_of(x.shape)));
  std::vector<Part> out{{x}, {x}, {values, false}};
  if (!is_complex_matrix(w)) out.push_back({values, false});
  out.insert(out.end(), {info_of(x), info_of(x)});
  const Names all = lapack(w, "gees", {{"mode", 'V'}, {"sort", 'N'}}, w.in, {{x}}, out);
  return {all[0], all[1]};
}

}  // namespace tessera::inline v0::stablehlo::write

// Factorisations by LAPACK's routines, as JAX calls them on CPUs.
#include "stablehlo/emit/factors.h"
#include "stablehlo/emit/rules.h"

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

// `letters` are options such as "mode = V", as the characters that the routine takes.
LibraryRoutine lapack(const Writing& w, const std::string& routine,
                      const std::vector<std::pair<std::string, char>>& letters = {}) {
  Names config;
  for (const auto& [key, c] : letters)
    config.push_back(key + " = " + std::to_string(static_cast<int>(c)) + " : ui8");
  return {"lapack_" + letter_of(w.in_types[0].dtype) + routine + "_ffi", joined(config)};
}

}  // namespace

Names lapack_lu(Writing& w) { return lu_by(w, lapack(w, "getrf")); }

Names lapack_qr(Writing& w) {
  return qr_by(w, lapack(w, "geqrf"), lapack(w, is_complex_matrix(w) ? "ungqr" : "orgqr"));
}

Names lapack_svd(Writing& w) {
  const Type &x = w.in_types[0], &s = w.out_types[0];
  const bool vectors = w.attrs.flag("vectors");
  const std::int64_t m = ops::rows_of(x.shape), n = ops::columns_of(x.shape);
  const Type u = vectors ? w.out_types[1] : Type(x.dtype, ops::with_matrix(x.shape, m, m)),
             v = vectors ? w.out_types[2] : Type(x.dtype, ops::with_matrix(x.shape, n, n));
  const char mode = !vectors ? 'N' : w.attrs.flag("full") ? 'A' : 'S';
  const Names all = custom_call(w, lapack(w, "gesdd", {{"mode", mode}}), w.in, {{x}},
                                {{x}, {s, false}, {u}, {v}, info_of(x)});
  return vectors ? Names{all[1], all[2], all[3]} : Names{all[1]};
}

Names lapack_eigh(Writing& w) {
  const Type &x = w.in_types[0], &values = w.out_types[0];
  const bool vectors = w.attrs.flag("vectors");
  const Names all = custom_call(w,
                                lapack(w, is_complex_matrix(w) ? "heevd" : "syevd",
                                       {{"mode", vectors ? 'V' : 'N'}, {"uplo", 'L'}}),
                                w.in, {{x}}, {{x}, {values, false}, info_of(x)});
  return vectors ? Names{all[1], all[0]} : Names{all[1]};
}

// For real matrices, LAPACK returns the real and imaginary parts of the eigenvalues separately.
Names lapack_eig(Writing& w) {
  const Type &x = w.in_types[0], &values = w.out_types[0];
  const bool vectors = w.attrs.flag("vectors"), real = !is_complex_matrix(w);
  const Type v(values.dtype, x.shape), part(real ? x.dtype : values.dtype, values.shape);
  std::vector<Part> out{{part, false}};
  if (real) out.push_back({part, false});
  out.insert(out.end(), {{v}, {v}, info_of(x)});
  const Names all = custom_call(
      w, lapack(w, "geev", {{"compute_left", 'N'}, {"compute_right", vectors ? 'V' : 'N'}}), w.in,
      {{x}}, out);
  std::string of = all[0];
  if (real) {
    const std::vector<Type> parts{part, part}, whole{values};
    of = w.block.generic("stablehlo.complex", {all[0], all[1]}, "", parts, whole)[0];
  }
  return vectors ? Names{of, all[all.size() - 2]} : Names{of};
}

Names lapack_schur(Writing& w) {
  const Type &x = w.in_types[0],
             values(x.dtype, ops::with_vector(x.shape, ops::columns_of(x.shape)));
  std::vector<Part> out{{x}, {x}, {values, false}};
  if (!is_complex_matrix(w)) out.push_back({values, false});
  out.insert(out.end(), {info_of(x), info_of(x)});
  const Names all =
      custom_call(w, lapack(w, "gees", {{"mode", 'V'}, {"sort", 'N'}}), w.in, {{x}}, out);
  return {all[0], all[1]};
}

}  // namespace tessera::inline v0::stablehlo::write

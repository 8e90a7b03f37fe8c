// Factorisations by XLA's own custom calls, which its passes replace, as JAX calls them on TPUs.
#include "stablehlo/emit/factors.h"
#include "stablehlo/emit/rules.h"

namespace tessera::inline v0::stablehlo::write {

namespace {
LibraryRoutine replaced(std::string name, std::string config = {}) {
  return {std::move(name), std::move(config), true};
}
}  // namespace

// Rows are counted from 0, and the permutation is a result.
Names xla_lu(Writing& w) {
  const Type &x = w.in_types[0], &pivots = w.out_types[1], &permutation = w.out_types[2];
  return custom_call(w, replaced("LuDecomposition"), w.in, {{x}},
                     {{x}, {pivots, false}, {permutation, false}});
}

Names xla_qr(Writing& w) {
  return qr_by(w, replaced("Qr"), replaced("ProductOfElementaryHouseholderReflectors"));
}

// The options are: lower, sorted, the most sweeps of Jacobi's method, the tolerance.
Names xla_eigh(Writing& w) {
  const Type &x = w.in_types[0], &values = w.out_types[0];
  const Names all =
      custom_call(w, replaced("Eigh", "1,1,100,1e-6"), w.in, {{x}}, {{x}, {values, false}});
  return w.attrs.flag("vectors") ? Names{all[1], all[0]} : Names{all[1]};
}

}  // namespace tessera::inline v0::stablehlo::write

// Fourier transforms and linear algebra. What StableHLO has no operation for is a composite, whose
// decomposition calls the libraries of the target.
#include "stablehlo/emit/factors.h"
#include "stablehlo/emit/rules.h"
#include "stablehlo/emit/target.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::write {

Names fft(Writing& w) {
  return w.block.define("stablehlo.fft " + w.in[0] + ", type = " + w.attrs.str("kind") +
                        ", length = " + list_text(w.attrs.ints("length")) + " : " +
                        types_text(w.in_types) + " -> " + type_text(w.type()));
}

// StableHLO leaves the part above the diagonal undefined, and also what becomes of the imaginary
// parts of a diagonal, which our op does not read.
Names cholesky(Writing& w) {
  Names in{w.in[0]};
  if (is_complex(w.type().dtype))
    in = by_program(w, w.in_types, in, [](Builder& b, const Values& a) -> Values {
      const Value one = ops::identity_like(b, DType::boolean, a[0].shape());
      return {ops::select(one, ops::convert(ops::real(a[0]), a[0].dtype()), a[0])};
    });
  const Names whole =
      w.block.define("stablehlo.cholesky " + in[0] + ", lower = true : " + type_text(w.type()));
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

namespace {

[[noreturn]] void refuse_library_op(const Writing& w, const Target& target,
                                    const LibraryOp* known) {
  const std::string platform(target.platform), dtype = to_string(w.in_types[0].dtype);
  Names others;
  for (const Target& t : targets()) {
    const LibraryOp* there = t.find(w.op);
    if (there && std::count(there->dtypes.begin(), there->dtypes.end(), w.in_types[0].dtype))
      others.emplace_back(t.platform);
  }
  const std::string instead = others.empty() ? "" : "; it is written for " + listed(others);
  Names here;
  for (const LibraryOp& l : target.library) here.emplace_back(l.op);
  std::string rule = "StableHLO and CHLO have no " + w.op.shown() + instead;
  if (known) {
    Names dtypes;
    for (DType d : known->dtypes) dtypes.push_back(to_string(d));
    rule = platform + " has it for " + listed(dtypes) + instead;
  } else if (!here.empty()) {
    rule = "the routines of " + platform + " are those for " + listed(here) + instead;
  }
  w.refuse("the platform '" + platform + "' has no routine for " + w.op.shown() +
               (known ? " of " + dtype : ""),
           rule,
           others.empty() ? "compute it outside of the function, and pass the result"
                          : "{.platform = \"" + others[0] +
                                "\"}, or compute it outside of the function, and pass the result");
}

}  // namespace

Names library_call(Writing& w) {
  const Target& target = w.block.module.target();
  const DType d = w.in_types[0].dtype;
  const LibraryOp* known = target.find(w.op);
  if (!known || !std::count(known->dtypes.begin(), known->dtypes.end(), d))
    refuse_library_op(w, target, known);
  if (w.in_types[0].shape.count() == 0) return empty_factors(w);
  return known->write(w);
}

}  // namespace tessera::inline v0::stablehlo::write

// Common checks and conversions of the operands of linear algebra functions.
#pragma once

#include "api/trace/composite.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"

#include <string>

namespace tessera::inline v0::linalg {

/// Operands converted to a dtype for computing: a float of at least 32 bits, or complex. `back`
/// converts a result to the dtype that the user's operands promote to.
struct Computed {
  Values values;
  DType dtype;  // that the user's operands promote to
  Value back(Value x) const;
};
Computed computed(std::span<const Value> in);

/// Throws ShapeError if x has fewer than two axes (or, in need_square, matrices that are not
/// square).
void need_matrix(const char* function, const Value& x, const SourceLoc& loc);
void need_square(const char* function, const Value& x, const SourceLoc& loc);

/// Runs `body` on the converted operand; its inexact results are converted back.
template <class F>
std::vector<Array> of_matrix(const char* function, const Operand& a, bool square, F&& body) {
  return detail::composite(function, std::span(&a.array, 1), a.loc,
                           [&](Builder&, std::span<const Value> in) {
                             const Computed c = computed(in);
                             square ? need_square(function, c.values[0], a.loc)
                                    : need_matrix(function, c.values[0], a.loc);
                             Values out = body(c.values[0]);
                             for (Value& v : out)
                               if (is_inexact(v.dtype())) v = c.back(v);
                             return out;
                           });
}

/// (a + a^H) / 2
Value symmetrized(Value a);

/// A linear system with b as columns, one row per row of `a`. A b with one axis is a vector; the
/// axes before the last two are broadcast against those of `a`.
struct System {
  Value a, b;
  bool vector = false;
  Value solution(Value x) const;  // in the shape of b
};
System system_of(const char* function, Value a, Value b, const SourceLoc& loc);

}  // namespace tessera::inline v0::linalg

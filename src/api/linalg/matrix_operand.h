// What the functions of linear algebra begin with.
#pragma once

#include "api/trace/composite.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"

#include <string>

namespace tessera::inline v0::linalg {

/// Operands in a dtype that is computed in: floats of 32 bits at least, or complex numbers; `back`
/// brings a result to the dtype that the user's operands promote to.
struct Computed {
  Values values;
  DType dtype;  // of the user
  Value back(Value x) const;
};
Computed computed(std::span<const Value> in);

/// ShapeError where x has less than two axes, or where its matrices are not square.
void need_matrix(const char* function, const Value& x, const SourceLoc& loc);
void need_square(const char* function, const Value& x, const SourceLoc& loc);

/// Runs `body` on the operand, computed in and brought back, for results that are all of its kind.
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

/// b as columns of a system of as many equations as `a` has rows: a vector where it has one axis,
/// with the axes before the last two broadcast against a's.
struct System {
  Value a, b;
  bool vector = false;
  Value solution(Value x) const;  // in the form of b
};
System system_of(const char* function, Value a, Value b, const SourceLoc& loc);

}  // namespace tessera::inline v0::linalg

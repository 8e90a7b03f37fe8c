// Custom calls of the libraries that factorise matrices, in the form in which JAX writes them.
#pragma once

#include "ops/linalg/matrices.h"
#include "stablehlo/emit/writer.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera::inline v0::stablehlo::write {

/// An operand or a result of a custom call. Matrices are stored column-major, dimensions before
/// them and all other arrays row-major.
struct Part {
  Type type;
  bool is_matrix = true;
};
/// The routine's `info` result: a number for each matrix, 0 if the routine succeeded.
Part info_of(const Type& matrix);

struct LibraryRoutine {
  std::string name;
  std::string config = {};  // "lower = true"
  /// A pass of XLA replaces the call: it chooses the layouts, and `config` is one string.
  bool is_replaced = false;
};
Names custom_call(Writing& w, const LibraryRoutine& routine, const Names& operands,
                  const std::vector<Part>& in, const std::vector<Part>& out);

/// The program that `build` makes for operands of these types, on `operands`.
Names by_program(Writing& w, const std::vector<Type>& types, const Names& operands,
                 const std::function<Values(Builder&, const Values&)>& build);

bool is_complex_matrix(const Writing& w);

/// lu by a routine that returns the factors and the rows exchanged, counted from 1.
Names lu_by(Writing& w, const LibraryRoutine& getrf);
/// qr by a routine that returns reflectors, and one that forms their product.
Names qr_by(Writing& w, const LibraryRoutine& geqrf, const LibraryRoutine& orgqr);
/// The factors of matrices without elements, for which no library is called: parts of the identity,
/// and empty arrays.
Names empty_factors(Writing& w);

}  // namespace tessera::inline v0::stablehlo::write

// Elements of constants: the contents of dense<...>.
#pragma once

#include "ir/attrs.h"
#include "stablehlo/text/syntax.h"

#include <optional>

namespace tessera::inline v0::stablehlo {

/// The dtype for an element type; nothing if there is no such dtype.
std::optional<DType> dtype_of_element(std::string_view element);

/// The elements of a `dense` or `resource` attribute. If all are equal, the literal is a scalar and
/// `splat` is set, so that memory is proportional to the text. Throws IoError with the position if
/// the text is not valid data.
struct Data {
  Literal literal;
  Shape shape;
  bool splat = false;
};
Data read_data(const ModuleSyntax& module, const AttributeSyntax& attribute);
/// The integers of an array, a list, or a `dense` attribute of rank 1 (read_rows: rank 2).
Ints read_integers(const ModuleSyntax& module, const AttributeSyntax& attribute);
IntLists read_rows(const ModuleSyntax& module, const AttributeSyntax& attribute);

}  // namespace tessera::inline v0::stablehlo

// Elements of constants: what is written in dense<...>.
#pragma once

#include "ir/attrs.h"
#include "stablehlo/text/syntax.h"

#include <optional>

namespace tessera::inline v0::stablehlo {

/// The dtype that an element type is; none where there is no such dtype.
std::optional<DType> dtype_of_element(std::string_view element);

/// The elements of a `dense` or `resource` attribute. Where all are one value the literal has no
/// dimensions and `splat` is set, so that memory is proportional to the text. IoError with the place
/// where the text is no such data.
struct Data {
  Literal literal;
  Shape shape;
  bool splat = false;
};
Data read_data(const ModuleSyntax& module, const AttributeSyntax& attribute);
/// The integers of a `dense` attribute of rank 1 or 2, of an array or of a list.
Ints read_integers(const ModuleSyntax& module, const AttributeSyntax& attribute);
IntLists read_rows(const ModuleSyntax& module, const AttributeSyntax& attribute);

}  // namespace tessera::inline v0::stablehlo

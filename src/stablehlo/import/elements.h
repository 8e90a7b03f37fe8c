// The text of elements as bytes.
#pragma once

#include "stablehlo/import/data.h"

namespace tessera::inline v0::stablehlo {

/// Numbers in nested lists, one number for all, or a string of hexadecimal digits.
Data read_elements(const ModuleSyntax& module, std::string_view text, const TypeData& type,
                   DType dtype);
/// Hexadecimal digits from number `from` of the text on.
Data read_hexadecimal(const ModuleSyntax& module, std::string_view text, std::size_t from,
                      const TypeData& type, DType dtype);

/// Elements as they lie in memory, or one for all.
Data read_stored(const ModuleSyntax& module, std::string_view bytes, const TypeData& type,
                 DType dtype);

}  // namespace tessera::inline v0::stablehlo

// Converts the text of elements to bytes.
#pragma once

#include "stablehlo/import/data.h"

namespace tessera::inline v0::stablehlo {

/// Reads numbers in nested lists, one number for all elements, or a string of hexadecimal digits.
Data read_elements(const ModuleSyntax& module, std::string_view text, const TypeData& type,
                   DType dtype);
/// Reads hexadecimal digits from position `from` of the text.
Data read_hexadecimal(const ModuleSyntax& module, std::string_view text, std::size_t from,
                      const TypeData& type, DType dtype);

/// Reads elements in their memory layout, or one for all.
Data read_stored(const ModuleSyntax& module, std::string_view bytes, const TypeData& type,
                 DType dtype);

}  // namespace tessera::inline v0::stablehlo

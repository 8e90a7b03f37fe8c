// Types, elements and attributes as StableHLO spells them.
#pragma once

#include "ir/attrs.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::stablehlo {

/// "f32", "ui8", "complex<f64>".
std::string element_text(DType dtype);
/// "tensor<2x3xf32>".
std::string type_text(const Type& type);
/// "(tensor<2xf32>, tensor<i32>)".
std::string types_text(std::span<const Type> types);
/// Behind an arrow: one type stands alone.
std::string result_types_text(std::span<const Type> types);

/// "dense<[1.0, 2.0]>", whose bits are read back as they are: short lists as numbers, long ones as
/// hexadecimal bytes.
std::string dense_text(const Literal& literal);
/// "array<i64: 1, 2>".
std::string array_text(const Ints& values);
/// "[1, 2]".
std::string list_text(const Ints& values);
/// "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"; all rows are of one length.
std::string rows_text(const IntLists& rows, std::size_t columns);
/// In quotes, with what needs it escaped.
std::string quoted(std::string_view text);
/// That, and not std::quoted, where a header brings it in.
inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }
/// "a, b, c".
std::string joined(std::span<const std::string> parts, std::string_view between = ", ");
/// As a part of a symbol's name: other characters become underscores.
std::string symbol_text(std::string_view text);

}  // namespace tessera::inline v0::stablehlo

// Types, elements and attributes in StableHLO's syntax.
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
/// The types after an arrow: a single type has no parentheses.
std::string result_types_text(std::span<const Type> types);

/// "dense<[1.0, 2.0]>", which is read back bit for bit: short lists are written as numbers, long
/// ones as hexadecimal bytes.
std::string dense_text(const Literal& literal);
/// "array<i64: 1, 2>".
std::string array_text(const Ints& values);
/// "[1, 2]".
std::string list_text(const Ints& values);
/// "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"; all rows have the same length.
std::string rows_text(const IntLists& rows, std::size_t columns);
/// "<@mesh, [{"x"}, {?}]>"; dimensions in `open` may be partitioned further.
std::string sharding_text(const std::string& mesh, const Spec& spec, int rank,
                          const Ints& open = {});
/// `text` in quotes, with special characters escaped.
std::string quoted(std::string_view text);
/// Makes overload resolution prefer this to std::quoted if a header declares that.
inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }
/// "a, b, c".
std::string joined(std::span<const std::string> parts, std::string_view between = ", ");
/// The text as part of a symbol's name: other characters become underscores.
std::string symbol_text(std::string_view text);

}  // namespace tessera::inline v0::stablehlo

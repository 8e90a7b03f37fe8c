// What distributions check of their parameters.
#pragma once

#include <tessera/array.h>

#include <initializer_list>
#include <optional>

namespace tessera::inline v0::random {

struct Parameter {
  const char* name;
  const Operand& value;
};

/// The shape of a draw: the wanted one, to which all parameters broadcast, or else what they
/// broadcast to. TraceError for an empty parameter, DTypeError for a complex one, ShapeError where
/// they do not fit.
Shape shape_of_draw(const char* function, const Operand& key,
                    std::initializer_list<Parameter> parameters,
                    const std::optional<Shape>& wanted);
/// DTypeError unless counts have an integer dtype.
void check_count_dtype(const char* function, DType dtype, const Operand& key);
/// Error unless a number is finite and more than 0.
void check_positive(const char* function, const char* name, double value, const Operand& key);

}  // namespace tessera::inline v0::random

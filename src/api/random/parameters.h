// Checks of the parameters of distributions.
#pragma once

#include <tessera/array.h>

#include <initializer_list>
#include <optional>

namespace tessera::inline v0::random {

struct Parameter {
  const char* name;
  const Operand& value;
};

/// The shape of a draw: `wanted`, to which all parameters must broadcast, or else their broadcast
/// shape. Throws TraceError if a parameter is empty, DTypeError if one is complex, and ShapeError
/// if the shapes do not broadcast.
Shape shape_of_draw(const char* function, const Operand& key,
                    std::initializer_list<Parameter> parameters,
                    const std::optional<Shape>& wanted);
/// Throws DTypeError unless the dtype of the counts is an integer dtype.
void check_count_dtype(const char* function, DType dtype, const Operand& key);
/// Throws Error unless a number is finite and positive.
void check_positive(const char* function, const char* name, double value, const Operand& key);

}  // namespace tessera::inline v0::random

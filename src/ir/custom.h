// Derivative rules given by user code, as the ops that carry them see them.
//
// The op's body is the function itself; a rule is asked for a program only when the function is
// differentiated, so user code is traced then and not before. Types are those of the op's operands
// at that time. Programs may be asked for more than once, from any thread, and must be the same
// each time.
#pragma once

#include "ir/program.h"

#include <vector>

namespace tessera::inline v0 {

struct CustomJvpRule : Hook {
  /// (inputs..., tangents of the inputs where `nonzero`...) -> (outputs..., tangents of the
  /// floating outputs...). Linear in the tangents, or else only forward mode works.
  virtual ProgramPtr rule(const std::vector<Type>& inputs,
                          const std::vector<bool>& nonzero) const = 0;
};

struct CustomVjpRule : Hook {
  /// (inputs...) -> (outputs..., residuals...)
  virtual ProgramPtr forward(const std::vector<Type>& inputs) const = 0;
  /// (residuals..., cotangents of the floating outputs...) -> cotangents of the floating inputs, of
  /// their dtypes and shapes. `residuals` are the types that `forward` gave for the same inputs.
  virtual ProgramPtr backward(const std::vector<Type>& inputs,
                              const std::vector<Type>& residuals) const = 0;
};

}  // namespace tessera::inline v0

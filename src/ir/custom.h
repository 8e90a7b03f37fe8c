// Derivative rules given by user code, as seen by the ops that carry them.
//
// The op's body is the function itself. A rule is called only when the function is differentiated,
// so user code for derivatives is traced only then. The types passed are those of the op's operands
// at that time. A rule may be called more than once, from any thread, and must return the same
// program each time.
#pragma once

#include "ir/program.h"

#include <vector>

namespace tessera::inline v0 {

struct CustomJvpRule : Hook {
  /// (inputs..., tangents of the inputs where `nonzero`...) -> (outputs..., tangents of the
  /// floating outputs...). The program must be linear in the tangents; otherwise only forward mode
  /// works.
  virtual ProgramPtr rule(const std::vector<Type>& inputs,
                          const std::vector<bool>& nonzero) const = 0;
};

struct CustomVjpRule : Hook {
  /// (inputs...) -> (outputs..., residuals...)
  virtual ProgramPtr forward(const std::vector<Type>& inputs) const = 0;
  /// (residuals..., cotangents of the floating outputs...) -> cotangents of the floating inputs,
  /// with their dtypes and shapes. `residuals` are the types that `forward` gave for the same
  /// inputs.
  virtual ProgramPtr backward(const std::vector<Type>& inputs,
                              const std::vector<Type>& residuals) const = 0;
};

}  // namespace tessera::inline v0

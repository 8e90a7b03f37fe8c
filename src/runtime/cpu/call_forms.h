// The forms of operands (runtime/forms.h) that one call reads.
#pragma once

#include "runtime/cpu/bind.h"
#include "runtime/forms.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tessera::inline v0::runtime {

/// Finds the forms of a call when it binds its arguments, and makes new ones when it runs.
class CallForms {
 public:
  /// Fills the pointers to forms in the frame's table; they are null for operands that the call
  /// reads without a form. The arguments must be bound. `v` must outlive this object.
  CallForms(const Variant& v, std::span<const Bound> bound, const Frame& frame);
  ~CallForms();
  CallForms(const CallForms&) = delete;
  CallForms& operator=(const CallForms&) = delete;

  /// Makes the new ones. The operands must be complete.
  void make();

 private:
  struct Making {
    const OperandForm* form;
    const std::byte* operand;
    Form* to;
  };
  std::byte* find(const tape::TapeForm& wanted, Forms* of, const std::byte* operand);

  std::vector<FormPtr> held_;
  std::vector<Making> making_;
};

}  // namespace tessera::inline v0::runtime

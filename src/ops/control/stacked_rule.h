// Shared by custom_jvp and custom_vjp: calls with a user's rule, mapped over stacked inputs.
#pragma once

#include "ir/custom.h"
#include "ir/op.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::ops {

/// The data of a mapped call's rule: the original rule, and how the inputs are stacked.
struct Stacking {
  HookPtr inner;
  std::vector<int> dims;
  std::int64_t size = 0;
  std::string axis_name;

  /// The types of one lane of inputs of these types.
  std::vector<Type> lane(std::vector<Type> inputs) const;
};
Stacking stacking_of(const BatchArgs& a);

/// The call of the mapped body, with this rule. All results are stacked, so that the function and
/// its rule agree.
BatchResult mapped_call(const BatchArgs& a, HookPtr rule);

/// An op that calls its body on its operands and has a rule of the kind `rule` for derivatives.
Op custom_call_op(std::string name, std::string doc, std::string_view rule);

}  // namespace tessera::inline v0::ops

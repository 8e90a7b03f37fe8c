// Equations that call host functions.
#pragma once

#include "ir/builder.h"
#include "ir/callback.h"

#include <span>
#include <vector>

namespace tessera::inline v0::ops {

/// If `holds` is true, calls the function with the operands and returns its results, which must
/// have the given types; otherwise the results are zeros. The call is a side effect: it happens
/// exactly as often as the program calls it, in program order. `device` is an int32 scalar, which
/// the function receives as the number of its device.
struct HostCallOptions {
  /// Whether programs with such calls run in the order in which they were called, even if a
  /// function takes long.
  bool ordered = true;
  /// In a partitioned program, one device calls the function with the unsharded values. If this is
  /// true, each device calls it with its own shards, and there must be no results.
  bool takes_shards = false;
};
Values host_call(Value holds, Value device, std::shared_ptr<const HostFunction> function,
                 std::span<const Type> results, std::span<const Value> operands,
                 HostCallOptions options = {});
/// Whether an equation with side effects is a host call that takes shards, and the index of its
/// operand that is the number of the device.
bool takes_shards(const Attrs& attrs);
inline constexpr std::size_t kDeviceOperand = 1;
/// Passes the specs of the equation's operands to the function of such a call.
void tell_placed(const Attrs& attrs, const MeshShape& mesh, std::span<const Spec> specs);
/// Whether the program has side effects other than calls that are not ordered.
bool has_ordered_effects(const Program& p);
/// Whether it calls host functions, with side effects or without.
bool calls_host(const Program& p);

/// The same for a function without side effects: it is not called if no result is needed, and may
/// be called once for devices with equal operands.
Values pure_host_call(Builder& b, std::shared_ptr<const HostFunction> function,
                      std::span<const Type> results, std::span<const Value> operands);

}  // namespace tessera::inline v0::ops

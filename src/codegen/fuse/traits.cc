#include "codegen/fuse/traits.h"

#include "codegen/calls/calls.h"
#include "codegen/kernel/kernel.h"
#include "ir/op.h"
#include "ops/contraction/dot_dims.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tessera::inline v0::codegen {

namespace {
bool named(const Equation& e, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), std::string_view(e.op->name)) != names.end();
}
}  // namespace

Role role_of(const Program& p, const Equation& e) {
  if (e.op->lowering == Lowering::view) return Role::free;
  if (named(e, {"dot_general"}) &&
      ops::multiplies_in_loops(p.type(e.inputs[0]), p.type(e.inputs[1]), p.type(e.outputs[0]),
                               ops::dot_dims(e.attrs)))
    return Role::window;
  if (!is_emitted(e) || e.outputs.empty() || copies_pieces(e)) return Role::apart;
  if (named(e, {"constant", "iota", "broadcast_in_dim", "stop_gradient", "optimization_barrier",
                "checkpoint_name"}))
    return Role::free;
  if (e.op->elementwise) return Role::elementwise;
  if (named(e, {"transpose", "reverse", "slice", "pad", "concatenate", "dynamic_slice"}))
    return Role::movement;
  if (e.op->name.starts_with("reduce_") && e.attrs.has("axes")) return Role::reduction;
  return Role::window;
}

bool is_expensive(const Equation& e) { return !e.op->cheap; }

bool reduces_trailing(const Program& p, const Equation& e) {
  const Shape& in = p.type(e.inputs[0]).shape;
  const Ints& axes = e.attrs.ints("axes");
  auto reduced = [&](std::size_t d) {
    return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
  };
  bool started = false;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (in[d] == 1) continue;
    if (reduced(d))
      started = true;
    else if (started)
      return false;
  }
  return started;
}

}  // namespace tessera::inline v0::codegen

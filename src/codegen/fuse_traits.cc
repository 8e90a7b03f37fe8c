#include "codegen/fuse_traits.h"

#include "codegen/calls.h"
#include "codegen/kernel.h"
#include "ir/op.h"
#include "ops/dot_dims.h"

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

std::vector<std::int64_t> squeezed(const Shape& shape) {
  std::vector<std::int64_t> s;
  for (std::int64_t d : shape)
    if (d != 1) s.push_back(d);
  return s;
}

Reading reading_of_broadcast(const Program& p, const Equation& e) {
  const Shape &in = p.type(e.inputs[0]).shape, &out = p.type(e.outputs[0]).shape;
  const Ints& dims = e.attrs.ints("dims");
  // The result dimensions, other than 1, that the operand's dimensions become.
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i] != 1) kept.push_back(static_cast<std::size_t>(dims[i]));
  std::size_t seen = 0, larger = 0;
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 1) continue;
    ++larger;
    if (seen < kept.size() && kept[seen] == d && larger == seen + 1) ++seen;
  }
  if (seen != kept.size()) return Reading::other;
  return seen == larger ? Reading::same : Reading::leading;
}

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

#include "explain/live.h"

#include "codegen/fuse/traits.h"
#include "ir/nested.h"
#include "ir/op.h"

#include <algorithm>

namespace tessera::inline v0::explain {

namespace {

bool passes_on(FuseRole role) { return role == FuseRole::elementwise || role == FuseRole::free; }

bool is_view(const Equation& eqn) {
  return (eqn.op->forwards || eqn.op->lowering == Lowering::view) && !eqn.inputs.empty();
}

}  // namespace

std::vector<bool> stored(const Program& p) {
  std::vector<std::uint32_t> reads(p.types.size());
  std::vector<bool> fused(p.types.size()), made_freely(p.types.size());
  for (const Equation& eqn : p.equations) {
    const FuseRole role = codegen::role_of(p, eqn);
    for (Var v : eqn.inputs) {
      ++reads[v];
      fused[v] = passes_on(role) || role == FuseRole::reduction;
    }
    for (Var v : eqn.outputs) made_freely[v] = passes_on(role);
  }
  for (Var v : p.outputs) reads[v] += 2;
  std::vector<bool> all(p.types.size());
  for (std::size_t v = 0; v < all.size(); ++v)
    all[v] = !(made_freely[v] && fused[v] && reads[v] == 1);
  return all;
}

std::int64_t live_bytes(const Program& p) {
  const std::vector<bool> is_stored = stored(p);
  // `holder` is the value whose buffer holds a value's bytes: itself, or the value that it is a
  // view of. A value that is not stored has no buffer, but its operands are needed until it is
  // read.
  std::vector<Var> holder(p.types.size());
  for (std::size_t v = 0; v < holder.size(); ++v) holder[v] = static_cast<Var>(v);
  std::vector<bool> elsewhere(p.types.size());
  for (Var v : p.inputs) elsewhere[v] = true;
  for (const Equation& eqn : p.equations)
    if (is_view(eqn))
      for (Var v : eqn.outputs) holder[v] = holder[eqn.inputs[0]];
  for (Var v : p.outputs) elsewhere[holder[v]] = true;

  constexpr std::size_t kNever = static_cast<std::size_t>(-1);
  std::vector<std::size_t> last(p.types.size(), kNever);
  const auto bytes = [&](Var v) {
    return holder[v] != v || elsewhere[v] || !is_stored[v] ? 0 : p.types[v].bytes();
  };
  // Backwards, so that a fused value extends its operands' lifetimes to its reader.
  for (std::size_t k = p.equations.size(); k-- > 0;) {
    const Equation& eqn = p.equations[k];
    std::size_t at = k;
    if (eqn.outputs.size() == 1 && !is_stored[eqn.outputs[0]] && last[eqn.outputs[0]] != kNever)
      at = last[eqn.outputs[0]];
    for (Var v : eqn.inputs) {
      for (Var held : {v, holder[v]})
        if (last[held] == kNever || last[held] < at) last[held] = at;
    }
  }
  std::vector<std::int64_t> freed(p.equations.size() + 1);
  std::int64_t live = 0, most = 0;
  for (std::size_t k = 0; k < p.equations.size(); ++k) {
    const Equation& eqn = p.equations[k];
    for (Var v : eqn.outputs) {
      live += bytes(v);
      freed[last[v] == kNever ? k : last[v]] += bytes(v);
    }
    std::int64_t inside = 0;
    if (const std::optional<Flow> flow = flow_of(eqn))
      for (const ProgramPtr& nested : flow->programs)
        inside = std::max(inside, live_bytes(*nested));
    most = std::max(most, live + inside);
    live -= freed[k];
  }
  return most;
}

}  // namespace tessera::inline v0::explain

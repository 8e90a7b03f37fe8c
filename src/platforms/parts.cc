#include "platforms/parts.h"

#include "ir/nested.h"
#include "ir/op.h"
#include "ops/control/host_call.h"
#include "platforms/maps.h"
#include "stablehlo/emit/emission.h"
#include "transform/map_nested.h"
#include "transform/replace_equations.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tessera::inline v0::platforms {

namespace {

// Whether libraries compute the op, and the target's libraries support it for this dtype.
bool has_library(const Op& op, DType dtype, const stablehlo::Target& target) {
  const auto all = stablehlo::targets();
  if (std::none_of(all.begin(), all.end(), [&](const auto& t) { return t.find(op); })) return true;
  const stablehlo::LibraryOp* row = target.find(op);
  return row && std::find(row->dtypes.begin(), row->dtypes.end(), dtype) != row->dtypes.end();
}

bool lacks_library(const Equation& e, const Program& p, const stablehlo::Target& target) {
  return !e.inputs.empty() && !has_library(*e.op, p.type(e.inputs[0]).dtype, target);
}

bool can_run(const Program& p, const stablehlo::Target& target, WithoutLibrary without) {
  return std::all_of(p.equations.begin(), p.equations.end(),
                     [&](const Equation& e) { return platforms::can_run(e, p, target, without); });
}

// The place where an equation may run: on the host, or on the platform, possibly on the devices of
// its maps.
struct Needs {
  bool host = false;
  std::vector<int> devices = {};  // sorted; empty: any
};
Needs needs_of(const Equation& eqn, const Program& p, const stablehlo::Target& target,
               WithoutLibrary without) {
  if (!platforms::can_run(eqn, p, target, without)) return {true, {}};
  Needs needs;
  for (const MeshRef& mesh : meshes_of(eqn)) {
    const std::vector<int> devices = devices_of(*mesh);
    needs.devices.insert(needs.devices.end(), devices.begin(), devices.end());
  }
  std::sort(needs.devices.begin(), needs.devices.end());
  needs.devices.erase(std::unique(needs.devices.begin(), needs.devices.end()), needs.devices.end());
  return needs;
}

// A stage runs on the host or on the platform, depending on its first equation. All maps of a stage
// are over the same devices.
struct Stage {
  bool on_host = false, begun = false;
  std::vector<int> devices = {};

  bool takes(const Needs& needs) const {
    if (!begun) return true;
    if (on_host != needs.host) return false;
    return devices.empty() || needs.devices.empty() || devices == needs.devices;
  }
  void take(const Needs& needs) {
    begun = true;
    on_host = needs.host;
    if (devices.empty()) devices = needs.devices;
  }
};

// A copy of some equations of a program.
ProgramPtr extracted(const Program& p, const std::vector<const Equation*>& equations,
                     const std::vector<Var>& inputs, const std::vector<Var>& outputs) {
  auto out = std::make_shared<Program>();
  out->name = p.name;
  std::map<Var, Var> renamed;
  const auto rename = [&](Var v) {
    const auto [at, is_new] = renamed.try_emplace(v, static_cast<Var>(out->types.size()));
    if (is_new) out->types.push_back(p.types[v]);
    return at->second;
  };
  for (const Var v : inputs) out->inputs.push_back(rename(v));
  for (const Equation* e : equations) {
    Equation& copy = out->equations.emplace_back(*e);
    for (Var& v : copy.inputs) v = rename(v);
    for (Var& v : copy.outputs) v = rename(v);
  }
  for (const Var v : outputs) out->outputs.push_back(rename(v));
  return out;
}

}  // namespace

bool can_run(const Equation& eqn, const Program& p, const stablehlo::Target& target,
             WithoutLibrary without) {
  if (eqn.op->effect) return false;
  const stablehlo::Emission* emission = stablehlo::emission_of(*eqn.op);
  if (emission && emission->never) return false;
  const bool has_loops = without == WithoutLibrary::loops && stablehlo::find_loops(*eqn.op);
  if (!has_loops && lacks_library(eqn, p, target)) return false;
  return !any_nested(eqn.attrs, [&](const ProgramPtr& q) { return !can_run(*q, target, without); });
}

WithLoops with_loops(const ProgramPtr& p, const stablehlo::Target& target,
                     const ops::LoopOptions& options) {
  WithLoops out;
  const auto add = [&](const std::string& op) {
    if (std::find(out.ops.begin(), out.ops.end(), op) == out.ops.end()) out.ops.push_back(op);
  };
  const ProgramPtr inner = map_nested(p, [&](const ProgramPtr& q) {
    WithLoops nested = with_loops(q, target, options);
    for (const std::string& op : nested.ops) add(op);
    return nested.program;
  });
  out.program = replace_equations(
      inner, [&](const Program& q, const Equation& e) -> std::shared_ptr<Program> {
        const stablehlo::LoopForm* form = stablehlo::find_loops(*e.op);
        if (!form || !lacks_library(e, q, target)) return nullptr;
        add(e.op->shown());
        return parts_for(q, e, [&](Builder&, const Values& operands) {
          return std::optional(form->write(e.attrs, operands[0], options));
        });
      });
  return out;
}

std::vector<Part> parts_of(const ProgramPtr& program, const stablehlo::Target& target,
                           WithoutLibrary without) {
  const Program& p = *program;
  const std::size_t n = p.equations.size();
  std::vector<Needs> needs;
  for (const Equation& e : p.equations) needs.push_back(needs_of(e, p, target, without));
  Stage only;
  bool one_stage = true;
  for (const Needs& own : needs) {
    one_stage = one_stage && !own.host && only.takes(own);
    only.take(own);
  }
  if (one_stage) {
    if (n == 0) return {};
    std::set<Var> not_made(p.inputs.begin(), p.inputs.end());
    std::vector<Var> made;
    for (const Var v : p.outputs)
      if (not_made.insert(v).second) made.push_back(v);
    if (made == p.outputs) return {{false, program, p.inputs, p.outputs}};
    std::vector<const Equation*> all;
    for (const Equation& e : p.equations) all.push_back(&e);
    return {{false, extracted(p, all, p.inputs, made), p.inputs, made}};
  }

  // An equation belongs to the first stage of the right place in which its operands are available.
  // The first stage runs on the platform.
  std::vector<Stage> stages(1);
  stages[0].begun = true;
  std::vector<std::size_t> stage_of(p.types.size(), 0), stage(n);
  std::size_t last_effect = 0;
  for (std::size_t e = 0; e < n; ++e) {
    const Equation& eqn = p.equations[e];
    const bool effects = has_effects(eqn);
    std::size_t at = effects ? last_effect : 0;
    for (const Var v : eqn.inputs) at = std::max(at, stage_of[v]);
    while (at < stages.size() && !stages[at].takes(needs[e])) ++at;
    if (at == stages.size()) stages.emplace_back();
    stages[at].take(needs[e]);
    if (effects) last_effect = at;
    stage[e] = at;
    for (const Var v : eqn.outputs) stage_of[v] = at;
  }

  std::vector<Part> parts;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    std::vector<const Equation*> own;
    std::set<Var> made;
    Part part{stages[s].on_host, nullptr, {}, {}};
    std::set<Var> read;
    for (std::size_t e = 0; e < n; ++e) {
      if (stage[e] != s) continue;
      own.push_back(&p.equations[e]);
      for (const Var v : p.equations[e].inputs)
        if (!made.contains(v) && read.insert(v).second) part.inputs.push_back(v);
      made.insert(p.equations[e].outputs.begin(), p.equations[e].outputs.end());
    }
    if (own.empty()) continue;
    // The values that later stages read, and results.
    std::set<Var> wanted(p.outputs.begin(), p.outputs.end());
    for (std::size_t e = 0; e < n; ++e)
      if (stage[e] > s) wanted.insert(p.equations[e].inputs.begin(), p.equations[e].inputs.end());
    for (const Var v : made)
      if (wanted.contains(v)) part.outputs.push_back(v);
    part.program = extracted(p, own, part.inputs, part.outputs);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace tessera::inline v0::platforms

#include "spmd/region/checks.h"

#include <tessera/inline_vector.h>

#include "ir/collective_attrs.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "spmd/region/uniformity.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {

std::vector<AxisSet> axes_of(const Specs& specs) {
  std::vector<AxisSet> axes;
  for (const Spec& s : specs) axes.push_back(s.axes());
  return axes;
}

std::string in_line(const SourceLoc& loc) { return loc ? " in " + to_string(loc) : ""; }

// For example "differs from device to device along 'i' since main.cc:12, which uses args[1]".
std::string since(const MapInfo& map, const std::vector<AxisSet>& varying, Var v,
                  const std::string& axis) {
  VaryingSource source = why_varying(map.body, varying, v, axis);
  std::string along = " from device to device";
  if (map.named) along += " along '" + axis + "'";
  if (source.equation != VaryingSource::npos)
    return "differs" + along + " since " + map.body.equations[source.equation].op->shown() +
           in_line(source.loc);
  std::string input = source.input < map.input_paths.size()
                          ? map.input_paths[source.input]
                          : "input " + std::to_string(source.input);
  if (!source.loc) return "is " + input + ", which differs" + along;
  return "differs" + along + " since " + to_string(source.loc) + ", which uses " + input;
}

std::string path_of(const MapInfo& map, std::size_t output) {
  return output < map.output_paths.size() ? map.output_paths[output]
                                          : "output " + std::to_string(output);
}

// The first mesh axis over which output `i` varies although its spec omits it; empty if there is
// none. Other axes belong to enclosing maps, to which the spec does not apply.
std::string undeclared(const MapInfo& map, const std::vector<AxisSet>& varying, std::size_t i) {
  AxisSet named = map.out_specs[i].axes();
  for (const auto& axis : varying[map.body.outputs[i]])
    if (!named.contains(axis) && map.mesh.find(axis) >= 0) return axis;
  return {};
}

}  // namespace

void check_replicated_outputs(const MapInfo& map) {
  std::vector<AxisSet> varying = uniformity(map.body, axes_of(map.in_specs));
  Message m(map.function);
  std::string axis;
  for (std::size_t i = 0; i < map.out_specs.size(); ++i) {
    std::string missing = undeclared(map, varying, i);
    if (missing.empty()) continue;
    if (axis.empty()) axis = missing;
    m.offender(path_of(map, i) + " " + since(map, varying, map.body.outputs[i], missing));
  }
  if (axis.empty()) return;
  m.problem("a result is declared the same on all devices, but differs")
      .rule(
          "a replicated result comes from replicated values and from collectives that give all "
          "devices the same")
      .from(map.loc)
      .advice((map.named ? "pmean or psum over '" + axis + "' before returning it"
                         : "give " + map.function +
                               " a name for its axis, .axis_name = \"devices\", and pmean or psum "
                               "over it before returning") +
              ", or " + map.declaring)
      .raise<ShardingError>();
}

namespace {

// Decides whether a value is an update of an input, by walking backwards along Op::updates.
class Updates {
 public:
  Updates(const Program& p, const std::vector<AxisSet>& varying, const std::string& axis)
      : p_(p), varying_(varying), axis_(axis), definition_(p.types.size(), kNone) {
    for (std::size_t k = 0; k < p.equations.size(); ++k)
      for (Var o : p.equations[k].outputs) definition_[o] = k;
  }

  bool is_update(Var out, Var in) const {
    std::vector<bool> seen(p_.types.size());
    std::vector<Var> open{out};
    while (!open.empty()) {
      const Var v = open.back();
      open.pop_back();
      if (v == in) return true;
      if (seen[v] || definition_[v] == kNone) continue;
      seen[v] = true;
      follow(p_.equations[definition_[v]], v, open);
    }
    return false;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void follow(const Equation& e, Var v, std::vector<Var>& open) const {
    if (!e.op->updates) return;
    InlineVector<bool, 8> same;
    for (Var operand : e.inputs) same.push_back(!varying_[operand].contains(axis_));
    const auto output = static_cast<std::size_t>(std::find(e.outputs.begin(), e.outputs.end(), v) -
                                                 e.outputs.begin());
    for (std::size_t i : e.op->updates({e.attrs, {same.data(), same.size()}, output}))
      open.push_back(e.inputs[i]);
  }

  const Program& p_;
  const std::vector<AxisSet>& varying_;
  const std::string& axis_;
  std::vector<std::size_t> definition_;
};

}  // namespace

std::optional<Message> divergence_warning(const MapInfo& map,
                                          const std::vector<StatePair>& states) {
  std::vector<AxisSet> in = axes_of(map.in_specs);
  std::vector<AxisSet> varying = uniformity(map.body, in);
  Message m(map.function);
  bool any = false;
  std::string over;
  // If one result returns the state replicated, another result for it may be a deliberate
  // per-device copy.
  const auto comes_back_same = [&](const StatePair& state, const std::string& axis) {
    return std::any_of(states.begin(), states.end(), [&](const StatePair& other) {
      return other.input_path == state.input_path &&
             std::none_of(other.outputs.begin(), other.outputs.end(), [&](std::size_t o) {
               return varying[map.body.outputs[o]].contains(axis);
             });
    });
  };
  for (const StatePair& state : states) {
    for (const auto& axis : map.mesh.axes) {
      if (map.mesh.size_of(axis) == 1) continue;  // a single device cannot diverge
      const bool entered = std::none_of(state.inputs.begin(), state.inputs.end(),
                                        [&](std::size_t i) { return in[i].contains(axis); });
      if (!entered || state.inputs.size() != state.outputs.size() || comes_back_same(state, axis))
        continue;
      const Updates updates(map.body, varying, axis);
      std::optional<std::size_t> first;
      bool all_updates = true;
      for (std::size_t k = 0; k < state.outputs.size() && all_updates; ++k) {
        const Var out = map.body.outputs[state.outputs[k]];
        if (!varying[out].contains(axis)) continue;
        if (!first) first = state.outputs[k];
        all_updates = updates.is_update(out, map.body.inputs[state.inputs[k]]);
      }
      if (!first || !all_updates) continue;
      m.offender(state.input_path + " enters the same on all devices; " + path_of(map, *first) +
                 " " + since(map, varying, map.body.outputs[*first], axis));
      if (over.empty()) over = axis;
      any = true;
      break;
    }
  }
  if (!any) return std::nullopt;
  return m.problem("the devices' copies of a state drift apart")
      .rule("devices that start alike stay alike as long as each applies the same update")
      .from(map.loc)
      .advice(map.named ? "average the gradients before the update: grads = ts::pmean(grads, \"" +
                              over + "\")"
                        : "give " + map.function +
                              " a name for its axis, .axis_name = \"i\", and average the gradients "
                              "before the update: grads = ts::pmean(grads, \"i\")");
}

namespace {

struct Predicate {
  AxisSet axes;
  const Equation* control;
};

// Along the axis of an enclosing vmap both branches run, so only device axes are checked.
void find_lonely_collectives(const Program& p, const std::vector<AxisSet>& inputs,
                             const MeshShape& mesh, std::vector<Predicate>& under,
                             std::vector<std::string>& offenders) {
  std::vector<AxisSet> varying = uniformity(p, inputs);
  std::vector<AxisSet> operands;
  for (const Equation& eqn : p.equations) {
    if (eqn.op->lowering == Lowering::collective && !eqn.op->position) {
      for (const Predicate& predicate : under)
        for (const auto& axis : CollectiveAttrs(eqn.attrs).axes)
          if (predicate.axes.contains(axis) && mesh.find(axis) >= 0) {
            offenders.push_back(eqn.op->shown() + in_line(eqn.loc) + " over '" + axis +
                                "' is inside the " + predicate.control->op->name +
                                in_line(predicate.control->loc) +
                                ", whose predicate differs along '" + axis + "'");
            break;
          }
      continue;
    }
    operands.clear();
    for (Var v : eqn.inputs) operands.push_back(varying[v]);
    // A nested region may use the enclosing axes; its own axes are checked where it is built.
    if (const std::optional<Flow> flow = flow_of(eqn); flow && flow->kind == Flow::Kind::region) {
      find_lonely_collectives(*flow->body(), operands, mesh, under, offenders);
      continue;
    }
    for (const NestedProgram& nested : nested_programs(eqn, operands)) {
      if (!nested.predicate.empty()) under.push_back({nested.predicate, &eqn});
      find_lonely_collectives(*nested.program, nested.inputs, mesh, under, offenders);
      if (!nested.predicate.empty()) under.pop_back();
    }
  }
}

}  // namespace

void check_collectives_in_control_flow(const MapInfo& map) {
  std::vector<Predicate> under;
  std::vector<std::string> offenders;
  find_lonely_collectives(map.body, axes_of(map.in_specs), map.mesh, under, offenders);
  if (offenders.empty()) return;
  Message m(map.function);
  for (std::string& o : offenders) m.offender(std::move(o));
  m.problem("a collective would wait for devices that never come to it")
      .rule(
          "all devices along an axis run a collective over it, so they agree on the predicates "
          "around it")
      .from(map.loc)
      .advice(
          "make the predicate the same on all devices with pmax or psum, or move the collective "
          "out")
      .raise<CollectiveError>();
}

}  // namespace tessera::inline v0::spmd

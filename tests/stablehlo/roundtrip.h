// Programs written as StableHLO and read back.
#pragma once

#include "ir/nested.h"
#include "ir/op.h"
#include "stablehlo/emit/emit.h"
#include "stablehlo/import/import.h"
#include "stablehlo/text/syntax.h"
#include "transform/simplify.h"

namespace roundtrip {

using namespace tessera;

inline std::string text_of(const Program& p,
                           const stablehlo::Target& target = stablehlo::default_target()) {
  stablehlo::Exported e;
  for (std::size_t i = 0; i < p.inputs.size(); ++i) e.inputs.push_back("x" + std::to_string(i));
  for (std::size_t i = 0; i < p.outputs.size(); ++i) e.outputs.push_back("y" + std::to_string(i));
  return stablehlo::emit_module(p, e, target);
}

inline stablehlo::Imported read(const std::string& text, std::int64_t devices = 0) {
  auto source = std::make_shared<stablehlo::Source>();
  source->text = text;
  return stablehlo::import_function(stablehlo::parse(source, {0, text.size()}).at(0), "main",
                                    {.devices = devices});
}

/// Without what StableHLO does not say and what its writer takes apart: weak types, functions with
/// derivatives of their own.
inline ProgramPtr strong(const ProgramPtr& p) {
  Builder b(p->name);
  std::vector<Value> env(p->types.size());
  for (Var v : p->inputs) env[v] = b.input(Type(p->types[v].dtype, p->types[v].shape));
  for (const Equation& e : p->equations) {
    Values in;
    for (Var v : e.inputs) in.push_back(env[v]);
    Values out;
    if (e.op->lowering == Lowering::expanded) {
      out = b.inline_program(*strong(expansion(e)), in);
    } else {
      Attrs attrs;
      for (const auto& [name, value] : e.attrs) {
        if (name == "weak" && !e.op->elementwise) continue;
        if (name == "weak") {
          attrs.set(name, false);
        } else if (auto* nested = std::get_if<ProgramPtr>(&value)) {
          attrs.set(name, strong(*nested));
        } else if (auto* all = std::get_if<Programs>(&value)) {
          Programs made;
          for (const ProgramPtr& q : *all) made.push_back(strong(q));
          attrs.set(name, made);
        } else if (auto* mesh = std::get_if<MeshRef>(&value); mesh && (*mesh)->devices.empty()) {
          DeviceMesh of_first = **mesh;
          for (int d = 0; d < static_cast<int>(of_first.size()); ++d) of_first.devices.push_back(d);
          attrs.set(name, MeshRef(of_first));
        } else {
          attrs.set(name, value);
        }
      }
      out = b.emit(*e.op, in, std::move(attrs));
    }
    for (std::size_t i = 0; i < out.size(); ++i) env[e.outputs[i]] = out[i];
  }
  Values out;
  for (Var v : p->outputs) out.push_back(env[v]);
  return b.finish_pruned(out);
}

inline ProgramPtr canonical(const ProgramPtr& p) { return simplify(strong(p)); }

}  // namespace roundtrip

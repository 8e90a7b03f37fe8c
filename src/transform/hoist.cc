// What a scan computes anew in every turn although it is the same.
#include "ir/op.h"
#include "transform/simplify.h"

#include <algorithm>

namespace tessera::inline v0 {

namespace {

// Worth an array of its own, and without effects of where it runs.
bool moves(const Equation& e) {
  bool worth = e.op->name == "transpose" || !e.op->cheap;
  return worth && !e.inputs.empty() &&
         (e.op->lowering == Lowering::emitted || e.op->lowering == Lowering::called) &&
         e.op->name != "optimization_barrier" && e.op->name != "checkpoint_name";
}

}  // namespace

ProgramPtr hoist(const ProgramPtr& p) {
  std::shared_ptr<Program> q;
  for (std::size_t k = 0; k < p->equations.size(); ++k) {
    const Equation& scan = p->equations[k];
    std::vector<std::size_t> moved;
    std::vector<bool> fixed;
    std::size_t consts = 0;
    if (scan.op->name == "scan" && scan.attrs.i("length") > 1) {
      const Program& body = *scan.attrs.program("body");
      consts = static_cast<std::size_t>(scan.attrs.i("consts"));
      fixed.resize(body.types.size());
      for (std::size_t i = 0; i < consts; ++i) fixed[body.inputs[i]] = true;
      for (std::size_t i = 0; i < body.equations.size(); ++i) {
        const Equation& e = body.equations[i];
        if (!moves(e) ||
            !std::all_of(e.inputs.begin(), e.inputs.end(), [&](Var v) { return fixed[v]; }))
          continue;
        moved.push_back(i);
        for (Var v : e.outputs) fixed[v] = true;
      }
    }
    if (!moved.empty() && !q) {
      q = std::make_shared<Program>(*p);
      q->equations.assign(p->equations.begin(),
                          p->equations.begin() + static_cast<std::ptrdiff_t>(k));
    }
    if (moved.empty()) {
      if (q) q->equations.push_back(scan);
      continue;
    }
    auto body = std::make_shared<Program>(*scan.attrs.program("body"));
    Equation loop = scan;
    std::vector<Var> outside(body->types.size());
    for (std::size_t i = 0; i < consts; ++i) outside[body->inputs[i]] = scan.inputs[i];
    std::vector<Var> made, operands;
    for (std::size_t i : moved) {
      Equation e = body->equations[i];
      for (Var& v : e.inputs) v = outside[v];
      for (Var& v : e.outputs) {
        q->types.push_back(body->types[v]);
        outside[v] = static_cast<Var>(q->types.size() - 1);
        made.push_back(v);
        operands.push_back(outside[v]);
        v = outside[v];
      }
      q->equations.push_back(std::move(e));
    }
    auto at = static_cast<std::ptrdiff_t>(consts);
    body->inputs.insert(body->inputs.begin() + at, made.begin(), made.end());
    loop.inputs.insert(loop.inputs.begin() + at, operands.begin(), operands.end());
    for (std::size_t i = moved.size(); i-- > 0;)
      body->equations.erase(body->equations.begin() + static_cast<std::ptrdiff_t>(moved[i]));
    loop.attrs.set("consts", static_cast<std::int64_t>(consts + made.size()));
    loop.attrs.set("body", ProgramPtr(body));
    q->equations.push_back(std::move(loop));
  }
  return q ? ProgramPtr(q) : p;
}

}  // namespace tessera::inline v0

// Common subexpression elimination.
#include "base/hash.h"
#include "ir/attr_hash.h"
#include "ir/builder.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "transform/simplify.h"

#include <functional>
#include <numeric>
#include <unordered_map>

namespace tessera::inline v0 {

namespace {

std::size_t hash_of(const Equation& eqn) {
  std::size_t h = std::hash<const void*>()(eqn.op);
  for (Var v : eqn.inputs) mix(h, v);
  for (const auto& [name, value] : eqn.attrs) mix(h, hash_of(value));
  return h;
}

}  // namespace

ProgramPtr merge_common(const ProgramPtr& p) {
  auto q = std::make_shared<Program>(*p);
  std::vector<Var> same(q->types.size());
  std::iota(same.begin(), same.end(), Var{0});
  std::unordered_multimap<std::size_t, const Equation*> seen;
  bool changed = false;
  for (Equation& eqn : q->equations) {
    for (Var& v : eqn.inputs) v = same[v];
    if (eqn.op->barrier) continue;
    std::size_t h = hash_of(eqn);
    auto [first, last] = seen.equal_range(h);
    const Equation* equal = nullptr;
    for (auto it = first; it != last && !equal; ++it) {
      const Equation& e = *it->second;
      if (e.op == eqn.op && e.inputs == eqn.inputs && e.outputs.size() == eqn.outputs.size() &&
          e.attrs == eqn.attrs)
        equal = &e;
    }
    if (equal && has_effects(eqn)) equal = nullptr;
    for (std::size_t i = 0; equal && i < eqn.outputs.size(); ++i)
      if (!(q->types[eqn.outputs[i]] == q->types[equal->outputs[i]])) equal = nullptr;
    if (!equal) {
      seen.emplace(h, &eqn);
      continue;
    }
    for (std::size_t i = 0; i < eqn.outputs.size(); ++i) same[eqn.outputs[i]] = equal->outputs[i];
    changed = true;
  }
  if (!changed) return p;
  for (Var& v : q->outputs) v = same[v];
  return prune(*q);
}

}  // namespace tessera::inline v0

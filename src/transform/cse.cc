// Common subexpressions.
#include "ir/builder.h"
#include "ir/op.h"
#include "transform/simplify.h"

#include <functional>
#include <numeric>
#include <unordered_map>

namespace tessera::inline v0 {

namespace {

void mix(std::size_t& h, std::size_t v) { h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2); }

// Cheap rather than complete: what it leaves out, the comparison sees.
std::size_t hash_of(const AttrValue& value) {
  std::size_t h = value.index();
  if (const auto* i = std::get_if<std::int64_t>(&value)) mix(h, static_cast<std::size_t>(*i));
  if (const auto* b = std::get_if<bool>(&value)) mix(h, *b);
  if (const auto* d = std::get_if<DType>(&value)) mix(h, static_cast<std::size_t>(*d));
  if (const auto* s = std::get_if<std::string>(&value)) mix(h, std::hash<std::string>()(*s));
  if (const auto* v = std::get_if<Ints>(&value))
    for (std::int64_t i : *v) mix(h, static_cast<std::size_t>(i));
  if (const auto* l = std::get_if<Literal>(&value)) {
    mix(h, static_cast<std::size_t>(l->dtype));
    mix(h, std::hash<std::string_view>()(
               {reinterpret_cast<const char*>(l->bytes->data()), l->bytes->size()}));
  }
  if (const auto* p = std::get_if<ProgramPtr>(&value))
    if (*p) mix(h, (*p)->equations.size());
  return h;
}

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

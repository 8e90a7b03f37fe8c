#include "spmd/propagate/rule_table.h"

#include "base/hash.h"
#include "ir/attr_hash.h"
#include "ir/op.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {

void mix_shape(std::size_t& h, const Shape& shape) {
  mix(h, shape.size());
  for (std::int64_t n : shape) mix(h, n);
}

// All elementwise ops share one rule for the same shapes.
std::size_t rule_hash(const Program& p, const Equation& eqn) {
  const bool elementwise = eqn.op->elementwise;
  std::size_t h = elementwise ? 0 : reinterpret_cast<std::uintptr_t>(eqn.op);
  for (Var v : eqn.inputs) mix_shape(h, p.types[v].shape);
  mix(h, eqn.inputs.size());
  for (Var v : eqn.outputs) mix_shape(h, p.types[v].shape);
  if (!elementwise)
    for (const auto& [name, value] : eqn.attrs) mix(h, tessera::hash_of(value));
  return h;
}

bool same_signature(const Program& p, const Equation& a, const Program& q, const Equation& b) {
  auto shapes = [&](const std::vector<Var>& u, const std::vector<Var>& v) {
    return std::equal(u.begin(), u.end(), v.begin(), v.end(),
                      [&](Var x, Var y) { return p.types[x].shape == q.types[y].shape; });
  };
  if (!shapes(a.inputs, b.inputs) || !shapes(a.outputs, b.outputs)) return false;
  return (a.op->elementwise && b.op->elementwise) || (a.op == b.op && a.attrs == b.attrs);
}

}  // namespace

std::uint32_t RuleTable::add(CutRule rule) {
  if (rule.idle()) return none;
  rules_.push_back(std::move(rule));
  return static_cast<std::uint32_t>(rules_.size()) - 1;
}

std::uint32_t RuleTable::of(const Program& program, const Equation& eqn) {
  if (!eqn.op->sharding) return none;
  const auto same = [&](const Known& k) {
    return same_signature(program, eqn, *k.program, *k.eqn);
  };
  const auto make = [&] {
    std::vector<Type> in, out;
    std::vector<Shape> in_shapes, out_shapes;
    for (Var v : eqn.inputs) in_shapes.push_back(in.emplace_back(program.types[v]).shape);
    for (Var v : eqn.outputs) out_shapes.push_back(out.emplace_back(program.types[v]).shape);
    return Known{&program, &eqn,
                 add(CutRule(eqn.op->sharding({in, out, eqn.attrs}), in_shapes, out_shapes))};
  };
  return known_[known_.id(rule_hash(program, eqn), same, make)].rule;
}

std::uint32_t RuleTable::edge(std::vector<std::int64_t> key, const FactorRule& rule,
                              const std::vector<Shape>& inputs, const std::vector<Shape>& outputs,
                              Toward toward) {
  std::size_t h = 0;
  mix(h, key);
  const auto same = [&](const Edge& e) { return e.key == key; };
  const auto make = [&] {
    return Edge{std::move(key), add(CutRule::edge(rule, inputs, outputs, toward))};
  };
  return edges_[edges_.id(h, same, make)].rule;
}

std::uint32_t RuleTable::identity(const Shape& shape, std::size_t operands, bool result,
                                  Toward toward) {
  std::vector<std::int64_t> key{0, static_cast<std::int64_t>(operands), result,
                                static_cast<std::int64_t>(toward)};
  key.insert(key.end(), shape.begin(), shape.end());
  FactorRule rule;
  const std::vector<int> dims = rule.factors(shape);
  for (std::size_t i = 0; i < operands; ++i) rule.input(dims);
  if (result) rule.output(dims);
  return edge(std::move(key), rule, std::vector<Shape>(operands, shape),
              std::vector<Shape>(result, shape), toward);
}

std::uint32_t RuleTable::row(const Shape& stacked, bool cut) {
  std::vector<std::int64_t> key{1, cut};
  key.insert(key.end(), stacked.begin(), stacked.end());
  const Shape one(stacked.begin() + 1, stacked.end());
  FactorRule rule;
  const std::vector<int> all = rule.factors(stacked);
  rule.mark(FactorRule::Kind::need_repl, all[0]);
  rule.mark(FactorRule::Kind::blocked, all[0]);
  const std::vector<int> inside(all.begin() + 1, all.end());
  rule.input(cut ? all : inside);
  rule.output(cut ? inside : all);
  return edge(std::move(key), rule, {cut ? stacked : one}, {cut ? one : stacked});
}

std::uint32_t RuleTable::block(const Shape& whole, const std::vector<std::int64_t>& parts,
                               bool cut) {
  std::vector<std::int64_t> key{2, cut};
  key.insert(key.end(), whole.begin(), whole.end());
  key.insert(key.end(), parts.begin(), parts.end());
  FactorRule rule;
  FactorRule::Dims outside, inside;
  Shape one = whole;
  for (std::size_t d = 0; d < parts.size(); ++d) {
    one[d] /= parts[d];
    outside.emplace_back();
    if (parts[d] > 1) {
      outside.back().push_back(rule.factor(parts[d], 'p'));
      rule.mark(FactorRule::Kind::need_repl, outside.back().back());
    }
    outside.back().push_back(rule.factor(one[d]));
    inside.push_back({outside.back().back()});
  }
  rule.input_dims(cut ? outside : inside);
  rule.output_dims(cut ? inside : outside);
  return edge(std::move(key), rule, {cut ? whole : one}, {cut ? one : whole});
}

}  // namespace tessera::inline v0::spmd

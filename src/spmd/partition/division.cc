#include "spmd/partition/division.h"

#include "base/hash.h"
#include "ir/attr_hash.h"
#include "ops/padding.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {

// Whether collectives can combine partial results with this combiner. Adapts `how` to the dtype.
bool combinable(Combiner& how, DType dtype) {
  switch (how) {
    case Combiner::add:
      if (dtype == DType::boolean) how = Combiner::or_;
      return true;
    case Combiner::min:
    case Combiner::max: return true;
    case Combiner::and_:
    case Combiner::or_: return dtype == DType::boolean;
    case Combiner::mul:
    case Combiner::replace: return false;
  }
  return false;
}

}  // namespace

DivisionRule::DivisionRule(std::uint32_t rule_number, const Program& program, const Equation& eqn)
    : op(eqn.op), number(rule_number), operands(eqn.inputs.size()) {
  std::vector<Type> in, out;
  for (Var v : eqn.inputs) in.push_back(program.types[v]);
  for (Var v : eqn.outputs) out.push_back(program.types[v]);
  auto add = [&](const std::vector<Type>& types, const std::vector<FactorRule::Dims>* dims) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      Tensor t{types[i], {}};
      t.dims.resize(types[i].shape.size());
      for (std::size_t d = 0; dims && d < t.dims.size(); ++d)
        t.dims[d].assign((*dims)[i][d].begin(), (*dims)[i][d].end());
      tensors.push_back(std::move(t));
    }
  };
  if (op->cost) cost = op->cost(in, out, eqn.attrs);
  if (!op->sharding) {
    add(in, nullptr);
    add(out, nullptr);
    return;
  }
  const FactorRule rule = op->sharding({in, out, eqn.attrs});
  add(in, &rule.inputs());
  add(out, &rule.outputs());
  for (const FactorRule::Factor& f : rule.all())
    factors.push_back({.size = f.size, .divides = f.size > 1, .batches = true});
  for (const FactorRule::Window& w : rule.windows()) {
    const auto& in = tensors[w.input].dims;
    for (std::size_t d = 0; d < in.size(); ++d)
      if (in[d].size() == 1 && in[d][0] == w.factor) windows.push_back({w, w.input, d});
  }
  const auto is_fetched = [&](int factor) {
    return std::any_of(windows.begin(), windows.end(),
                       [&](const Window& w) { return w.reads.factor == factor; });
  };
  for (const FactorRule::Mark& m : rule.marks()) {
    Factor& f = factors[static_cast<std::size_t>(m.factor)];
    f.batches = false;
    switch (m.kind) {
      case FactorRule::Kind::indexed: f.divides = f.divides && op->local; [[fallthrough]];
      case FactorRule::Kind::reduction:
        f.reduces = true;
        f.meets = f.meets || m.kind == FactorRule::Kind::reduction;
        f.combiner = m.combiner;
        for (const Type& t : out) f.divides = f.divides && combinable(f.combiner, t.dtype);
        break;
      case FactorRule::Kind::prefix:
        f.orders = m.combiner == Combiner::replace;
        f.runs = !f.orders;
        f.divides = f.divides && op->local;
        break;
      case FactorRule::Kind::contest:
        f.settles = true;
        f.meets = m.combiner != Combiner::replace;
        f.combiner = m.combiner;
        f.divides = f.divides && op->local;
        break;
      case FactorRule::Kind::permutation:
      case FactorRule::Kind::window:
        f.divides = f.divides && op->local && is_fetched(m.factor);
        break;
      case FactorRule::Kind::need_repl: f.divides = false; break;
      case FactorRule::Kind::blocked: break;
    }
  }
  // If a factor partitions an operand, it must also partition every result or make it partial.
  std::vector<std::size_t> reads(factors.size()), writes(factors.size());
  std::size_t ranked = 0;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    ranked += tensors[t].dims.empty() ? 0 : 1;
    for (const auto& dim : tensors[t].dims)
      for (std::uint16_t f : dim) ++(t < operands ? reads : writes)[f];
  }
  for (std::size_t f = 0; f < factors.size(); ++f) {
    const bool ends = factors[f].reduces || factors[f].settles;
    if (reads[f] > 0 && !ends && writes[f] < out.size()) factors[f].divides = false;
    if (ends && writes[f] > 0) factors[f].divides = false;
    factors[f].batches = factors[f].batches && reads[f] + writes[f] == ranked;
  }
  find_regroupings();
  // Padding along such a factor is not one contiguous range of the dimension, so it cannot be
  // filled.
  for (std::size_t t = 0; t < operands; ++t)
    for (const auto& dim : tensors[t].dims)
      for (std::uint16_t f : dim) factors[f].evenly |= factors[f].meets && dim.size() > 1;
}

bool DivisionRule::sums(const std::vector<bool>& partial) const {
  if (!op->transpose || tensors.size() != operands + 1) return false;
  const DType dtype = tensors[operands].type.dtype;
  if (!is_inexact(dtype)) return false;
  bool all = true, any = false;
  const auto marks = std::make_unique<bool[]>(operands);
  for (std::size_t i = 0; i < operands; ++i) {
    const DType d = tensors[i].type.dtype;
    if (partial[i] && d != dtype) return false;
    marks[i] = partial[i];
    any = any || partial[i];
    all = all && (partial[i] || !is_inexact(d));
  }
  return any && (op->linear ? op->linear(std::span<const bool>(marks.get(), operands)) : all);
}

const DivisionRule::Fetching& DivisionRule::fetching(std::size_t window, std::int64_t parts) const {
  const auto [it, is_new] = fetchings_.try_emplace({window, parts});
  if (is_new) {
    const auto stretch = ops::stretch_of(windows[window].reads, parts);
    if (stretch) it->second = ops::plan_fetch(*stretch, parts);
  }
  return it->second;
}

int DivisionRule::window_of(std::size_t tensor, std::size_t dim) const {
  for (std::size_t w = 0; w < windows.size(); ++w)
    if (windows[w].tensor == tensor && windows[w].dim == dim) return static_cast<int>(w);
  return -1;
}

Placement part_of(const AtomMesh& mesh, const DivisionRule& rule, std::size_t tensor,
                  const Division& division) {
  const auto& dims = rule.tensors[tensor].dims;
  Placement p = Placement::replicated(static_cast<int>(dims.size()));
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].empty()) continue;
    const std::int64_t parts = mesh.size(division[dims[d][0]]);
    const int g = rule.regrouping_of(tensor, d, parts), w = rule.window_of(tensor, d);
    if (g >= 0 && !rule.regrouped(static_cast<std::size_t>(g), parts)) continue;
    if (w >= 0 && parts > 1 && !rule.fetching(static_cast<std::size_t>(w), parts)) continue;
    for (std::uint16_t f : dims[d])
      for (Atom a : division[f]) p.dims[d].push_back(a);
  }
  return p;
}

bool fits(const AtomMesh& mesh, const DivisionRule& rule, const Division& division) {
  bool partial = false;
  Combiner how = Combiner::add;
  for (std::size_t f = 0; f < division.size(); ++f) {
    if (division[f].empty()) continue;
    const DivisionRule::Factor& factor = rule.factors[f];
    const std::int64_t parts = mesh.size(division[f]);
    if (!factor.divides || (factor.evenly && factor.size % parts != 0)) return false;
    // The sort requires half a column to have at least as many elements as the distance by which an
    // element may be misplaced.
    if (factor.orders && ops::part_extent(factor.size, parts) < 2 * (parts - 1) * (parts - 1))
      return false;
    if (!factor.reduces) continue;
    if (partial && how != factor.combiner) return false;
    partial = true;
    how = factor.combiner;
  }
  for (const DivisionRule::Window& w : rule.windows) {
    const Atoms& atoms = division[static_cast<std::size_t>(w.reads.factor)];
    if (!atoms.empty() && !ops::stretch_of(w.reads, mesh.size(atoms))) return false;
  }
  for (std::size_t k = 0; k < rule.tensors.size(); ++k) {
    const DivisionRule::Tensor& t = rule.tensors[k];
    for (std::size_t d = 0; d < t.dims.size(); ++d) {
      if (rule.window_of(k, d) >= 0) continue;
      const std::vector<std::uint16_t>& dim = t.dims[d];
      bool whole = true, is_cut = false;  // whole: all factors so far are fully cut
      for (std::size_t i = 0; i < dim.size(); ++i) {
        const std::int64_t n = mesh.size(division[dim[i]]), size = rule.factors[dim[i]].size;
        if (n > 1 && (!whole || (size % n != 0 && !may_be_uneven(rule, dim, i, n)))) return false;
        whole = whole && n == size;
        is_cut = is_cut || n > 1;
      }
      if (is_cut && t.type.shape[static_cast<int>(d)] < 2) return false;
    }
  }
  return true;
}

namespace {

std::size_t hash_of(const Program& p, const Equation& eqn) {
  std::size_t h = reinterpret_cast<std::uintptr_t>(eqn.op);
  auto mix_types = [&](const std::vector<Var>& vars) {
    mix(h, vars.size());
    for (Var v : vars) {
      mix(h, static_cast<int>(p.types[v].dtype));
      for (std::int64_t n : p.types[v].shape) mix(h, n);
    }
  };
  mix_types(eqn.inputs);
  mix_types(eqn.outputs);
  for (const auto& [name, value] : eqn.attrs) mix(h, tessera::hash_of(value));
  return h;
}

bool same(const Program& p, const Equation& a, const Program& q, const Equation& b) {
  auto types = [&](const std::vector<Var>& u, const std::vector<Var>& v) {
    return std::equal(u.begin(), u.end(), v.begin(), v.end(), [&](Var x, Var y) {
      return p.types[x].dtype == q.types[y].dtype && p.types[x].shape == q.types[y].shape;
    });
  };
  return a.op == b.op && types(a.inputs, b.inputs) && types(a.outputs, b.outputs) &&
         a.attrs == b.attrs;
}

}  // namespace

const DivisionRule& DivisionRules::of(const Program& program, const Equation& eqn) {
  const auto number = known_.id(
      hash_of(program, eqn), [&](const Known& k) { return same(program, eqn, *k.program, *k.eqn); },
      [&] {
        const auto next = static_cast<std::uint32_t>(known_.size());
        return Known{&program, &eqn, DivisionRule(next, program, eqn)};
      });
  return known_[number].rule;
}

}  // namespace tessera::inline v0::spmd

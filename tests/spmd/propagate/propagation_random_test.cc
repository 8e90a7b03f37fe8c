// Random programs with random requests: the placements are valid, contain the requested ones, are
// the same every time, leave nothing to propagate, and do not depend on which of two equal axes is
// which.
#include "ops/drawn_program.h"
#include "spmd/propagation_check.h"

#include "ir/nested.h"

#include <algorithm>
#include <cstdlib>
#include <random>

using namespace propagation;

namespace {

bool constrains(const Program& p) {
  for (const Equation& eqn : p.equations)
    if (eqn.op->constrains ||
        any_nested(eqn.attrs, [](const ProgramPtr& q) { return constrains(*q); }))
      return true;
  return false;
}

// Any atoms on any dimensions that have enough elements.
RequestedPlacement draw_wanted(walk::Dice& dice, const Shape& shape, const AtomMesh& mesh) {
  RequestedPlacement w{Placement::replicated(shape.rank())};
  for (std::int64_t a : dice.permutation(mesh.count())) {
    const auto atom = static_cast<Atom>(a);
    const std::int64_t d = dice.below(shape.rank() + 2);
    if (d > shape.rank() && dice.once_in(3)) w.replicated.insert(atom);
    if (d == shape.rank() && dice.once_in(4)) w.placement.unreduced.insert(atom);
    if (d >= shape.rank()) continue;
    Atoms& dim = w.placement.dims[static_cast<std::size_t>(d)];
    if (mesh.size(dim) * mesh.size(atom) <= shape[static_cast<std::size_t>(d)]) dim.push_back(atom);
  }
  for (int d = 0; d < shape.rank(); ++d) {
    w.open.push_back(dice.toss());
    w.priority.push_back(dice.once_in(4) ? 1 + static_cast<int>(dice.below(2)) : 0);
  }
  return w;
}

// The program with constraints on some of its values, over this mesh.
ProgramPtr constrained(walk::Dice& dice, const Program& p, const AtomMesh& mesh) {
  const MeshRef devices(DeviceMesh{mesh.atom_mesh(), {}});
  Builder b(p.name);
  std::vector<Value> now(p.types.size());
  for (Var v : p.inputs) now[v] = b.input(p.types[v]);
  for (const Equation& eqn : p.equations) {
    Values in, out;
    for (Var v : eqn.inputs) in.push_back(now[v]);
    out = b.copy(eqn, in);
    for (std::size_t i = 0; i < out.size(); ++i) {
      now[eqn.outputs[i]] = out[i];
      const Shape& shape = out[i].shape();
      if (dice.below(10) < 7 || shape.empty()) continue;
      const RequestedPlacement w = draw_wanted(dice, shape, mesh);
      Ints open;
      for (int d = 0; d < shape.rank(); ++d)
        if (w.open[static_cast<std::size_t>(d)]) open.push_back(d);
      now[eqn.outputs[i]] =
          ops::sharding_constraint(out[i], devices, mesh.atom_spec(w.placement), open);
    }
  }
  Values out;
  for (Var v : p.outputs) out.push_back(now[v]);
  return b.finish(out);
}

std::string wrong_placement(const Placement& p, const Shape& shape, const AtomMesh& mesh) {
  if (p.rank() != shape.rank()) return "is of another rank";
  int atoms = p.unreduced.size();
  for (int d = 0; d < p.rank(); ++d) {
    const Atoms& dim = p.dims[static_cast<std::size_t>(d)];
    atoms += static_cast<int>(dim.size());
    if (!dim.empty() && mesh.size(dim) > shape[d]) return "has more parts than elements";
  }
  return atoms == p.used().size() ? "" : "has an atom twice";
}

// The first error in any value of any scope.
std::string wrong_values(const Propagation& p, const AtomMesh& mesh) {
  for (std::size_t s = 0; s < p.scopes(); ++s) {
    const Program& q = p.program(s);
    auto problem = [&](const Placement& at, Var v, const std::string& what) {
      const std::string wrong = wrong_placement(at, q.types[v].shape, mesh);
      return wrong.empty() ? wrong
                           : what + " of scope " + std::to_string(s) + " " + wrong + ": " +
                                 mesh.to_string(at);
    };
    for (Var v = 0; v < q.types.size(); ++v)
      if (std::string w = problem(p.of(v, s), v, "value " + std::to_string(v)); !w.empty())
        return w;
    for (std::size_t k = 0; k < q.equations.size(); ++k)
      for (std::size_t i = 0; i < q.equations[k].inputs.size(); ++i)
        if (std::string w = problem(p.operand(s, k, i), q.equations[k].inputs[i],
                                    "an operand of equation " + std::to_string(k));
            !w.empty())
          return w;
  }
  return "";
}

std::vector<Placement> all_values(const Propagation& p, const Program& program) {
  std::vector<Placement> all;
  for (std::size_t s = 0; s < p.scopes(); ++s) {
    const Program& q = p.program(s);
    for (Var v = 0; v < q.types.size(); ++v) all.push_back(p.of(v, s));
    for (std::size_t k = 0; k < q.equations.size(); ++k)
      for (std::size_t i = 0; i < q.equations[k].inputs.size(); ++i)
        all.push_back(p.operand(s, k, i));
  }
  for (std::size_t i = 0; i < program.inputs.size(); ++i) all.push_back(p.input(i));
  for (std::size_t i = 0; i < program.outputs.size(); ++i) all.push_back(p.output(i));
  return all;
}

bool begins(const Placement& with, const Placement& p) {
  for (std::size_t d = 0; d < p.dims.size(); ++d)
    if (with.dims[d].size() > p.dims[d].size() ||
        !std::equal(with.dims[d].begin(), with.dims[d].end(), p.dims[d].begin()))
      return false;
  return with.unreduced == p.unreduced;
}

std::string wrong_ends(const Propagation& p, const PropagationOptions& options) {
  for (std::size_t i = 0; i < options.inputs.size(); ++i)
    if (options.inputs[i] && (!begins(options.inputs[i]->placement, p.input(i)) ||
                              p.input(i).cut().intersects(options.inputs[i]->replicated)))
      return "input " + std::to_string(i) + " is not what was asked";
  for (std::size_t i = 0; i < options.outputs.size(); ++i)
    if (options.outputs[i] && (!begins(options.outputs[i]->placement, p.output(i)) ||
                               p.output(i).cut().intersects(options.outputs[i]->replicated)))
      return "output " + std::to_string(i) + " is not what was asked";
  return "";
}

std::string wrong(walk::Dice& dice, const Program& p, const AtomMesh& mesh, std::size_t& changes) {
  PropagationOptions options;
  for (Var v : p.inputs)
    options.inputs.push_back(dice.toss() ? std::optional(draw_wanted(dice, p.types[v].shape, mesh))
                                         : std::nullopt);
  for (Var v : p.outputs)
    options.outputs.push_back(
        dice.once_in(3) ? std::optional(draw_wanted(dice, p.types[v].shape, mesh)) : std::nullopt);
  options.allow_uneven = dice.toss();
  const Propagation first = propagate(p, mesh, options);
  changes += first.effort().changes;
  if (std::string w = wrong_values(first, mesh); !w.empty()) return w;
  if (std::string w = wrong_ends(first, options); !w.empty()) return w;
  const std::vector<Placement> values = all_values(first, p);
  if (all_values(propagate(p, mesh, options), p) != values) return "a second run differs";
  for (Var v = 0; v < p.types.size(); ++v)
    for (std::size_t d = 0; d < first.of(v).dims.size(); ++d)
      for (Atom a : first.of(v).dims[d])
        if (!first.why(v, static_cast<int>(d), a)) return "an atom has no origin";
  PropagationOptions again = options;
  again.from = &first;
  const Propagation second = propagate(p, mesh, again);
  if (second.effort().changes > 0) return "another propagation finds more";
  if (all_values(second, p) != values) return "another propagation differs";
  return "";
}

}  // namespace

TEST(PropagationRandom, IsValidAndComplete) {
  const std::vector<MeshShape> meshes = {{{"x"}, {2}},         {{"x"}, {3}},
                                         {{"x", "y"}, {2, 2}}, {{"x", "y"}, {4, 2}},
                                         {{"x", "y"}, {2, 3}}, {{"x", "y", "z"}, {2, 2, 2}},
                                         {{"x"}, {6}}};
  std::mt19937_64 rng(17);
  std::size_t changes = 0;
  int programs = 0;
  const char* many = std::getenv("TESSERA_RANDOM_PROGRAMS");
  for (int k = 0; k < (many ? std::atoi(many) : 1500); ++k) {
    walk::Tape tape(400);
    for (std::uint32_t& n : tape) n = static_cast<std::uint32_t>(rng() % 27720);
    walk::Dice dice(tape);
    ProgramPtr p = walk::draw_program(dice);
    if (constrains(*p)) continue;
    ++programs;
    const AtomMesh mesh(dice.of(meshes));
    try {
      if (dice.toss()) p = constrained(dice, *p, mesh);
      ASSERT_EQ(wrong(dice, *p, mesh, changes), "") << "program " << k << "\n" << to_string(*p);
    } catch (const std::exception& e) {
      FAIL() << e.what() << "\nprogram " << k << "\n" << to_string(*p);
    }
  }
  EXPECT_GT(programs, 0);
  EXPECT_GT(changes, static_cast<std::size_t>(programs)) << "nothing is propagated";
}

TEST(PropagationRandom, EqualAxesMayChangePlaces) {
  std::mt19937_64 rng(23);
  const AtomMesh mesh({{"x", "y"}, {2, 2}});
  auto swapped = [](Placement p) {
    for (Atoms& dim : p.dims)
      for (Atom& a : dim) a = static_cast<Atom>(1 - a);
    return p;
  };
  for (int k = 0; k < 300; ++k) {
    walk::Tape tape(300);
    for (std::uint32_t& n : tape) n = static_cast<std::uint32_t>(rng() % 27720);
    walk::Dice dice(tape);
    const ProgramPtr p = walk::draw_program(dice);
    if (constrains(*p)) continue;
    PropagationOptions one, two;
    for (Var v : p->inputs) {
      RequestedPlacement w = draw_wanted(dice, p->types[v].shape, mesh);
      w.placement.unreduced = w.replicated = {};
      one.inputs.emplace_back(w);
      w.placement = swapped(w.placement);
      two.inputs.emplace_back(w);
    }
    std::vector<Placement> a = all_values(propagate(*p, mesh, one), *p),
                           b = all_values(propagate(*p, mesh, two), *p);
    for (Placement& q : b) q = swapped(q);
    ASSERT_EQ(a, b) << to_string(*p);
  }
}

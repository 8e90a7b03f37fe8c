// Random requests for random programs: checks that the partitioned program gives the results of the
// program, evaluated device by device and compiled.
#pragma once

#include "isolated.h"
#include "ops/drawn_program.h"
#include "partition_check.h"
#include "parts.h"
#include "processes/processes.h"

#include "random/shrink.h"
#include "spmd/region/reference.h"
#include "spmd/region/shard_map.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>

namespace partitioning {

// Shards any dimensions over axes in any order; at inputs and outputs of a program, over axes that
// divide them.
inline RequestedPlacement draw_wanted(walk::Dice& dice, const Shape& shape, const AtomMesh& mesh,
                                      bool evenly = true) {
  RequestedPlacement w{Placement::replicated(shape.rank())};
  for (std::int64_t a : dice.permutation(mesh.count())) {
    const std::int64_t d = dice.below(shape.rank() + 1);
    if (d == shape.rank()) continue;
    Atoms& dim = w.placement.dims[static_cast<std::size_t>(d)];
    const std::int64_t parts = mesh.size(dim) * mesh.size(static_cast<Atom>(a)),
                       extent = shape[static_cast<std::size_t>(d)];
    if (extent > 0 && (!evenly || extent % parts == 0)) dim.push_back(static_cast<Atom>(a));
  }
  for (int d = 0; d < shape.rank(); ++d) w.open.push_back(dice.toss());
  return w;
}

inline const MeshShape& draw_mesh(walk::Dice& dice) {
  static const std::vector<MeshShape> meshes = {{{"x"}, {2}},
                                                {{"x"}, {4}},
                                                {{"x"}, {3}},
                                                {{"x", "y"}, {2, 2}},
                                                {{"x", "y"}, {4, 2}},
                                                {{"x", "y"}, {2, 3}},
                                                {{"x", "y", "z"}, {2, 2, 2}}};
  return dice.of(meshes);
}

// Draws the requests for the inputs and outputs of the case's program; some have none.
inline void draw_ends(walk::Dice& dice, Case& c) {
  const Program& p = *c.program;
  const auto drawn = [&](Var v) {
    return std::optional(draw_wanted(dice, p.types[v].shape, c.mesh));
  };
  for (Var v : p.inputs)
    c.options.wanted.inputs.push_back(dice.once_in(4) ? std::nullopt : drawn(v));
  for (Var v : p.outputs) c.options.wanted.outputs.push_back(dice.toss() ? std::nullopt : drawn(v));
}

// The program with constraints on some of its values, over this mesh.
inline ProgramPtr constrained(walk::Dice& dice, const Program& p, const Case& c) {
  Builder b(p.name);
  std::vector<Value> now(p.types.size());
  const auto maybe = [&](Value x) {
    if (dice.below(10) >= 3 || x.shape().empty()) return x;
    const RequestedPlacement w = draw_wanted(dice, x.shape(), c.mesh, dice.once_in(4));
    Ints open;
    for (int d = 0; d < x.rank(); ++d)
      if (w.open[static_cast<std::size_t>(d)]) open.push_back(d);
    return ops::sharding_constraint(x, c.ref(), c.mesh.spec(w.placement), open);
  };
  for (Var v : p.inputs) now[v] = maybe(b.input(p.types[v]));
  for (const Equation& eqn : p.equations) {
    Values in;
    for (Var v : eqn.inputs) in.push_back(now[v]);
    const Values out = b.copy(eqn, in);
    for (std::size_t i = 0; i < out.size(); ++i) now[eqn.outputs[i]] = maybe(out[i]);
  }
  Values out;
  for (Var v : p.outputs) out.push_back(now[v]);
  return b.finish(out);
}

// Whether all integers are so small that no sum or product in the program is rounded, in any order.
inline bool is_exact(const Program& p, const std::vector<HostArray>& inputs) {
  std::vector<HostArray> values(p.types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[p.inputs[i]] = inputs[i];
  for (const Equation& eqn : p.equations) {
    Builder b("one");
    Values in;
    std::vector<HostArray> operands;
    for (Var v : eqn.inputs) {
      in.push_back(b.input(p.types[v]));
      operands.push_back(values[v]);
    }
    const ProgramPtr one = b.finish(b.emit(*eqn.op, in, eqn.attrs));
    const std::vector<HostArray> out = evaluate(*one, operands);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const HostArray a = parts::of(values[eqn.outputs[i]] = out[i]);
      if (!is_floating(a.dtype)) continue;
      // A quotient of complex numbers is rounded on the way, even if it is an integer.
      if (is_complex(out[i].dtype) && eqn.op->name == "div") return false;
      const double most = a.dtype == DType::bfloat16 ? 16 : a.dtype == DType::float16 ? 64 : 4096;
      for (std::int64_t k = 0; k < a.count(); ++k)
        if (const double x = a.number(k); !(std::fabs(x) <= most) || x != std::trunc(x))
          return false;
    }
  }
  return true;
}

// The first difference larger than rounding errors.
inline std::string difference(const std::vector<HostArray>& got,
                              const std::vector<HostArray>& whole, bool exact,
                              const std::string& how) {
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const HostArray a = parts::of(got[i]), b = parts::of(whole[i]);
    if (!(a.shape == b.shape) || a.dtype != b.dtype)
      return how + ": output " + std::to_string(i) + " has another type";
    double size = 1;
    for (std::int64_t k = 0; k < b.count(); ++k)
      if (std::isfinite(b.number(k))) size = std::max(size, std::fabs(b.number(k)));
    for (std::int64_t k = 0; k < b.count(); ++k) {
      const double x = a.number(k), y = b.number(k);
      if (x == y || (x != x && y != y)) continue;
      if (!exact && is_floating(b.dtype)) {
        const double close = b.dtype == DType::bfloat16  ? 0.2
                             : b.dtype == DType::float16 ? 0.02
                                                         : 1e-3;
        if (std::fabs(x - y) <= close * size || !std::isfinite(x) || !std::isfinite(y)) continue;
      }
      return how + ": element " + std::to_string(k) + " of output " + std::to_string(i) + " is " +
             std::to_string(x) + ", not " + std::to_string(y);
    }
  }
  return "";
}

// Whether some value is sharded along a dimension that its axes do not divide.
inline bool is_uneven(const Partitioned& q, const AtomMesh& mesh) {
  for (std::size_t s = 0; s < q.where->scopes(); ++s) {
    const Program& p = q.where->program(s);
    for (Var v = 0; v < p.types.size(); ++v)
      if (const Placement& at = q.where->of(v, s);
          at.rank() == p.types[v].shape.rank() && !mesh.divides(p.types[v].shape, at))
        return true;
  }
  return false;
}

struct ByDevice {
  std::vector<HostArray> results;
  std::string apart;  // the result whose copies have different bits
};
/// Evaluates the only region of a partitioned program device by device.
inline ByDevice evaluate_devices(const Program& partitioned, const std::vector<HostArray>& in) {
  const ShardMap s(partitioned.equations.at(0).attrs);
  std::vector<std::vector<HostArray>> blocks(static_cast<std::size_t>(s.mesh.size()));
  for (std::size_t d = 0; d < blocks.size(); ++d)
    for (std::size_t i = 0; i < in.size(); ++i)
      blocks[d].push_back(block_of(in[i], s.in_specs[i], s.mesh, static_cast<std::int64_t>(d)));
  const std::vector<std::vector<HostArray>> made = evaluate_spmd(*s.body, s.mesh, blocks);
  ByDevice by;
  for (std::size_t i = 0; i < s.out_specs.size(); ++i) {
    std::vector<HostArray> parts;
    std::map<std::vector<std::int64_t>, std::size_t> first;  // the first device that has each shard
    for (std::size_t d = 0; d < made.size(); ++d) {
      const HostArray& part = made[d][i];
      std::vector<std::int64_t> which;
      for (int k = 0; k < part.shape.rank(); ++k)
        which.push_back(
            s.mesh.index_along(static_cast<std::int64_t>(d), s.out_specs[i].axes_of(k)));
      const std::size_t holder = first.try_emplace(which, d).first->second;
      if (std::memcmp(part.bytes, made[holder][i].bytes,
                      static_cast<std::size_t>(part.size_bytes())) != 0)
        by.apart = "output " + std::to_string(i) + " of devices " + std::to_string(holder) +
                   " and " + std::to_string(d) + " is one part and differs";
      parts.push_back(part);
    }
    by.results.push_back(assemble(parts, s.out_specs[i], s.mesh));
  }
  return by;
}

/// Describes how the results of the partitioned program differ, or returns an empty text. Copies of
/// a shard must have the same bits on all devices, exact or not.
inline std::string wrong_results(const Program& p, const ProgramPtr& partitioned,
                                 const std::vector<HostArray>& in, bool exact, bool compiled) {
  const std::vector<HostArray> whole = evaluate(p, in);
  const ByDevice by = evaluate_devices(*partitioned, in);
  if (!by.apart.empty()) return by.apart + "\n" + to_string(p) + "\n" + to_string(*partitioned);
  std::string w = difference(by.results, whole, exact, "evaluated");
  if (w.empty() && compiled) {
    enough_devices();
    MeasuredWork work;
    w = difference(tessera::testing::run_compiled(partitioned, in, &work), whole, exact,
                   "compiled");
    if (w.empty()) w = moved_otherwise(partitioned, work);
  }
  // Rounding may change a comparison, a choice or an index, and then no result is close.
  if (!exact && any_equation(p, [](const Equation& e) { return !e.op->jvp || !e.op->exact; }))
    return "";
  return w.empty() ? w : w + "\n" + to_string(p) + "\n" + to_string(*partitioned);
}

struct Tally {
  bool failed = false;  // then every program is checked and compiled, because failures shrink
  int drawn = 0;
  int programs = 0;  // checked ones; the other numbers count these
  int exact = 0, uneven = 0, collectives = 0, permutations = 0, compiled = 0;
};

/// Counts a drawn program. Every eighth one is also compiled, if it is exact.
inline bool is_compiled(Tally& tally) { return ++tally.drawn % 8 == 0 || tally.failed; }
/// The results of evaluators depend neither on processes nor on what devices share, so runs with
/// several processes or isolated devices check only compiled programs.
inline bool is_checked(bool compiled) {
  enough_devices();  // joins the processes
  return compiled || (processes::count() == 1 && !test::isolated());
}

using Maker = std::function<ProgramPtr(walk::Dice&)>;

inline std::string wrong(const walk::Tape& tape, Tally& tally, const Maker& make) {
  walk::Dice dice(tape);
  ProgramPtr p;
  try {
    Case c(draw_mesh(dice));
    p = c.program = make(dice);
    if (!p) return "";
    // Drawn constraints are over meshes of their own, and the sign of a NaN is not defined, so it
    // must not be visible.
    if (any_equation(*p, [](const Equation& e) {
          return e.op->constrains || e.op->name == "bitcast_convert";
        }))
      return "";
    c.options.poison = !dice.once_in(4);
    if (dice.toss()) p = c.program = constrained(dice, *p, c);
    draw_ends(dice, c);
    const bool compiles = is_compiled(tally);
    if (!is_checked(compiles)) return "";
    const Partitioned q = c.run();
    ++tally.programs;
    tally.uneven += is_uneven(q, c.mesh) ? 1 : 0;
    tally.collectives += static_cast<int>(q.collectives.size());
    for (const CollectiveCause& cause : q.collectives)
      tally.permutations += cause.kind == MoveKind::permute ? 1 : 0;
    if (tessera::to_string(*c.run().program) != tessera::to_string(*q.program))
      return "a second run differs\n" + to_string(*p);
    if (q.inputs.size() != p->inputs.size() || q.program->output_types() != p->output_types())
      return "other types\n" + to_string(*p);
    const std::vector<HostArray> in = drawn_inputs(*p, 5);
    const bool exact = is_exact(*p, in);
    tally.exact += exact ? 1 : 0;
    const bool compiled = compiles && exact;
    tally.compiled += compiled ? 1 : 0;
    return wrong_results(*p, q.program, in, exact, compiled);
  } catch (const std::exception& e) {
    return std::string(e.what()) + (p ? "\n" + to_string(*p) : "");
  }
}

/// Draws this many programs and prints how many there were of each kind.
inline Tally check_drawn(int programs, int most, const Maker& make) {
  Tally tally;
  check::check_many(programs, most, [&](const walk::Tape& tape) {
    std::string found = wrong(tape, tally, make);
    tally.failed = tally.failed || !found.empty();
    return found;
  });
  std::printf("%d programs, %d exact, %d uneven, %d compiled, %d collectives, %d permutations\n",
              tally.programs, tally.exact, tally.uneven, tally.compiled, tally.collectives,
              tally.permutations);
  return tally;
}

}  // namespace partitioning

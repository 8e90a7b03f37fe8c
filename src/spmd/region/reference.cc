#include "spmd/region/reference.h"

#include "ir/collective_attrs.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "spmd/region/reference_collectives.h"
#include "spmd/region/shard_map.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace tessera::inline v0::spmd {

namespace {

using Arrays = std::vector<HostArray>;
using Devices = std::vector<std::int64_t>;

bool has_collectives(const Program& p);
bool has_collectives(const Equation& eqn) {
  if (eqn.op->lowering == Lowering::collective) return true;
  const std::optional<Flow> flow = flow_of(eqn);
  // A region's own axes are bound when it is evaluated, in addition to those of enclosing regions.
  return flow && std::any_of(flow->programs.begin(), flow->programs.end(),
                             [](const ProgramPtr& p) { return has_collectives(*p); });
}
bool has_collectives(const Program& p) {
  return std::any_of(p.equations.begin(), p.equations.end(),
                     [](const Equation& e) { return has_collectives(e); });
}

std::int64_t integer(const HostArray& scalar) {
  return static_cast<std::int64_t>(scalar.number(0));
}

Arrays part(const Arrays& a, std::size_t begin, std::size_t count) {
  return {a.begin() + static_cast<std::ptrdiff_t>(begin),
          a.begin() + static_cast<std::ptrdiff_t>(begin + count)};
}
void append(Arrays& a, const Arrays& b) { a.insert(a.end(), b.begin(), b.end()); }

// Row `i` of dimension 0.
HostArray row(const HostArray& x, std::int64_t i) {
  HostArray r = x;
  r.shape.erase(r.shape.begin());
  r.bytes = x.bytes + i * r.size_bytes();
  return r;
}

class Runner {
 public:
  Runner(const MeshShape& mesh, const Evaluated& evaluated, const Exchanged& exchanged)
      : mesh_(mesh), evaluated_(evaluated), exchanged_(exchanged) {}

  /// `inputs[k]` belongs to devices[k]; the results are indexed likewise.
  std::vector<Arrays> run(const Program& p, const Devices& devices,
                          const std::vector<Arrays>& inputs) const {
    std::vector<Arrays> env(devices.size(), Arrays(p.types.size()));
    for (std::size_t k = 0; k < devices.size(); ++k)
      for (std::size_t i = 0; i < p.inputs.size(); ++i) env[k][p.inputs[i]] = inputs[k].at(i);
    for (const Equation& eqn : p.equations) {
      std::vector<Arrays> in(devices.size());
      for (std::size_t k = 0; k < devices.size(); ++k)
        for (Var v : eqn.inputs) in[k].push_back(env[k][v]);
      std::vector<Arrays> out = equation(p, eqn, devices, in);
      for (std::size_t k = 0; k < devices.size(); ++k)
        for (std::size_t i = 0; i < eqn.outputs.size(); ++i) env[k][eqn.outputs[i]] = out[k][i];
    }
    std::vector<Arrays> outputs(devices.size());
    for (std::size_t k = 0; k < devices.size(); ++k)
      for (Var v : p.outputs) outputs[k].push_back(env[k][v]);
    return outputs;
  }

 private:
  std::vector<Arrays> equation(const Program& p, const Equation& eqn, const Devices& devices,
                               const std::vector<Arrays>& in) const {
    if (eqn.op->position) return position(eqn, devices);
    if (eqn.op->lowering == Lowering::collective) return exchange(eqn, devices, in);
    const std::optional<Flow> flow = flow_of(eqn);
    if (flow && flow->kind == Flow::Kind::region) return region(eqn, devices, in);
    if (flow && (evaluated_ || has_collectives(eqn))) return nested(*flow, devices, in);
    if (!eqn.op->evaluate) throw InternalError("op '" + eqn.op->name + "' has no evaluator");
    std::vector<Arrays> out(devices.size());
    for (std::size_t k = 0; k < devices.size(); ++k) {
      for (Var v : eqn.outputs) out[k].emplace_back(p.types[v].dtype, p.types[v].shape);
      eqn.op->evaluate({eqn.attrs, in[k], out[k]});
    }
    if (evaluated_) evaluated_(p, eqn, devices.size());
    return out;
  }

  std::vector<Arrays> nested(const Flow& f, const Devices& devices,
                             const std::vector<Arrays>& in) const {
    switch (f.kind) {
      case Flow::Kind::call: return run(*f.body(), devices, in);
      case Flow::Kind::branch: return branch(f, devices, in);
      case Flow::Kind::scan: return scan(f, devices, in);
      case Flow::Kind::loop: return loop(f, devices, in);
      case Flow::Kind::region: break;
    }
    throw InternalError("a region is no plain flow");
  }

  // Replaces each device by as many as the region's mesh has; its axes are appended to the
  // enclosing ones.
  std::vector<Arrays> region(const Equation& eqn, const Devices& devices,
                             const std::vector<Arrays>& in) const {
    const ShardMap s(eqn.attrs);
    MeshShape mesh = mesh_;
    mesh.axes.insert(mesh.axes.end(), s.mesh.axes.begin(), s.mesh.axes.end());
    mesh.sizes.insert(mesh.sizes.end(), s.mesh.sizes.begin(), s.mesh.sizes.end());
    const std::int64_t n = s.mesh.size();
    Devices inner;
    std::vector<Arrays> blocks;
    for (std::size_t k = 0; k < devices.size(); ++k)
      for (std::int64_t d = 0; d < n; ++d) {
        inner.push_back(devices[k] * n + d);
        Arrays& own = blocks.emplace_back();
        for (std::size_t i = 0; i < in[k].size(); ++i)
          own.push_back(block_of(in[k][i], s.in_specs[i], s.mesh, d));
      }
    const std::vector<Arrays> made =
        Runner(mesh, evaluated_, exchanged_).run(*s.body, inner, blocks);
    std::vector<Arrays> out(devices.size());
    for (std::size_t k = 0; k < devices.size(); ++k)
      for (std::size_t i = 0; i < s.out_specs.size(); ++i) {
        Arrays parts;
        for (std::int64_t d = 0; d < n; ++d)
          parts.push_back(made[k * static_cast<std::size_t>(n) + static_cast<std::size_t>(d)][i]);
        out[k].push_back(assemble(parts, s.out_specs[i], s.mesh));
      }
    return out;
  }

  std::vector<Arrays> position(const Equation& eqn, const Devices& devices) const {
    std::vector<Arrays> out;
    for (std::int64_t d : devices) {
      HostArray a(i32, {});
      *a.data<std::int32_t>() =
          static_cast<std::int32_t>(mesh_.index_along(d, CollectiveAttrs(eqn.attrs).axes));
      out.push_back({a});
    }
    return out;
  }

  std::vector<Arrays> exchange(const Equation& eqn, const Devices& devices,
                               const std::vector<Arrays>& in) const {
    const auto& axes = CollectiveAttrs(eqn.attrs).axes;
    Strings others;
    for (const auto& a : mesh_.axes)
      if (std::find(axes.begin(), axes.end(), a) == axes.end()) others.push_back(a);
    std::size_t n = static_cast<std::size_t>(mesh_.size_of(axes));
    std::map<std::int64_t, std::vector<std::ptrdiff_t>>
        lines;  // by position on the other axes: positions in `devices`
    for (std::size_t k = 0; k < devices.size(); ++k) {
      auto& line = lines[mesh_.index_along(devices[k], others)];
      line.resize(n, -1);
      line[static_cast<std::size_t>(mesh_.index_along(devices[k], axes))] =
          static_cast<std::ptrdiff_t>(k);
    }
    std::vector<Arrays> out(devices.size());
    for (const auto& [position, line] : lines) {
      Arrays x;
      for (std::size_t i = 0; i < n; ++i) {
        if (line[i] < 0)
          Message(eqn.op->name)
              .problem("device " + std::to_string(i) +
                       " of the axis did not come to the collective")
              .rule(
                  "all devices of a collective run it, so a predicate around it is the same on all "
                  "of them")
              .from(eqn.loc)
              .raise<CollectiveError>();
        x.push_back(in[static_cast<std::size_t>(line[i])][0]);
      }
      Arrays y = collective(*eqn.op, eqn.attrs, x);
      if (exchanged_) exchanged_(eqn, received(*eqn.op, eqn.attrs, x));
      for (std::size_t i = 0; i < n; ++i) out[static_cast<std::size_t>(line[i])] = {y[i]};
    }
    return out;
  }

  // Runs `p` on the devices at `positions` in `devices` and stores the results there.
  void run_some(const Program& p, const Devices& devices, const std::vector<std::size_t>& positions,
                const std::vector<Arrays>& in, std::vector<Arrays>& out) const {
    Devices some;
    std::vector<Arrays> inputs;
    for (std::size_t k : positions) {
      some.push_back(devices[k]);
      inputs.push_back(in[k]);
    }
    std::vector<Arrays> results = run(p, some, inputs);
    for (std::size_t i = 0; i < positions.size(); ++i) out[positions[i]] = results[i];
  }

  std::vector<Arrays> branch(const Flow& f, const Devices& devices,
                             const std::vector<Arrays>& in) const {
    const Programs& branches = f.programs;
    std::vector<std::vector<std::size_t>> taken(branches.size());
    std::vector<Arrays> operands;
    for (std::size_t k = 0; k < devices.size(); ++k) {
      std::int64_t index = std::clamp<std::int64_t>(integer(in[k][0]), 0,
                                                    static_cast<std::int64_t>(branches.size()) - 1);
      taken[static_cast<std::size_t>(index)].push_back(k);
      operands.push_back(part(in[k], 1, in[k].size() - 1));
    }
    std::vector<Arrays> out(devices.size());
    for (std::size_t i = 0; i < branches.size(); ++i)
      if (!taken[i].empty()) run_some(*branches[i], devices, taken[i], operands, out);
    return out;
  }

  std::vector<Arrays> loop(const Flow& f, const Devices& devices,
                           const std::vector<Arrays>& in) const {
    std::vector<Arrays> carry, for_cond(devices.size()), for_body(devices.size()),
        predicate(devices.size());
    std::vector<std::size_t> active;
    for (std::size_t k = 0; k < devices.size(); ++k) {
      carry.push_back(part(in[k], f.carry_operand(0), f.carry));
      active.push_back(k);
    }
    for (;;) {
      for (std::size_t k : active) append(for_cond[k] = part(in[k], 0, f.cond_consts), carry[k]);
      run_some(*f.condition(), devices, active, for_cond, predicate);
      std::erase_if(active, [&](std::size_t k) { return integer(predicate[k][0]) == 0; });
      if (active.empty()) return carry;
      for (std::size_t k : active)
        append(for_body[k] = part(in[k], f.cond_consts, f.consts), carry[k]);
      run_some(*f.body(), devices, active, for_body, carry);
    }
  }

  std::vector<Arrays> scan(const Flow& f, const Devices& devices,
                           const std::vector<Arrays>& in) const {
    const Program& body = *f.body();
    const std::size_t consts = f.consts, carries = f.carry, ys = body.outputs.size() - carries;
    std::vector<Arrays> carry, out;
    for (const Arrays& a : in) {
      carry.push_back(part(a, consts, carries));
      Arrays stacks;
      for (std::size_t i = 0; i < ys; ++i) {
        const Type& t = body.type(body.outputs[carries + i]);
        Shape shape = t.shape;
        shape.insert(shape.begin(), f.length);
        stacks.emplace_back(t.dtype, shape);
      }
      out.push_back(std::move(stacks));
    }
    for (std::int64_t step = 0; step < f.length; ++step) {
      std::int64_t i = f.reverse ? f.length - 1 - step : step;
      std::vector<Arrays> inputs;
      for (std::size_t k = 0; k < devices.size(); ++k) {
        Arrays a = part(in[k], 0, consts);
        append(a, carry[k]);
        for (std::size_t x = consts + carries; x < in[k].size(); ++x) a.push_back(row(in[k][x], i));
        inputs.push_back(std::move(a));
      }
      std::vector<Arrays> results = run(body, devices, inputs);
      for (std::size_t k = 0; k < devices.size(); ++k) {
        carry[k] = part(results[k], 0, carries);
        for (std::size_t y = 0; y < ys; ++y) {
          const HostArray& from = results[k][carries + y];
          std::memcpy(row(out[k][y], i).bytes, from.bytes,
                      static_cast<std::size_t>(from.size_bytes()));
        }
      }
    }
    for (std::size_t k = 0; k < devices.size(); ++k) append(carry[k], out[k]);
    return carry;
  }

  const MeshShape& mesh_;
  const Evaluated& evaluated_;
  const Exchanged& exchanged_;
};

}  // namespace

std::vector<std::vector<HostArray>> evaluate_spmd(const Program& body, const MeshShape& mesh,
                                                  std::span<const std::vector<HostArray>> inputs,
                                                  const Evaluated& evaluated,
                                                  const Exchanged& exchanged) {
  Devices all;
  for (std::int64_t d = 0; d < mesh.size(); ++d) all.push_back(d);
  return Runner(mesh, evaluated, exchanged).run(body, all, {inputs.begin(), inputs.end()});
}

}  // namespace tessera::inline v0::spmd

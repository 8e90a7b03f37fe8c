#include "base/named_scopes.h"
#include "codegen/tape/context.h"
#include "codegen/tape/step_work.h"
#include "ir/collective_attrs.h"
#include "ir/nested.h"
#include "ir/region_attrs.h"
#include "spmd/region/uniformity.h"

#include <algorithm>
#include <utility>

namespace tessera::inline v0::tape {

int Scope::at(std::string_view name) const {
  for (std::size_t i = axes.size(); i-- > 0;)
    if (axes[i].first == name) return axes[i].second;
  throw InternalError("axis '" + std::string(name) + "' is not bound");
}
Mask Scope::all() const {
  Mask m = 0;
  for (const auto& [name, id] : axes) m |= Mask{1} << id;
  return m;
}
AxisSet Scope::names(Mask m) const {
  AxisSet s;
  for (const auto& [name, id] : axes)
    if (m >> id & 1) s.insert(name);
  return s;
}
Mask Scope::mask(const AxisSet& names) const {
  Mask m = 0;
  for (const auto& n : names) m |= Mask{1} << at(n);
  return m;
}

int TapeContext::axis(const DeviceMesh& mesh, std::size_t which, const Scope& scope) {
  const std::string& name = mesh.axes[which];
  const std::int64_t size = mesh.sizes[which];
  // Two shard_maps side by side share an axis; nested ones never do. With several processes, only
  // equal meshes share an axis, because the mesh determines which process holds an instance.
  const auto elsewhere = [&](int a) {
    return options.together.count > 1 &&
           std::any_of(regions.begin(), regions.end(), [&](const Region& r) {
             return std::find(r.axes.begin(), r.axes.end(), a) != r.axes.end() && *r.mesh != mesh;
           });
  };
  for (std::size_t a = 0; a < axes.size(); ++a)
    if (axes[a].name == name && axes[a].size == size && !(scope.all() >> a & 1) &&
        !elsewhere(static_cast<int>(a)))
      return static_cast<int>(a);
  if (axes.size() == 32) throw InternalError("a program with more than 32 mesh axes");
  if (size > 1 && (options.apart.all || options.apart.axes.contains(name)))
    apart |= Mask{1} << axes.size();
  axes.push_back({name, size});
  return static_cast<int>(axes.size()) - 1;
}
std::int64_t TapeContext::instances(Mask m) const {
  std::int64_t n = 1;
  for (std::size_t a = 0; a < axes.size(); ++a)
    if (m >> a & 1) n *= axes[a].size;
  return n;
}
spmd::Blocks TapeContext::blocks(const Type& whole, int region, const Spec& spec) const {
  const Region& r = regions[static_cast<std::size_t>(region)];
  return spmd::Blocks(whole, *r.mesh, spec);
}
Mask TapeContext::spec_axes(int region, const Spec& spec) const {
  const Region& r = regions[static_cast<std::size_t>(region)];
  Mask m = 0;
  for (const std::string& name : spec.axes())
    if (const int a = r.mesh->find(name); a >= 0)
      m |= Mask{1} << r.axes[static_cast<std::size_t>(a)];
  return m;
}

namespace {

Op pseudo(const char* name) {
  Op op;
  op.name = name;
  op.lowering = Lowering::collective;
  op.cheap = false;
  return op;
}

class Flattener {
 public:
  Flattener(TapeContext& ctx, Level& level, Mask inner, bool top)
      : ctx_(ctx), level_(level), inner_(inner), top_(top) {}

  Var define(const Type& t, Mask m, Mask differs) {
    level_.flat->types.push_back(t);
    level_.mask.push_back(m);
    level_.differs.push_back(differs);
    return static_cast<Var>(level_.flat->types.size() - 1);
  }

  std::vector<Var> program(const Program& given, std::vector<Var> inputs, int scope_id) {
    const Scope& scope = level_.scopes[static_cast<std::size_t>(scope_id)];
    for (std::size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = typed_as(given.type(given.inputs[i]), inputs[i], scope_id);
    std::vector<AxisSet> in;
    for (Var v : inputs) in.push_back(scope.names(level_.differs[v]));
    std::vector<AxisSet> sets = spmd::uniformity(given, in);
    const AxisSize size = [&](std::string_view name) {
      return ctx_.axes[static_cast<std::size_t>(scope.at(name))].size;
    };
    const std::optional<JointProducts> joint = with_joint_products(given, sets, size);
    const Program& p = joint ? joint->program : given;
    if (joint) sets = spmd::uniformity(p, in);
    std::vector<Var> env(p.types.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) env[p.inputs[i]] = inputs[i];

    for (std::size_t k = 0; k < p.equations.size(); ++k) {
      const Equation& eqn = p.equations[k];
      std::vector<Var> operands, results;
      for (Var v : eqn.inputs) operands.push_back(env[v]);
      const std::optional<Flow> flow = flow_of(eqn);
      if (flow && flow->kind == Flow::Kind::region) {
        results = region(p, eqn, operands, scope_id);
      } else if (eqn.op->lowering == Lowering::expanded) {
        const ProgramPtr inside = expansion(eqn);
        const int outer = hold_;
        if (flow->waits) {
          hold_ = static_cast<int>(level_.holds.size());
          level_.holds.push_back(operands);
        }
        const WithinEquation within(ctx_, eqn);
        results = program(*inside, operands, scope_id);
        hold_ = outer;
      } else {
        const Mask own = scope.all() & inner_;
        Mask all = 0;
        for (Var v : eqn.outputs) all |= scope.mask(sets[v]) & inner_;
        for (Var v : eqn.outputs) {
          const Mask d = eqn.op->lowering == Lowering::control ? scope.mask(sets[v]) & inner_ : all;
          results.push_back(define(p.types[v], d | (own & ctx_.apart), d));
        }
        append(eqn.op, operands, results, eqn.attrs, eqn, scope_id);
        if (joint) level_.works_for.back() = joint->works_for[k];
        if (const Equation* counts_as = joint ? joint->counts_as[k] : &eqn)
          count_received(given, *counts_as, scope, size);
      }
      for (std::size_t i = 0; i < results.size(); ++i) env[eqn.outputs[i]] = results[i];
    }
    std::vector<Var> out;
    for (Var v : p.outputs) out.push_back(env[v]);
    return out;
  }

 private:
  // Counts the bytes that a device receives, in total and along each axis of the equation's mesh.
  void count_received(const Program& p, const Equation& eqn, const Scope& scope,
                      const AxisSize& size) {
    if (eqn.op->exchange == Exchange::none) return;
    level_.received += static_cast<double>(received_bytes(p, eqn, devices_of(eqn, size)));
    const Strings& axes = CollectiveAttrs(eqn.attrs).axes;
    for (std::size_t r = ctx_.regions.size(); r-- > 0 && !axes.empty();) {
      const Region& region = ctx_.regions[r];
      const int first = region.mesh->find(axes[0]);
      if (first < 0 || region.axes[static_cast<std::size_t>(first)] != scope.at(axes[0])) continue;
      const spmd::AtomMesh atoms(*region.mesh, spmd::AtomMesh::Parts::axes);
      const Equation* const message[] = {&eqn};
      for (const spmd::Crossing& c : received_along(p, message, atoms, {}).along)
        level_.along[region.mesh->axes[static_cast<std::size_t>(c.axis)]] += c.bytes;
      return;
    }
  }
  // Whether devices that differ only along this axis belong to several processes.
  bool between_processes(const DeviceMesh& mesh, std::size_t axis) const {
    const Together& all = ctx_.options.together;
    if (all.count == 1) return false;
    std::int64_t stride = 1;
    for (std::size_t a = axis + 1; a < mesh.sizes.size(); ++a) stride *= mesh.sizes[a];
    for (std::size_t p = 0; p < mesh.devices.size(); ++p) {
      const std::size_t first = p - static_cast<std::size_t>(static_cast<std::int64_t>(p) / stride %
                                                             mesh.sizes[axis] * stride);
      if (mesh.devices[p] / all.devices != mesh.devices[first] / all.devices) return true;
    }
    return false;
  }
  // A body accepts weakly typed values for strong ones and vice versa; inside it the declared type
  // holds.
  Var typed_as(const Type& wanted, Var given, int scope_id) {
    if (level_.flat->types[given].weak == wanted.weak) return given;
    static const Op& convert = Registry::get().at("convert");
    const Var v = define(wanted, level_.mask[given], level_.differs[given]);
    append(&convert, {given}, {v}, {{"dtype", wanted.dtype}, {"weak", wanted.weak}}, Equation(),
           scope_id);
    return v;
  }
  void append(const Op* op, std::vector<Var> in, std::vector<Var> out, Attrs attrs,
              const Equation& from, int scope_id) {
    Equation e;
    e.op = op;
    e.inputs = std::move(in);
    e.outputs = std::move(out);
    e.attrs = std::move(attrs);
    e.loc = from.loc;
    e.scope = scopes_within(ctx_.scope, from.scope);
    level_.flat->equations.push_back(std::move(e));
    level_.scope.push_back(scope_id);
    level_.hold.push_back(hold_);
    level_.works_for.push_back(1);
  }

  std::vector<Var> region(const Program& p, const Equation& eqn, const std::vector<Var>& operands,
                          int scope_id) {
    const RegionAttrs given(eqn.attrs);
    if (given.manual)
      throw InternalError("a region for some axes of its mesh is partitioned before it is planned");
    DeviceMesh mesh = *given.mesh;
    const auto &in_specs = given.in_specs, &out_specs = given.out_specs;
    const Program& body = *given.body;
    const Scope outer = level_.scopes[static_cast<std::size_t>(scope_id)];
    Scope scope = outer;
    Region region;
    if (mesh.devices.empty())
      for (std::int64_t d = 0; d < mesh.size(); ++d) mesh.devices.push_back(static_cast<int>(d));
    const Together& together = ctx_.options.together;
    for (const int d : mesh.devices)
      ctx_.others = ctx_.others || (together.count > 1 && d / together.devices != together.rank);
    for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
      int id = ctx_.axis(mesh, a, outer);
      if (between_processes(mesh, a)) ctx_.between |= Mask{1} << id;
      region.axes.push_back(id);
      scope.axes.emplace_back(mesh.axes[a], id);
      inner_ |= Mask{1} << id;  // the region's axes have instances wherever the region itself runs
    }
    region.mesh = MeshRef(std::move(mesh));
    const int region_id = static_cast<int>(ctx_.regions.size());
    ctx_.regions.push_back(region);
    const int inside = static_cast<int>(level_.scopes.size());
    level_.scopes.push_back(scope);

    Mask own = 0;
    for (int a : region.axes) own |= Mask{1} << a;
    std::vector<Var> in;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Mask cut = ctx_.spec_axes(region_id, in_specs[i]);
      // A device that is apart has its own copy even of an argument that is not cut.
      const bool argument = top_ && operands[i] < level_.flat->inputs.size();
      const Mask held = cut | (argument ? own & ctx_.apart : 0);
      if (held == 0) {
        in.push_back(operands[i]);
        continue;
      }
      Mask m = level_.mask[operands[i]] | held, differs = level_.differs[operands[i]] | cut;
      if (top_ && !(cut & ctx_.apart) && operands[i] < ctx_.options.uniform.size() &&
          ctx_.options.uniform[operands[i]])
        m = differs = 0;
      in.push_back(define(body.types[body.inputs[i]], m, differs));
      append(&block_op(), {operands[i]}, {in.back()},
             {{"region", std::int64_t{region_id}}, {"spec", in_specs[i]}}, eqn, inside);
    }
    std::vector<Var> out, results;
    {
      const WithinEquation within(ctx_, eqn);
      out = program(body, in, inside);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Mask m = (level_.mask[out[i]] | (outer.all() & inner_ & ctx_.apart)) & ~own;
      results.push_back(define(p.types[eqn.outputs[i]], m, level_.differs[out[i]] & ~own));
      append(&assemble_op(), {out[i]}, {results.back()},
             {{"region", std::int64_t{region_id}}, {"spec", out_specs[i]}}, eqn, inside);
    }
    return results;
  }

  TapeContext& ctx_;
  Level& level_;
  Mask inner_;
  bool top_;
  int hold_ = -1;
};

}  // namespace

WithinEquation::WithinEquation(TapeContext& ctx, const Equation& eqn)
    : ctx_(ctx), outside_(std::exchange(ctx.scope, scopes_within(ctx.scope, eqn.scope))) {}

const Op& block_op() {
  static const Op* op = new Op(pseudo("block"));
  return *op;
}
const Op& assemble_op() {
  static const Op* op = new Op(pseudo("assemble"));
  return *op;
}

Level flatten(TapeContext& ctx, const Program& p, const Inputs& arguments, const Scope& scope,
              Mask inner, bool top) {
  Level level;
  level.flat = std::make_shared<Program>();
  level.flat->name = p.name;
  level.scopes.push_back(scope);
  Flattener f(ctx, level, inner, top);
  std::vector<Var> in;
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    in.push_back(f.define(p.types[p.inputs[i]], arguments.mask[i], arguments.differs[i]));
  level.flat->inputs = in;
  level.flat->outputs = f.program(p, in, 0);
  return level;
}

}  // namespace tessera::inline v0::tape

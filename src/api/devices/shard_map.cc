#include <tessera/shard_map.h>

#include "api/array/platform.h"
#include "api/devices/leaf_specs.h"
#include "api/devices/mesh_data.h"
#include "api/devices/nested.h"
#include "ops/build.h"
#include "spmd/region/checks.h"
#include "spmd/region/shard_map.h"

#include <algorithm>

namespace tessera::inline v0::detail {

namespace {

bool has(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

class ShardMapCache final : public CachedFunction {
 public:
  ShardMapCache(std::string name, const ShardMapOptions& options, std::source_location loc)
      : CachedFunction(std::move(name), options.donate, loc), options_(options), loc_(loc) {}

 private:
  TracedFunction build(Call& call) const override {
    Axes axes{
        axes_around("shard_map", loc_), need_scope_mesh("shard_map", options_.mesh, loc_), {}};
    check_inside("shard_map", axes.around, axes.mesh, loc_);
    axes.manual = manual_axes(axes.around, axes.mesh);
    const Mesh& mesh = axes.mesh;
    const MeshData& data = MeshData::of(mesh);
    const std::vector<Type> wholes = leaf_types(call);
    const LeafSpecs in = argument_specs("shard_map", call, options_.in_specs, mesh, wholes, loc_);
    Specs in_specs;
    std::vector<Type> blocks;
    for (std::size_t i = 0; i < wholes.size(); ++i) {
      in_specs.push_back(closed(in.specs[i], axes));
      Type t = wholes[i];
      t.shape = block_shape(t.shape, in_specs[i], *data.ref);
      if (options_.check_vma) t.varying |= in_specs[i].axes();
      blocks.push_back(std::move(t));
    }
    TracedFunction f = [&] {
      const AxisScope bound(bound_axes(axes));
      const MeshScope scope(mesh);  // for constraints and regions inside
      return trace_call(call, "shard_map", name(), blocks);
    }();
    const Program& body = *f.program;
    const LeafSpecs out =
        result_specs("shard_map", f, result_tree(call, f), options_.out_specs, loc_);
    const Specs out_specs = cuts_out(out, body, axes);
    in_specs.resize(body.inputs.size());  // captured values are replicated
    const spmd::ShardMap map(f.program, data.ref, axes.manual, in_specs, out_specs,
                             options_.check_vma);
    check(map, in.paths, out.paths);
    Builder b(name());
    b.loc = loc_;
    Values operands;
    for (std::size_t i = 0; i < body.inputs.size(); ++i)
      operands.push_back(b.input(i < wholes.size() ? wholes[i] : body.type(body.inputs[i])));
    f.program = b.finish(spmd::emit_shard_map(b, map, operands));
    f.backend = data.backend;
    return f;
  }

  void extend_key(InlineVector<std::uint64_t, 16>& words) const override {
    words.push_back(devices_word(platform_of(options_.mesh)));
  }

  struct Axes {
    Around around;
    Mesh mesh;
    Strings manual;
  };

  /// The manual axes, in the order of the mesh.
  Strings manual_axes(const Around& around, const Mesh& mesh) const {
    const Strings names = mesh.axis_names();
    const std::vector<std::string>& free = around.mesh.empty() ? names : around.automatic;
    const std::vector<std::string>& asked = options_.axis_names;
    Message m("shard_map");
    m.from(loc_);
    for (auto it = asked.begin(); it != asked.end(); ++it) {
      const std::string& axis = *it;
      if (std::find(asked.begin(), it, axis) != it)
        m.problem("axis_names has '" + axis + "' twice")
            .rule("each axis that is manual is named once")
            .advice("name it once; the axes of " + to_string(mesh) + " are " + axes_list(names))
            .raise<ShardingError>();
      if (!has(names, axis))
        m.problem("axis_names has '" + axis + "', which " + to_string(mesh) + " does not have")
            .rule("the manual axes are some of the mesh: " + axes_list(names))
            .advice("check the spelling, or leave axis_names out: all axes are manual then")
            .raise<ShardingError>();
      if (!has(free, axis))
        m.problem("'" + axis + "' is manual already, in the shard_map around")
            .rule("a shard_map inside another takes axes that this one leaves automatic: " +
                  axes_list(free))
            .advice("leave '" + axis + "' out: collectives over it work inside as they are")
            .raise<ShardingError>();
    }
    Strings manual = asked.empty() ? free : asked;
    std::sort(manual.begin(), manual.end(), [&](const std::string& a, const std::string& b) {
      return std::find(names.begin(), names.end(), a) < std::find(names.begin(), names.end(), b);
    });
    if (!options_.check_vma && (manual.size() < names.size() || !around.mesh.empty()))
      m.problem("check_vma is false, and of " + to_string(mesh) + " only " + axes_list(manual) +
                (manual.size() == 1 ? " is" : " are") + " manual")
          .rule("what is partitioned is typed with the axes along which values may differ")
          .advice("leave check_vma true, or make all axes manual")
          .raise<ShardingError>();
    return manual;
  }

  std::vector<BoundAxis> bound_axes(const Axes& axes) const {
    std::vector<BoundAxis> bound;
    for (const Mesh::Axis& a : axes.mesh.axes()) {
      const bool own = has(axes.manual, a.name);
      if (!own && has(axes.around.manual, a.name)) continue;  // keep the outer binding
      bound.push_back({a.name, a.size,
                       !own                 ? BoundAxis::Kind::automatic
                       : options_.check_vma ? BoundAxis::Kind::shard_map
                                            : BoundAxis::Kind::pmap,
                       axes.mesh});
    }
    return bound;
  }

  /// A device works on one block, so no dimension may be unconstrained.
  Spec closed(const std::optional<PartitionSpec>& spec, const Axes& axes) const {
    const bool open = !spec || std::any_of(spec->dims().begin(), spec->dims().end(),
                                           [](const auto& d) { return d.is_unconstrained(); });
    if (open)
      Message("shard_map")
          .problem((spec ? to_string(*spec) : "unconstrained") + " leaves a dimension open")
          .rule("a device works on one block: each dimension is cut by axes, or by none")
          .from(loc_)
          .advice("none, or the axes that cut it")
          .raise<ShardingError>();
    const Spec cut = spec_of(Sharding(axes.mesh, *spec).spec());
    check_inside("shard_map", axes.around, *spec, loc_);
    for (const std::string& axis : cut.axes())
      if (!has(axes.manual, axis))
        Message("shard_map")
            .problem(to_string(*spec) + " names '" + axis + "', which is not manual here")
            .rule("in_specs and out_specs name the manual axes: " + axes_list(axes.manual))
            .from(loc_)
            .advice("add '" + axis +
                    "' to axis_names; along automatic axes a value lies as it comes, or as "
                    "with_sharding_constraint says inside")
            .raise<ShardingError>();
    return cut;
  }

  Specs cuts_out(const LeafSpecs& out, const Program& body, const Axes& axes) const {
    const InFunction named("shard_map", loc_);
    Specs specs;
    Message m("shard_map");
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < out.specs.size(); ++i) {
      const Type& block = body.type(body.outputs[i]);
      specs.push_back(closed(out.specs[i], axes));
      if (static_cast<int>(specs[i].dims().size()) <= block.shape.rank()) continue;
      m.offender(out.paths[i] + ": " + to_string(*out.specs[i]) + " for blocks " +
                 to_string(Type(block.dtype, block.shape)));
      ++wrong;
    }
    if (wrong > 0) raise_misfits(m, wrong, "result", loc_);
    return specs;
  }

  void check(const spmd::ShardMap& of, const std::vector<std::string>& in_paths,
             const std::vector<std::string>& out_paths) const {
    spmd::MapInfo map{
        "shard_map", *of.body,  of.mesh, of.in_specs, of.out_specs,
        in_paths,    out_paths, loc_,    true,        "name the axis in the result's spec"};
    while (map.input_paths.size() < of.in_specs.size())
      map.input_paths.push_back("a captured array");
    spmd::check_collectives_in_control_flow(map);
    spmd::check_replicated_outputs(map);
  }

  ShardMapOptions options_;
  SourceLoc loc_;
};

}  // namespace

std::shared_ptr<CachedFunction> make_shard_map_cache(const ShardMapOptions& options,
                                                     std::source_location loc) {
  ShardMapOptions with_mesh = options;
  if (with_mesh.mesh.empty()) with_mesh.mesh = current_mesh();
  if (with_mesh.mesh.is_abstract())
    Message("shard_map")
        .problem(to_string(with_mesh.mesh) + " has no devices")
        .rule("a per-device function runs on devices")
        .from(line_of(loc))
        .advice("a Mesh of devices")
        .raise<ShardingError>();
  std::string name =
      options.name.empty() ? "shard_map(" + to_string(SourceLoc(loc)) + ")" : options.name;
  return std::make_shared<ShardMapCache>(std::move(name), with_mesh, loc);
}

}  // namespace tessera::inline v0::detail

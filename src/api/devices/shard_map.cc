#include <tessera/shard_map.h>

#include "api/devices/leaf_specs.h"
#include "api/devices/nested.h"
#include "ops/build.h"
#include "runtime/devices.h"
#include "spmd/checks.h"

#include <algorithm>

namespace tessera::inline v0::detail {

namespace {

class ShardMapCache final : public CachedFunction {
 public:
  ShardMapCache(std::string name, const ShardMapOptions& options, std::source_location loc)
      : CachedFunction(std::move(name), options.donate, loc), options_(options), loc_(loc) {}

 private:
  TracedFunction build(Call& call) const override {
    refuse_nested("shard_map", loc_);
    const Mesh mesh = need_scope_mesh("shard_map", options_.mesh, loc_);
    const MeshData& data = MeshData::of(mesh);
    const std::vector<Type> wholes = leaf_types(call);
    const LeafSpecs in = argument_specs("shard_map", call, options_.in_specs, mesh, wholes, loc_);
    Specs in_specs;
    std::vector<Type> blocks;
    for (std::size_t i = 0; i < wholes.size(); ++i) {
      in_specs.push_back(closed(in.specs[i], mesh));
      Type t = wholes[i];
      t.shape = block_shape(t.shape, in_specs[i], *data.ref);
      if (options_.check_vma) t.varying = in_specs[i].axes();
      blocks.push_back(std::move(t));
    }
    TracedFunction f = [&] {
      std::vector<BoundAxis> bound;
      for (const Mesh::Axis& a : mesh.axes())
        bound.push_back({a.name, a.size,
                         options_.check_vma ? BoundAxis::Kind::shard_map : BoundAxis::Kind::pmap});
      AxisScope scope(std::move(bound));
      return trace_call(call, "shard_map", name(), blocks);
    }();
    const Program& body = *f.program;
    const LeafSpecs out =
        result_specs("shard_map", f, result_tree(call, f), options_.out_specs, loc_);
    const Specs out_specs = cuts_out(out, body, mesh);
    in_specs.resize(body.inputs.size());  // what is captured is the same everywhere
    check(body, *data.ref, in_specs, in.paths, out_specs, out.paths);
    Builder b(name());
    b.loc = loc_;
    Values operands;
    for (std::size_t i = 0; i < body.inputs.size(); ++i)
      operands.push_back(b.input(i < wholes.size() ? wholes[i] : body.type(body.inputs[i])));
    f.program = b.finish(
        ops::shard_map(b, f.program, operands, data.ref, in_specs, out_specs, options_.check_vma));
    f.backend = data.backend;
    return f;
  }

  void extend_key(InlineVector<std::uint64_t, 16>& words) const override {
    words.push_back(static_cast<std::uint64_t>(runtime::device_count()));
  }

  /// A device works on one block, so nothing is left open.
  Spec closed(const std::optional<PartitionSpec>& spec, const Mesh& mesh) const {
    const bool open = !spec || std::any_of(spec->dims().begin(), spec->dims().end(),
                                           [](const auto& d) { return d.is_unconstrained(); });
    if (open)
      Message("shard_map")
          .problem((spec ? to_string(*spec) : "unconstrained") + " leaves a dimension open")
          .rule("a device works on one block: each dimension is cut by axes, or by none")
          .from(loc_)
          .advice("none, or the axes that cut it")
          .raise<ShardingError>();
    return spec_of(Sharding(mesh, *spec).spec());
  }

  Specs cuts_out(const LeafSpecs& out, const Program& body, const Mesh& mesh) const {
    const InFunction named("shard_map", loc_);
    Specs specs;
    Message m("shard_map");
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < out.specs.size(); ++i) {
      const Type& block = body.type(body.outputs[i]);
      specs.push_back(closed(out.specs[i], mesh));
      if (static_cast<int>(specs[i].dims().size()) <= block.shape.rank()) continue;
      m.offender(out.paths[i] + ": " + to_string(*out.specs[i]) + " for blocks " +
                 to_string(Type(block.dtype, block.shape)));
      ++wrong;
    }
    if (wrong > 0) raise_misfits(m, wrong, "result", loc_);
    return specs;
  }

  void check(const Program& body, const MeshShape& mesh, const Specs& in_specs,
             const std::vector<std::string>& in_paths, const Specs& out_specs,
             const std::vector<std::string>& out_paths) const {
    spmd::MapInfo map{"shard_map", body,      mesh, in_specs, out_specs,
                      in_paths,    out_paths, loc_, true,     "name the axis in the result's spec"};
    while (map.input_paths.size() < in_specs.size()) map.input_paths.push_back("a captured array");
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

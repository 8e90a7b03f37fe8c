#include <tessera/shard_map.h>

#include "api/devices/mesh_data.h"
#include "api/devices/nested.h"
#include "api/trace/traced.h"
#include "ops/build.h"
#include "runtime/devices.h"
#include "spmd/checks.h"

namespace tessera::inline v0::detail {

namespace {

/// How arguments or results are cut, by leaf that is present.
struct Cuts {
  Specs specs;
  std::vector<std::string> paths;
};

class ShardMapCache final : public CachedFunction {
 public:
  ShardMapCache(std::string name, const ShardMapOptions& options, std::source_location loc)
      : CachedFunction(std::move(name), options.donate, loc), options_(options), loc_(loc) {}

 private:
  TracedFunction build(Call& call) const override {
    refuse_nested("shard_map", loc_);
    const Mesh mesh = need_mesh();
    const MeshData& data = MeshData::of(mesh);
    const std::vector<Type> wholes = leaf_types(call);
    const Cuts in = cuts_in(call, mesh, wholes);
    std::vector<Type> blocks;
    for (std::size_t i = 0; i < wholes.size(); ++i) {
      Type t = wholes[i];
      t.shape = block_shape(t.shape, in.specs[i], *data.ref);
      if (options_.check_vma) t.varying = in.specs[i].axes();
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
    call.prototype = std::const_pointer_cast<void>(f.prototype);
    const TreeDef result = call.describe_result();
    call.prototype.reset();
    const Cuts out = cuts_out(result, f, mesh);

    // What is captured is the same everywhere.
    Specs in_specs = in.specs;
    in_specs.resize(body.inputs.size());
    check(body, *data.ref, in_specs, in.paths, out);
    Builder b(name());
    b.loc = loc_;
    Values operands;
    for (std::size_t i = 0; i < body.inputs.size(); ++i)
      operands.push_back(b.input(i < wholes.size() ? wholes[i] : body.type(body.inputs[i])));
    f.program = b.finish(
        ops::shard_map(b, f.program, operands, data.ref, in_specs, out.specs, options_.check_vma));
    f.backend = data.backend;
    return f;
  }

  void extend_key(InlineVector<std::uint64_t, 16>& words) const override {
    words.push_back(static_cast<std::uint64_t>(runtime::device_count()));
    if (!options_.mesh.empty()) return;
    const Mesh mesh = current_mesh();
    if (mesh.empty()) return;
    // The program holds what is interned, so its address is nobody else's as long as the entry
    // lives.
    words.push_back(reinterpret_cast<std::uintptr_t>(MeshData::of(mesh).ref.pointer().get()));
    words.push_back(reinterpret_cast<std::uintptr_t>(MeshData::of(mesh).backend));
  }

  Mesh need_mesh() const {
    const Mesh mesh = options_.mesh.empty() ? current_mesh() : options_.mesh;
    if (mesh.empty() || mesh.axes().empty())
      Message("shard_map")
          .problem(mesh.empty() ? "there is no mesh" : "the mesh has no axes")
          .rule("a block is cut along axes of a mesh: one that is passed, or that of the scope")
          .from(loc_)
          .advice("{.mesh = mesh, ...}, or const auto scope = use_mesh(mesh)")
          .raise<ShardingError>();
    return mesh;
  }

  [[noreturn]] void misfits(Message& m, std::size_t n, const char* what) const {
    m.problem(std::to_string(n) + " " + what + (n == 1 ? " does" : "s do") + " not fit " +
              (n == 1 ? "its spec" : "their specs"))
        .rule("each dimension that is cut exists, and the number of parts divides it")
        .from(loc_)
        .advice("other specs, or other sizes")
        .raise<ShardingError>();
  }

  PartitionSpec closed(const PartitionSpec& spec) const {
    for (const PartitionSpec::Dim& d : spec.dims())
      if (d.is_unconstrained())
        Message("shard_map")
            .problem(to_string(spec) + " leaves a dimension open")
            .rule("a device works on one block: each dimension is cut by axes, or by none")
            .from(loc_)
            .advice("none, or the axes that cut it")
            .raise<ShardingError>();
    return spec;
  }

  Cuts cuts_in(const Call& call, const Mesh& mesh, const std::vector<Type>& wholes) const {
    const InFunction named("shard_map", loc_);
    SpecTree specs = options_.in_specs;
    // Entries of parameters that the call leaves to their defaults.
    if (specs.kind() == SpecTree::Kind::list && call.defaulted > 0 &&
        specs.children().size() == call.arg_count() + call.defaulted)
      specs = SpecTree(std::vector<SpecTree>(
          specs.children().begin(),
          specs.children().begin() + static_cast<std::ptrdiff_t>(call.arg_count())));
    const TreeDef tree = call.describe_args();
    const std::vector<PartitionSpec> by_leaf =
        specs_by_leaf("shard_map", specs, tree, "args", loc_);
    const std::vector<std::string> paths = tree.paths("args");
    Cuts cuts;
    Message m("shard_map");
    std::size_t wrong = 0;
    for (std::size_t leaf : present_leaves(call)) {
      const Sharding sharding(mesh, closed(by_leaf[leaf]));
      if (const Misfit no = misfit(wholes[cuts.specs.size()].shape, sharding)) {
        m.offender(paths[leaf] + ": " + no.problem + "; " + no.rule);
        ++wrong;
      }
      cuts.specs.push_back(spec_of(sharding.spec()));
      cuts.paths.push_back(paths[leaf]);
    }
    if (wrong > 0) misfits(m, wrong, "argument");
    return cuts;
  }

  Cuts cuts_out(const TreeDef& result, const TracedFunction& f, const Mesh& mesh) const {
    const InFunction named("shard_map", loc_);
    // Braces around the only entry of a function with one result are the argument list's manner.
    const bool one =
        options_.out_specs.kind() == SpecTree::Kind::list &&
        options_.out_specs.children().size() == 1 && !result.nodes().empty() &&
        (result.nodes()[0].kind == NodeKind::leaf || result.nodes()[0].kind == NodeKind::record);
    const std::vector<PartitionSpec> by_leaf =
        specs_by_leaf("shard_map", one ? options_.out_specs.children()[0] : options_.out_specs,
                      result, "result", loc_);
    const std::vector<std::string> paths = result.paths("result");
    Cuts cuts;
    Message m("shard_map");
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < by_leaf.size(); ++i) {
      if (!f.result_present[i]) continue;
      const Type& block = f.program->type(f.program->outputs[cuts.specs.size()]);
      const Sharding sharding(mesh, closed(by_leaf[i]));
      Spec spec = spec_of(sharding.spec());
      if (static_cast<int>(spec.dims().size()) > block.shape.rank()) {
        m.offender(paths[i] + ": " + to_string(sharding.spec()) + " for blocks " +
                   to_string(Type(block.dtype, block.shape)));
        ++wrong;
      }
      cuts.specs.push_back(std::move(spec));
      cuts.paths.push_back(paths[i]);
    }
    if (wrong > 0) misfits(m, wrong, "result");
    return cuts;
  }

  void check(const Program& body, const MeshShape& mesh, const Specs& in_specs,
             const std::vector<std::string>& in_paths, const Cuts& out) const {
    spmd::MapInfo map{"shard_map", body,      mesh, in_specs, out.specs,
                      in_paths,    out.paths, loc_, true,     "name the axis in the result's spec"};
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

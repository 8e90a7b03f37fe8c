#include "api/transform/sharded_jit.h"

#include "api/array/platform.h"
#include "api/devices/leaf_specs.h"
#include "api/devices/mesh_data.h"
#include "api/devices/nested.h"
#include "base/message.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::inline v0::detail {

namespace {

class ShardedJitCache final : public CachedFunction {
 public:
  ShardedJitCache(const char* what, std::string name, const JitOptions& options,
                  std::source_location loc)
      : CachedFunction(std::move(name), options.donate, loc),
        what_(what),
        options_(options),
        loc_(loc) {}

 private:
  TracedFunction build(Call& call) const override {
    const Around around = axes_around(
        what_, loc_, "a jit without mesh and specs, or the function itself: it is for one device");
    const Mesh mesh = need_scope_mesh(what_, options_.mesh, loc_);
    check_inside(what_, around, mesh, loc_);
    const MeshData& data = MeshData::of(mesh);
    const LeafSpecs in =
        argument_specs(what_, call, options_.in_shardings, mesh, leaf_types(call), loc_);
    TracedFunction f = [&] {
      const MeshScope scope(mesh);  // for constraints inside
      return trace_call(call, name(), what_);
    }();
    const LeafSpecs out =
        result_specs(what_, f, result_tree(call, f), options_.out_shardings, loc_);
    check_results(out, *f.program, mesh);
    for (const LeafSpecs* specs : {&in, &out})
      for (const auto& spec : specs->specs)
        if (spec) check_inside(what_, around, *spec, loc_);

    // Inside another traced function, the specs become constraints of the outer program.
    const Program& body = *f.program;
    auto cutting = std::make_shared<spmd::ProgramShardings>();
    cutting->mesh = data.ref;
    cutting->abstract = data.abstract;
    for (std::size_t i = 0; i < body.inputs.size(); ++i)
      cutting->inputs.push_back(i < in.specs.size() ? wanted(in.specs[i]) : std::nullopt);
    for (const auto& spec : out.specs) cutting->outputs.push_back(wanted(spec));
    cutting->links = links_along(what_, *data.ref, options_.links, loc_);
    f.program = spmd::constrained(body, *cutting, loc_);
    f.backend = data.backend;
    f.cutting = std::move(cutting);
    f.result_paths = out.paths;
    return f;
  }

  void extend_key(InlineVector<std::uint64_t, 16>& words) const override {
    words.push_back(devices_word(platform_of(options_.mesh)));
  }

  void check_results(const LeafSpecs& out, const Program& body, const Mesh& mesh) const {
    const InFunction named(what_, loc_);
    Message m(what_);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < out.specs.size(); ++i) {
      if (!out.specs[i]) continue;
      const Misfit no = misfit(body.type(body.outputs[i]).shape, Sharding(mesh, *out.specs[i]));
      if (!no) continue;
      m.offender(out.paths[i] + ": " + no.problem + "; " + no.rule);
      ++wrong;
    }
    if (wrong > 0) raise_misfits(m, wrong, "result", loc_);
  }

  const char* what_;
  JitOptions options_;
  SourceLoc loc_;
};

}  // namespace

spmd::Links links_along(const char* what, const DeviceMesh& mesh,
                        const std::map<std::string, LinkSpeed>& speeds, const SourceLoc& loc) {
  if (speeds.empty()) return {};
  // The speeds may come from a file that covers other meshes, too.
  if (std::none_of(mesh.axes.begin(), mesh.axes.end(),
                   [&](const std::string& axis) { return speeds.count(axis) > 0; }))
    Message(what)
        .problem(fmt::format(
            "links are given for '{}', and the mesh has {}", speeds.begin()->first,
            mesh.axes.empty() ? "no axis" : fmt::format("'{}'", fmt::join(mesh.axes, "', '"))))
        .rule("a link is that of an axis of the mesh, by its name")
        .from(loc)
        .advice(".links = {{\"" + (mesh.axes.empty() ? "data" : mesh.axes[0]) +
                "\", {.latency = 1e-6, .bandwidth = 1e11}}}")
        .raise<ShardingError>();
  std::vector<spmd::Link> links;
  for (const std::string& axis : mesh.axes) {
    const auto it = speeds.find(axis);
    const LinkSpeed speed = it == speeds.end() ? LinkSpeed() : it->second;
    if (!(speed.latency >= 0 && speed.bandwidth > 0))
      Message(what)
          .problem(fmt::format("the link along '{}' has a latency of {} s and {} bytes a second",
                               axis, speed.latency, speed.bandwidth))
          .rule("a latency is 0 or more, and a bandwidth more than 0")
          .from(loc)
          .advice("calibrate_links measures them, load_links reads what it wrote")
          .raise<ShardingError>();
    links.push_back({speed.latency, speed.bandwidth});
  }
  return spmd::Links(std::move(links));
}

bool is_sharded(const JitOptions& options) {
  return !options.mesh.empty() || options.in_shardings.kind() != SpecTree::Kind::unconstrained ||
         options.out_shardings.kind() != SpecTree::Kind::unconstrained;
}

std::shared_ptr<CachedFunction> make_sharded_jit_cache(const char* what, std::string name,
                                                       const JitOptions& options,
                                                       std::source_location loc) {
  JitOptions with_mesh = options;
  if (with_mesh.mesh.empty()) with_mesh.mesh = current_mesh();
  return std::make_shared<ShardedJitCache>(what, std::move(name), with_mesh, loc);
}

}  // namespace tessera::inline v0::detail

#include <tessera/distributed.h>
#include <tessera/pmap.h>

#include "api/array/platform.h"
#include "api/devices/nested.h"
#include "api/devices/pmap_axes.h"
#include "api/trace/cache.h"
#include "api/trace/map_axes.h"
#include "api/trace/trace.h"
#include "base/warning.h"
#include "ops/build.h"
#include "spmd/region/checks.h"

#include <algorithm>

namespace tessera::inline v0::detail {

namespace {

/// The mesh axis of a pmap without a name; collectives cannot refer to it.
constexpr const char* kUnnamed = "pmap";

/// The mesh axis of a pmap, made distinct from those of the surrounding pmaps.
std::string mesh_axis(const std::string& name) {
  const auto& around = AxisScope::bound();
  const auto others = std::count_if(around.begin(), around.end(), [&](const BoundAxis& a) {
    return a.kind == BoundAxis::Kind::pmap && spoken_name(a.name) == name;
  });
  return inner_name(name.empty() ? kUnnamed : name, others);
}

/// Compares subtrees, to find arguments in the result.
bool same_subtree(const TreeDef& a, std::size_t i, const TreeDef& b, std::size_t j) {
  const TreeDef::Node &x = a.nodes()[i], &y = b.nodes()[j];
  if (x.end - i != y.end - j || x.kind != y.kind || x.text != y.text) return false;
  for (std::size_t k = 1; k < x.end - i; ++k) {
    const TreeDef::Node &u = a.nodes()[i + k], &v = b.nodes()[j + k];
    if (u.kind != v.kind || u.label != v.label || u.text != v.text || u.children != v.children)
      return false;
  }
  return true;
}

/// The arguments that are trees of several leaves and are returned as results, like the state of a
/// training loop.
std::vector<spmd::StatePair> state_pairs(const TreeDef& args, const TreeDef& result,
                                         const std::vector<bool>& arg_present,
                                         const std::vector<bool>& result_present) {
  auto leaves = [](const TreeDef::Node& n, const std::vector<bool>& present) {
    std::vector<std::size_t> out;
    std::size_t number = 0;
    for (std::size_t leaf = 0; leaf < n.last_leaf; ++leaf) {
      if (!present[leaf]) continue;
      if (leaf >= n.first_leaf) out.push_back(number);
      ++number;
    }
    return out;
  };
  std::vector<spmd::StatePair> pairs;
  const auto& nodes = args.nodes();
  for (std::size_t arg = 1; arg < nodes.size(); arg = nodes[arg].end) {
    if (nodes[arg].kind == NodeKind::leaf || nodes[arg].last_leaf == nodes[arg].first_leaf)
      continue;
    for (std::size_t j = 0; j < result.nodes().size(); ++j) {
      if (!same_subtree(args, arg, result, j)) continue;
      pairs.push_back({leaves(nodes[arg], arg_present), leaves(result.nodes()[j], result_present),
                       args.path(arg, "args"), result.path(j, "result")});
    }
  }
  return pairs;
}

/// The body with its mapped axes added: inputs and outputs are blocks of one row.
ProgramPtr with_axes(const Program& body, const std::vector<int>& in_axes,
                     const std::vector<int>& out_axes) {
  Builder b(body.name);
  Values in;
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    Type t = body.type(body.inputs[i]);
    const Shape inner = t.shape;
    const int axis = i < in_axes.size() ? in_axes[i] : kReplicated;
    if (axis != kReplicated) t.shape.insert(t.shape.begin() + axis, 1);
    in.push_back(ops::reshape(b.input(std::move(t)), inner));
  }
  Values out = b.inline_program(body, in);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out_axes[i] == kReplicated) continue;
    Shape shape = out[i].shape();
    shape.insert(shape.begin() + out_axes[i], 1);
    out[i] = ops::reshape(out[i], shape);
  }
  return b.finish(out);
}

class PmapCache final : public CachedFunction {
 public:
  PmapCache(std::string name, const PmapOptions& options, std::source_location loc)
      : CachedFunction(std::move(name), options.donate, loc), options_(options), loc_(loc) {
    if (!options_.devices.empty()) platform_ = runtime::find_backend(options_.devices[0].platform);
  }

 private:
  TracedFunction build(Call& call) const override {
    const std::optional<PmapsAround> around = pmaps_around(loc_);
    if (around && process_count() > 1) between_processes();
    PmapInputs in = pmap_inputs(call, options_, "pmap", loc_, around);
    if (around) in.devices.clear();  // devices of a nested region are derived from both regions
    const std::string axis = mesh_axis(options_.axis_name);
    TracedFunction f = [&] {
      AxisScope scope({{options_.axis_name.empty() ? "" : axis,
                        in.size,
                        BoundAxis::Kind::pmap,
                        {},
                        in.backend}});
      return trace_call(call, "pmap", name(), in.blocks);
    }();
    const Program& body = *f.program;
    std::vector<int> ranks;
    for (const Type& t : body.output_types()) ranks.push_back(t.shape.rank());
    call.prototype = std::const_pointer_cast<void>(f.prototype);
    const TreeDef result = call.describe_result();
    call.prototype.reset();
    const std::vector<int> out_axes =
        pmap_out_axes(result, f.result_present, ranks, options_, "pmap", loc_);

    Specs in_specs, out_specs;
    for (std::size_t i = 0; i < body.inputs.size(); ++i)
      in_specs.push_back(i < in.axes.size() ? axis_spec(in.axes[i], axis) : Spec());
    for (int a : out_axes) out_specs.push_back(axis_spec(a, axis));
    check(call, f, in, result, axis, in_specs, out_specs);

    Builder b(name());
    b.loc = loc_;
    Values operands;
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      Type t = body.type(body.inputs[i]);
      if (i < in.axes.size() && in.axes[i] != kReplicated)
        t.shape.insert(t.shape.begin() + in.axes[i], in.size);
      operands.push_back(b.input(std::move(t)));
    }
    const MeshRef mesh(DeviceMesh{{{axis}, {in.size}}, in.devices});
    Values out =
        ops::shard_map(b, with_axes(body, in.axes, out_axes), operands,
                       runtime::on_platform(mesh, *in.backend), in_specs, out_specs, false);
    f.program = b.finish(out);
    f.backend = in.backend;
    return f;
  }

  [[noreturn]] void between_processes() const {
    Message("pmap")
        .problem("it is called inside a pmap, and " + std::to_string(process_count()) +
                 " processes run the program together")
        .rule("maps over devices inside one another run in one process")
        .from(loc_)
        .advice("use vmap inside, or one pmap or shard_map over all devices")
        .raise<CollectiveError>();
  }

  void extend_key(InlineVector<std::uint64_t, 16>& words) const override {
    words.push_back(devices_word(platform_ ? *platform_ : runtime::default_backend()));
  }

  void check(const Call& call, const TracedFunction& f, const PmapInputs& in, const TreeDef& result,
             const std::string& axis, const Specs& in_specs, const Specs& out_specs) const {
    spmd::MapInfo map{"pmap", *f.program, {{axis}, {in.size}},        {}, {}, in.paths,
                      {},     loc_,       !options_.axis_name.empty()};
    map.in_specs = in_specs;
    map.out_specs = out_specs;
    while (map.input_paths.size() < map.in_specs.size())
      map.input_paths.push_back("a captured array");
    const std::vector<std::string> paths = result.paths("result");
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (f.result_present[i]) map.output_paths.push_back(paths[i]);
    spmd::check_collectives_in_control_flow(map);
    spmd::check_replicated_outputs(map);

    // A replicated array that is stacked, one row per device, also enters with equal values
    // everywhere.
    std::vector<bool> arg_present;
    std::size_t input = 0;
    for (const Array* x : call.args.leaves) {
      arg_present.push_back(!x->is_empty());
      if (x->is_empty()) continue;
      if (x->impl()->data && data_of(*x->impl())->uniform) map.in_specs[input] = {};
      ++input;
    }
    if (auto warning = spmd::divergence_warning(
            map, state_pairs(call.describe_args(), result, arg_present, f.result_present)))
      warn(*warning);
  }

  PmapOptions options_;
  const runtime::Backend* platform_ = nullptr;  // of the devices that the options list
  SourceLoc loc_;
};

}  // namespace

std::shared_ptr<CachedFunction> make_pmap_cache(const PmapOptions& options,
                                                std::source_location loc) {
  check_axis_name("pmap", options.axis_name, line_of(loc));
  std::string name =
      options.name.empty() ? "pmap(" + to_string(SourceLoc(loc)) + ")" : options.name;
  return std::make_shared<PmapCache>(std::move(name), options, loc);
}

}  // namespace tessera::inline v0::detail

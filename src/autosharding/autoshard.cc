#include <tessera/autoshard.h>

#include "api/array/platform.h"
#include "api/devices/leaf_specs.h"
#include "api/devices/nested.h"
#include "api/transform/sharded_jit.h"
#include "autosharding/search.h"
#include "explain/speeds.h"
#include "explain/units.h"

#include <algorithm>
#include <chrono>

namespace tessera::inline v0 {

JitOptions AutoShardings::options() const {
  JitOptions o;
  o.mesh = mesh;
  o.in_shardings = in_shardings;
  o.out_shardings = out_shardings;
  o.links = links;
  return o;
}

namespace detail {

namespace {

/// The specs of the non-empty leaves as a tree of the shape of `tree`; subtrees whose leaves all
/// have the same spec are represented by one.
class TreeOfSpecs {
 public:
  TreeOfSpecs(const TreeDef& tree, const std::vector<std::optional<PartitionSpec>>& leaves)
      : nodes_(tree.nodes()), leaves_(leaves) {}

  SpecTree at(std::size_t node) const {
    const TreeDef::Node& n = nodes_[node];
    if (n.kind == NodeKind::optional && n.children > 0) return at(node + 1);
    bool alike = true;
    for (std::size_t i = n.first_leaf; i < n.last_leaf; ++i)
      alike = alike && leaves_[i] == leaves_[n.first_leaf];
    if (alike && node > 0) {
      if (n.first_leaf == n.last_leaf || !leaves_[n.first_leaf]) return unconstrained;
      return *leaves_[n.first_leaf];
    }
    if (n.kind == NodeKind::leaf)
      return leaves_[n.first_leaf] ? SpecTree(*leaves_[n.first_leaf]) : SpecTree(unconstrained);
    std::vector<SpecTree> children;
    for (std::size_t c = node + 1; c < n.end; c = nodes_[c].end) children.push_back(at(c));
    return SpecTree(std::move(children));
  }

 private:
  const std::vector<TreeDef::Node>& nodes_;
  const std::vector<std::optional<PartitionSpec>>& leaves_;
};

SpecTree tree_of(const TreeDef& tree, const std::vector<std::optional<PartitionSpec>>& leaves) {
  if (tree.nodes().empty()) return unconstrained;
  SpecTree specs = TreeOfSpecs(tree, leaves).at(0);
  // A one-entry list would be read as braces around the spec of the only result, so nest it again.
  if (specs.kind() == SpecTree::Kind::list && specs.children().size() == 1 &&
      tree.nodes()[0].kind == NodeKind::record)
    return SpecTree(std::vector<SpecTree>{std::move(specs)});
  return specs;
}

std::string text_of_found(const Type& t) { return to_string(Type(t.dtype, t.shape)); }

[[noreturn]] void refuse_options(const AutoShardings& best, const SourceLoc& loc) {
  constexpr std::size_t kMost = 6;
  const auto bytes = [](std::int64_t n) { return explain::bytes_text(static_cast<double>(n)); };
  Message m("autoshard");
  m.problem("nothing that was found fits into " + bytes(best.memory_limit) +
            " a device; the least takes " + bytes(best.peak_bytes()));
  m.offender("arguments " + bytes(best.argument_bytes) + ", results " + bytes(best.result_bytes) +
             ", temporaries " + bytes(best.temporary_bytes));
  std::vector<AutoshardGroup> groups = best.groups;
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  for (std::size_t i = 0; i < std::min(kMost, groups.size()); ++i) {
    const AutoshardGroup& g = groups[i];
    std::string text = g.name + ": " + bytes(g.bytes);
    text += g.arguments == 1 ? " of " : " of " + std::to_string(g.arguments) + " x ";
    m.offender(text + g.type + " by " + g.spec);
  }
  m.rule("arguments, results and temporaries of a device take memory_limit bytes at most; " +
         std::to_string(best.evaluations) + (best.evaluations == 1 ? " choice" : " choices") +
         " over " + to_string(best.mesh) + " were judged")
      .from(loc)
      .advice(best.temporary_bytes > best.argument_bytes + best.result_bytes
                  ? "ts::remat around layers, smaller batches, or a mesh of more devices"
                  : "a mesh of more devices, or fewer and smaller parameters")
      .raise<ShardingError>();
}

void check_options(const AutoshardOptions& options, const SourceLoc& loc) {
  const auto refuse_options = [&](const char* option, const std::string& value, const char* rule) {
    Message("autoshard")
        .problem(std::string(option) + " is " + value)
        .rule(rule)
        .from(loc)
        .advice("leave it out for the default")
        .raise<Error>();
  };
  if (options.memory_limit < 0)
    refuse_options("memory_limit", std::to_string(options.memory_limit),
                   "it is what a device has, in bytes; 0: as much as you like");
  if (options.evaluations < 0)
    refuse_options("evaluations", std::to_string(options.evaluations),
                   "it is how many choices are judged at most; 0: by the size of the program");
  if (!(options.seconds >= 0))
    refuse_options("seconds", std::to_string(options.seconds),
                   "it is when the search ends at the latest");
}

explain::Question question_of(const TracedFunction& f, const LeafSpecs& in, const TreeDef& result) {
  explain::Question q;
  q.program = f.program;
  q.inputs = in.paths;
  while (q.inputs.size() < q.program->inputs.size())
    q.inputs.push_back("capture " + std::to_string(q.inputs.size() - in.paths.size()));
  const std::vector<std::string> paths = result.paths("result");
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (f.result_present[i]) q.outputs.push_back(paths[i]);
  return q;
}

}  // namespace

AutoShardings autoshard(Call& call, const AutoshardOptions& options, std::source_location where) {
  const auto begin = std::chrono::steady_clock::now();
  const SourceLoc loc = where;
  refuse_nested("autoshard", loc);
  AutoShardings s;
  s.name = options.name.empty() ? "autoshard(" + to_string(loc) + ")" : options.name;
  s.mesh = need_scope_mesh("autoshard", options.mesh, loc);
  s.memory_limit = options.memory_limit;
  check_options(options, loc);
  const LeafSpecs in =
      argument_specs("autoshard", call, options.in_shardings, s.mesh, leaf_types(call), loc);
  const TracedFunction f = [&] {
    const MeshScope scope(s.mesh);  // for constraints inside
    return trace_call(call, s.name, "autoshard");
  }();
  const TreeDef result = result_tree(call, f), arguments = call.describe_args();

  explain::Question q = question_of(f, in, result);
  q.name = s.name;
  const MeshData& data = MeshData::of(s.mesh);
  q.platform = data.backend;
  auto cutting = std::make_shared<spmd::ProgramShardings>();
  cutting->mesh = data.ref;
  cutting->abstract = data.abstract;
  if (!options.plan.links.empty())
    for (const Mesh::Axis& axis : s.mesh.axes()) {
      const auto it = options.plan.links.find(axis.name);
      s.links[axis.name] = it == options.plan.links.end() ? options.plan.other_links : it->second;
    }
  explain::check_speeds("autoshard", options.plan, loc);
  cutting->links = links_along("autoshard", *data.ref, s.links, loc);
  q.cutting = cutting;
  std::vector<std::optional<spmd::RequestedSpec>> settled;
  for (const auto& spec : in.specs) settled.push_back(wanted(spec));
  const autosharding::Space space(q, data.ref, settled, in.specs.size());
  autosharding::SearchOptions how{options.memory_limit, options.evaluations, options.seconds,
                                  options.plan};
  const autosharding::Found found = autosharding::search(q, space, how);

  std::vector<PartitionSpec> specs;
  for (std::size_t v = 0; v < space.variables().size(); ++v) {
    const autosharding::Variable& variable = space.variables()[v];
    const spmd::Placement p = space.placement(found.choice, v);
    const Shape part = space.atoms().local_shape(variable.type.shape, p);
    specs.push_back(spec_of(space.atoms().spec(p)));
    s.groups.push_back({variable.name, text_of_found(variable.type), to_string(specs.back()),
                        variable.inputs.size(), 0});
    for (std::size_t i : variable.inputs)
      s.groups.back().bytes += Type(f.program->types[f.program->inputs[i]].dtype, part).bytes();
  }
  const auto leaf_specs = [&](std::size_t leaves, const std::vector<bool>& present, auto&& of) {
    std::vector<std::optional<PartitionSpec>> all(leaves);
    std::size_t next = 0;
    for (std::size_t i = 0; i < leaves; ++i)
      if (present[i])
        if (const int v = of(next++); v >= 0) all[i] = specs[static_cast<std::size_t>(v)];
    return all;
  };
  std::vector<bool> present(arguments.leaf_count());
  for (std::size_t leaf : present_leaves(call)) present[leaf] = true;
  auto in_specs = leaf_specs(arguments.leaf_count(), present,
                             [&](std::size_t i) { return space.variable_of_input(i); });
  std::size_t next = 0;
  for (std::size_t i = 0; i < present.size(); ++i)  // specs given by the user are kept as given
    if (present[i] && in.specs[next++]) in_specs[i] = in.specs[next - 1];
  s.in_shardings = tree_of(arguments, in_specs);
  s.out_shardings =
      tree_of(result, leaf_specs(result.leaf_count(), f.result_present,
                                 [&](std::size_t o) { return space.variable_of_output(o); }));
  s.seconds = found.figures.seconds;
  s.argument_bytes = static_cast<std::int64_t>(found.figures.argument_bytes);
  s.result_bytes = static_cast<std::int64_t>(found.figures.result_bytes);
  s.temporary_bytes = found.temporaries;
  s.choices = space.choices();
  s.evaluations = found.evaluations;
  s.exhaustive = found.exhaustive;
  s.repeats = found.repeats;
  for (const auto& [t, figures] : found.templates) {
    const auto peak = static_cast<std::int64_t>(figures.peak(found.scale));
    s.templates.push_back(
        {t.name, figures.seconds, peak, options.memory_limit == 0 || peak <= options.memory_limit});
  }
  s.search_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!found.fits) refuse_options(s, loc);
  return s;
}

}  // namespace detail
}  // namespace tessera::inline v0

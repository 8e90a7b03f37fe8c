#include "api/devices/leaf_specs.h"

namespace tessera::inline v0::detail {

void raise_misfits(Message& m, std::size_t n, const char* what, const SourceLoc& loc) {
  m.problem(std::to_string(n) + " " + what + (n == 1 ? " does" : "s do") + " not fit " +
            (n == 1 ? "its spec" : "their specs"))
      .rule("each dimension that is cut exists, and the number of parts divides it")
      .from(loc)
      .advice("other specs, or other sizes")
      .raise<ShardingError>();
}

std::optional<spmd::RequestedSpec> wanted(const std::optional<PartitionSpec>& spec) {
  if (!spec) return std::nullopt;
  spmd::RequestedSpec w{spec_of(*spec)};
  for (const PartitionSpec::Dim& d : spec->dims()) w.open.push_back(d.is_unconstrained());
  return w;
}

LeafSpecs argument_specs(const char* function, const Call& call, const SpecTree& given,
                         const Mesh& mesh, const std::vector<Type>& types, const SourceLoc& loc) {
  const InFunction named(function, loc);
  SpecTree specs = given;
  // Drop the entries of parameters that the call leaves at their defaults.
  if (specs.kind() == SpecTree::Kind::list && call.defaulted > 0 &&
      specs.children().size() == call.arg_count() + call.defaulted)
    specs = SpecTree(std::vector<SpecTree>(
        specs.children().begin(),
        specs.children().begin() + static_cast<std::ptrdiff_t>(call.arg_count())));
  const TreeDef tree = call.describe_args();
  const auto by_leaf = specs_by_leaf(function, specs, tree, "args", loc);
  const std::vector<std::string> paths = tree.paths("args");
  LeafSpecs out;
  Message m(function);
  std::size_t wrong = 0;
  for (std::size_t leaf : present_leaves(call)) {
    if (by_leaf[leaf])
      if (const Misfit no = misfit(types[out.specs.size()].shape, Sharding(mesh, *by_leaf[leaf]))) {
        m.offender(paths[leaf] + ": " + no.problem + "; " + no.rule);
        ++wrong;
      }
    out.specs.push_back(by_leaf[leaf]);
    out.paths.push_back(paths[leaf]);
  }
  if (wrong > 0) raise_misfits(m, wrong, "argument", loc);
  return out;
}

LeafSpecs result_specs(const char* function, const TracedFunction& f, const TreeDef& result,
                       const SpecTree& specs, const SourceLoc& loc) {
  const InFunction named(function, loc);
  // For a function with one result, braces around the only spec are just syntax of a braced
  // argument.
  const bool one =
      specs.kind() == SpecTree::Kind::list && specs.children().size() == 1 &&
      !result.nodes().empty() &&
      (result.nodes()[0].kind == NodeKind::leaf || result.nodes()[0].kind == NodeKind::record);
  const auto by_leaf =
      specs_by_leaf(function, one ? specs.children()[0] : specs, result, "result", loc);
  const std::vector<std::string> paths = result.paths("result");
  LeafSpecs out;
  for (std::size_t i = 0; i < by_leaf.size(); ++i) {
    if (!f.result_present[i]) continue;
    out.specs.push_back(by_leaf[i]);
    out.paths.push_back(paths[i]);
  }
  return out;
}

TreeDef result_tree(Call& call, const TracedFunction& f) {
  call.prototype = std::const_pointer_cast<void>(f.prototype);
  TreeDef result = call.describe_result();
  call.prototype.reset();
  return result;
}

}  // namespace tessera::inline v0::detail

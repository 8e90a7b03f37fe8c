// Partition specs of the arguments and results of a call.
#pragma once

#include "api/devices/mesh_data.h"
#include "api/trace/traced.h"

#include <string>
#include <vector>

namespace tessera::inline v0::detail {

/// Specs and paths of the non-empty leaves.
struct LeafSpecs {
  std::vector<std::optional<PartitionSpec>> specs;
  std::vector<std::string> paths;
};

/// The specs of arguments of these types. Throws TreeError if `specs` is not a tree prefix of the
/// arguments, and one ShardingError listing all arguments whose sizes the mesh axes do not divide.
LeafSpecs argument_specs(const char* function, const Call& call, const SpecTree& specs,
                         const Mesh& mesh, const std::vector<Type>& types, const SourceLoc& loc);
/// The specs of the results of a traced function, whose tree is `result`. The caller checks that
/// they fit.
LeafSpecs result_specs(const char* function, const TracedFunction& f, const TreeDef& result,
                       const SpecTree& specs, const SourceLoc& loc);
/// The result tree of a traced call.
TreeDef result_tree(Call& call, const TracedFunction& f);

/// A leaf's spec in the form that the partitioner takes.
std::optional<spmd::RequestedSpec> wanted(const std::optional<PartitionSpec>& spec);

/// Throws ShardingError for "n `what`s do not fit their specs"; `m` lists them.
[[noreturn]] void raise_misfits(Message& m, std::size_t n, const char* what, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail

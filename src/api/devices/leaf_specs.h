// Specs of arguments and results, as a call has them.
#pragma once

#include "api/devices/mesh_data.h"
#include "api/trace/traced.h"

#include <string>
#include <vector>

namespace tessera::inline v0::detail {

/// By leaf that is not empty.
struct LeafSpecs {
  std::vector<std::optional<PartitionSpec>> specs;
  std::vector<std::string> paths;
};

/// Of arguments of these types. TreeError where `specs` is no prefix of them, one ShardingError for
/// all that do not divide.
LeafSpecs argument_specs(const char* function, const Call& call, const SpecTree& specs,
                         const Mesh& mesh, const std::vector<Type>& types, const SourceLoc& loc);
/// Of the results of a traced function, whose tree is `result`. What they have to fit is the
/// caller's to say.
LeafSpecs result_specs(const char* function, const TracedFunction& f, const TreeDef& result,
                       const SpecTree& specs, const SourceLoc& loc);
/// The result's tree of a call that was traced.
TreeDef result_tree(Call& call, const TracedFunction& f);

/// A leaf's spec as partitioning has it.
std::optional<spmd::RequestedSpec> wanted(const std::optional<PartitionSpec>& spec);

/// ShardingError for "n `what`s do not fit their specs", which `m` lists.
[[noreturn]] void raise_misfits(Message& m, std::size_t n, const char* what, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail

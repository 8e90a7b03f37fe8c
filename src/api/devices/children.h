// Describes the children of a tree node, for errors about lists with one entry per child.
#pragma once

#include <tessera/tree_def.h>

#include <string>

namespace tessera::inline v0::detail {

/// "3 children, of which args[0]/heads is static, with an entry that is ignored". `root` is
/// prepended to paths.
std::string children_of(const TreeDef& tree, std::size_t node, const std::string& root);

}  // namespace tessera::inline v0::detail

#include "api/devices/children.h"

#include <vector>

namespace tessera::inline v0::detail {

std::string children_of(const TreeDef& tree, std::size_t node, const std::string& root) {
  const TreeDef::Node& n = tree.nodes()[node];
  std::string text = std::to_string(n.children) + (n.children == 1 ? " child" : " children");
  std::vector<std::string> fixed;
  for (std::size_t c = node + 1; c < n.end; c = tree.nodes()[c].end)
    if (tree.nodes()[c].kind == NodeKind::fixed) fixed.push_back(tree.path(c, root));
  if (fixed.empty()) return text;
  text += ", of which ";
  for (std::size_t i = 0; i < fixed.size(); ++i)
    text += (i == 0 ? "" : i + 1 < fixed.size() ? ", " : " and ") + fixed[i];
  return text + (fixed.size() == 1 ? " is static, with an entry that is ignored"
                                   : " are static, with entries that are ignored");
}

}  // namespace tessera::inline v0::detail

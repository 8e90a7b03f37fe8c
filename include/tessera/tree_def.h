// The structure of trees (tessera/tree.h).
#pragma once

#include <tessera/detail/walk.h>
#include <memory>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// The structure of a tree: the kinds of nodes, field names, keys and static values, without the
/// leaves. Immutable and cheap to copy. Trees of different C++ types never have equal structures.
class TESSERA_API TreeDef {
 public:
  /// Nodes are stored in preorder; the children of node i follow it.
  struct Node {
    detail::NodeKind kind = detail::NodeKind::leaf;
    /// Label of the edge from the parent: field name, index or key; empty for an optional's value.
    std::string label;
    std::string text;  // type name of a record, value of a static
    std::size_t children = 0;
    std::size_t end = 0;                        // one past the last node of the subtree
    std::size_t first_leaf = 0, last_leaf = 0;  // range of leaves in the subtree
    bool operator==(const Node&) const = default;
  };

  TreeDef();
  explicit TreeDef(std::vector<Node> nodes);

  /// The number of leaves, including empty ones.
  std::size_t leaf_count() const;
  /// The path of each leaf, such as "layers/0/w", or "" for a tree that is a leaf. A `root` is
  /// prepended: "args[0]/layers/0/w".
  std::vector<std::string> paths(const std::string& root = "") const;
  /// The path of a node.
  std::string path(std::size_t node, const std::string& root = "") const;
  const std::vector<Node>& nodes() const;
  /// The structure of child i of the root.
  TreeDef child(std::size_t i) const;
  /// A hash of the structure; equal structures have equal hashes.
  std::uint64_t hash() const;
  bool operator==(const TreeDef& other) const;

 private:
  std::shared_ptr<const std::vector<Node>> nodes_;
};

/// "Mlp{layers: [Layer{w: *, b: *}], heads: 4}", where * stands for a leaf.
TESSERA_API std::string to_string(const TreeDef& def);
TESSERA_API std::ostream& operator<<(std::ostream& out, const TreeDef& def);

}  // namespace tessera::inline v0

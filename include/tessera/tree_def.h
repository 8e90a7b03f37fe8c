// What a tree is but for its leaves (tessera/tree.h).
#pragma once

#include <tessera/detail/walk.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// The structure of a tree: kinds of nodes, field names, keys and static values, without its
/// leaves. Immutable and cheap to copy. Two trees of different C++ types are never equal in
/// structure.
class TESSERA_API TreeDef {
 public:
  /// Preorder; the children of node i follow it.
  struct Node {
    detail::NodeKind kind = detail::NodeKind::leaf;
    std::string label;  // of the edge from the parent: field name, index or key; empty for an
                        // optional's value
    std::string text;   // type of a record, value of a static
    std::size_t children = 0;
    std::size_t end = 0;                        // one past the last node of the subtree
    std::size_t first_leaf = 0, last_leaf = 0;  // leaves of the subtree
    bool operator==(const Node&) const = default;
  };

  TreeDef();
  explicit TreeDef(std::vector<Node> nodes);

  std::size_t leaf_count() const;
  /// "layers/0/w", one a leaf; "" for a tree that is a leaf. A `root` is put in front:
  /// "args[0]/layers/0/w".
  std::vector<std::string> paths(const std::string& root = "") const;
  /// Path of a node.
  std::string path(std::size_t node, const std::string& root = "") const;
  const std::vector<Node>& nodes() const;
  /// The structure of child i of the root.
  TreeDef child(std::size_t i) const;
  std::uint64_t hash() const;
  bool operator==(const TreeDef& other) const;

 private:
  std::shared_ptr<const std::vector<Node>> nodes_;
};

/// "Mlp{layers: [Layer{w: *, b: *}], heads: 4}": leaves are stars.
TESSERA_API std::string to_string(const TreeDef& def);
TESSERA_API std::ostream& operator<<(std::ostream& out, const TreeDef& def);

}  // namespace tessera::inline v0

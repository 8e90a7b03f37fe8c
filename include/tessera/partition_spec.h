// A partition spec gives, for each dimension of an array, the mesh axes over which it is sharded.
//
//   P("data")                     rows over "data"; other dimensions are not sharded
//   P(none, "model")              columns over "model"
//   P({"data", "model"})          rows over both, "data" major
//   P("data", unconstrained)      the compiler chooses how to shard the columns
//   P()                           replicated on every device
//
// A SpecTree gives specs for several arrays. It is one spec for all leaves, or a list with one
// entry per child (argument, element or field, in order), each again a SpecTree; or it is made from
// rules by path:
//
//   ts::specs(model, {{"layers/*/w", P(none, "model")}, {"layers/*/b", P("model")}, {"**", P()}})
#pragma once

#include <tessera/tree.h>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// A dimension that is not sharded.
struct None {};
/// The value that marks a dimension as not sharded, as in P(none, "model").
inline constexpr None none{};
/// A dimension or array whose sharding is left to the compiler.
struct Unconstrained {};
/// The value that leaves a dimension or an array to the compiler.
inline constexpr Unconstrained unconstrained{};

/// The mesh axes over which each dimension of an array is sharded, such as P("data", none).
/// Dimensions beyond the last entry are not sharded.
class TESSERA_API PartitionSpec {
 public:
  /// One dimension: mesh axes, major first, or `none`, or `unconstrained`.
  class TESSERA_API Dim {
   public:
    Dim(None);
    Dim(Unconstrained);
    Dim(const char* axis);
    Dim(std::string axis);
    Dim(std::initializer_list<std::string_view> axes);
    Dim(std::vector<std::string> axes);
    Dim(const Dim&);
    Dim(Dim&&) noexcept;
    Dim& operator=(const Dim&);
    Dim& operator=(Dim&&) noexcept;
    ~Dim();

    const std::vector<std::string>& axes() const { return axes_; }
    bool is_unconstrained() const { return unconstrained_; }
    bool operator==(const Dim&) const;

   private:
    std::vector<std::string> axes_;
    bool unconstrained_ = false;
  };

  /// No dimension is sharded.
  PartitionSpec();
  explicit PartitionSpec(std::vector<Dim> dims);
  PartitionSpec(const PartitionSpec&);
  PartitionSpec(PartitionSpec&&) noexcept;
  PartitionSpec& operator=(const PartitionSpec&);
  PartitionSpec& operator=(PartitionSpec&&) noexcept;
  ~PartitionSpec();

  /// The dimensions as given, without implicit trailing ones.
  const std::vector<Dim>& dims() const { return dims_; }
  /// Dimension d; `none` past the end.
  const Dim& operator[](std::size_t d) const;
  /// Ignores trailing dimensions that are not sharded.
  bool operator==(const PartitionSpec& other) const;

 private:
  std::vector<Dim> dims_;
};

/// Makes a spec from its dimensions.
template <class... D>
requires(std::convertible_to<D, PartitionSpec::Dim>&&...) PartitionSpec P(D&&... dims) {
  return PartitionSpec(std::vector<PartitionSpec::Dim>{PartitionSpec::Dim(dims)...});
}
// Overloads for axes in braces, which a parameter pack cannot deduce.
TESSERA_API PartitionSpec P(PartitionSpec::Dim d0);
TESSERA_API PartitionSpec P(PartitionSpec::Dim d0, PartitionSpec::Dim d1);
TESSERA_API PartitionSpec P(PartitionSpec::Dim d0, PartitionSpec::Dim d1, PartitionSpec::Dim d2);
TESSERA_API PartitionSpec P(PartitionSpec::Dim d0, PartitionSpec::Dim d1, PartitionSpec::Dim d2,
                            PartitionSpec::Dim d3);

/// The text of a spec: "P('data', none)", "P(('data', 'model'))", "P(unconstrained)".
TESSERA_API std::string to_string(const PartitionSpec& spec);
TESSERA_API std::ostream& operator<<(std::ostream& out, const PartitionSpec& spec);

/// Specs for the leaves of a tree, as a prefix of it.
class TESSERA_API SpecTree {
 public:
  enum class Kind { spec, unconstrained, list, leaves };

  /// Every leaf is replicated.
  SpecTree();
  SpecTree(PartitionSpec spec);
  /// The sharding of these leaves is unconstrained.
  SpecTree(Unconstrained);
  /// Throws TreeError if lists are nested deeper than 1000 levels.
  SpecTree(std::initializer_list<SpecTree> children);
  SpecTree(std::vector<SpecTree> children);
  SpecTree(const SpecTree&);
  SpecTree(SpecTree&&) noexcept;
  SpecTree& operator=(const SpecTree&);
  SpecTree& operator=(SpecTree&&) noexcept;
  ~SpecTree();
  /// One spec per leaf, in order.
  static SpecTree of_leaves(std::vector<PartitionSpec> specs);

  Kind kind() const { return kind_; }
  const PartitionSpec& spec() const { return spec_; }
  const std::vector<SpecTree>& children() const { return children_; }

 private:
  Kind kind_ = Kind::spec;
  PartitionSpec spec_;
  std::vector<SpecTree> children_;
};
/// "P('x')", "{P('x'), {unconstrained, P(none, 'x')}}".
TESSERA_API std::string to_string(const SpecTree& tree);

/// A rule for leaves whose path matches the pattern: '*' matches any part of a name, '**' any part
/// of a path.
struct PathRule {
  std::string pattern;
  PartitionSpec spec;
};

namespace detail {
/// Whether the path matches the pattern of a PathRule.
TESSERA_API bool fits_pattern(std::string_view pattern, std::string_view path);
/// `empty[i]` is true if leaf i is an empty array, which needs no rule. If the list is empty, no
/// leaf is.
TESSERA_API std::vector<PartitionSpec> specs_by_path(const std::vector<std::string>& paths,
                                                     const std::vector<PathRule>& rules,
                                                     std::source_location loc,
                                                     const std::vector<bool>& empty = {});
template <class T>
std::vector<bool> empty_leaves(const T& tree) {
  std::vector<bool> empty;
  for (const Array& leaf : tree::leaves(tree)) empty.push_back(leaf.is_empty());
  return empty;
}
/// The spec of every leaf, or nullopt for an unconstrained one. Throws TreeError if `specs` is not
/// a prefix of the tree.
TESSERA_API std::vector<std::optional<PartitionSpec>> specs_by_leaf(const char* function,
                                                                    const SpecTree& specs,
                                                                    const TreeDef& tree,
                                                                    const std::string& root,
                                                                    const SourceLoc& loc);
}  // namespace detail

/// Assigns each leaf of a tree ("layers/0/w") the spec of the first rule that matches its path.
/// Empty leaves need no rule. Throws a TreeError that lists other leaves without a rule, and rules
/// that match no leaf.
template <class T>
SpecTree specs(const T& tree, const std::vector<PathRule>& rules,
               std::source_location loc = std::source_location::current()) {
  return SpecTree::of_leaves(
      detail::specs_by_path(tree::paths(tree), rules, loc, detail::empty_leaves(tree)));
}

}  // namespace tessera::inline v0

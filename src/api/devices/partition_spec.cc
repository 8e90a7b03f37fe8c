#include <tessera/partition_spec.h>

#include "api/devices/children.h"
#include "base/message.h"
#include "base/nesting.h"

#include <algorithm>
#include <ostream>

namespace tessera::inline v0 {

PartitionSpec::Dim::Dim(None) {}
PartitionSpec::Dim::Dim(Unconstrained) : unconstrained_(true) {}
PartitionSpec::Dim::Dim(const char* axis) : axes_{axis} {}
PartitionSpec::Dim::Dim(std::string axis) : axes_{std::move(axis)} {}
PartitionSpec::Dim::Dim(std::initializer_list<std::string_view> axes)
    : axes_(axes.begin(), axes.end()) {}
PartitionSpec::Dim::Dim(std::vector<std::string> axes) : axes_(std::move(axes)) {}
PartitionSpec::Dim::Dim(const Dim&) = default;
PartitionSpec::Dim::Dim(Dim&&) noexcept = default;
PartitionSpec::Dim& PartitionSpec::Dim::operator=(const Dim&) = default;
PartitionSpec::Dim& PartitionSpec::Dim::operator=(Dim&&) noexcept = default;
PartitionSpec::Dim::~Dim() = default;
bool PartitionSpec::Dim::operator==(const Dim& other) const {
  return axes_ == other.axes_ && unconstrained_ == other.unconstrained_;
}

PartitionSpec::PartitionSpec() = default;
PartitionSpec::PartitionSpec(std::vector<Dim> dims) : dims_(std::move(dims)) {}
PartitionSpec::PartitionSpec(const PartitionSpec&) = default;
PartitionSpec::PartitionSpec(PartitionSpec&&) noexcept = default;
PartitionSpec& PartitionSpec::operator=(const PartitionSpec&) = default;
PartitionSpec& PartitionSpec::operator=(PartitionSpec&&) noexcept = default;
PartitionSpec::~PartitionSpec() = default;

const PartitionSpec::Dim& PartitionSpec::operator[](std::size_t d) const {
  static const auto& uncut = *new Dim(none);
  return d < dims_.size() ? dims_[d] : uncut;
}

bool PartitionSpec::operator==(const PartitionSpec& other) const {
  for (std::size_t d = 0; d < std::max(dims_.size(), other.dims_.size()); ++d)
    if (!((*this)[d] == other[d])) return false;
  return true;
}

PartitionSpec P(PartitionSpec::Dim d0) { return PartitionSpec({d0}); }
PartitionSpec P(PartitionSpec::Dim d0, PartitionSpec::Dim d1) { return PartitionSpec({d0, d1}); }
PartitionSpec P(PartitionSpec::Dim d0, PartitionSpec::Dim d1, PartitionSpec::Dim d2) {
  return PartitionSpec({d0, d1, d2});
}
PartitionSpec P(PartitionSpec::Dim d0, PartitionSpec::Dim d1, PartitionSpec::Dim d2,
                PartitionSpec::Dim d3) {
  return PartitionSpec({d0, d1, d2, d3});
}

std::string to_string(const PartitionSpec& spec) {
  std::string s = "P(";
  bool first = true;
  for (const PartitionSpec::Dim& dim : spec.dims()) {
    if (!first) s += ", ";
    first = false;
    if (dim.is_unconstrained()) {
      s += "unconstrained";
    } else if (dim.axes().empty()) {
      s += "none";
    } else {
      const bool several = dim.axes().size() > 1;
      if (several) s += '(';
      for (std::size_t i = 0; i < dim.axes().size(); ++i)
        s += (i ? ", '" : "'") + dim.axes()[i] + "'";
      if (several) s += ')';
    }
  }
  return s + ")";
}
std::ostream& operator<<(std::ostream& out, const PartitionSpec& spec) {
  return out << to_string(spec);
}

SpecTree::SpecTree() = default;
SpecTree::SpecTree(PartitionSpec spec) : spec_(std::move(spec)) {}
SpecTree::SpecTree(Unconstrained) : kind_(Kind::unconstrained) {}
SpecTree::SpecTree(const SpecTree&) = default;
SpecTree::SpecTree(SpecTree&&) noexcept = default;
SpecTree& SpecTree::operator=(const SpecTree&) = default;
SpecTree& SpecTree::operator=(SpecTree&&) noexcept = default;
SpecTree::~SpecTree() = default;
SpecTree::SpecTree(std::initializer_list<SpecTree> children)
    : SpecTree(std::vector<SpecTree>(children)) {}
SpecTree::SpecTree(std::vector<SpecTree> children)
    : kind_(Kind::list), children_(not_too_deep("SpecTree", std::move(children))) {}

SpecTree SpecTree::of_leaves(std::vector<PartitionSpec> specs) {
  SpecTree tree;
  tree.kind_ = Kind::leaves;
  tree.children_.assign(specs.begin(), specs.end());
  return tree;
}

std::string to_string(const SpecTree& tree) {
  if (tree.kind() == SpecTree::Kind::spec) return to_string(tree.spec());
  if (tree.kind() == SpecTree::Kind::unconstrained) return "unconstrained";
  std::string s = "{";
  for (const SpecTree& child : tree.children()) s += (s.size() > 1 ? ", " : "") + to_string(child);
  return s + "}";
}

namespace detail {

// '*' matches any characters except '/', '**' any characters, and "**/" also nothing, so that
// "**/w" matches a top-level w. Tracks the set of positions at which the pattern read so far may
// end.
bool fits_pattern(std::string_view pattern, std::string_view path) {
  std::vector<bool> at(path.size() + 1, false), before;
  at[0] = true;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '*') {
      const bool deep = pattern.substr(i).starts_with("**");
      if (deep) ++i;
      before = at;
      for (std::size_t p = 0; p < path.size(); ++p)
        if (at[p] && (deep || path[p] != '/')) at[p + 1] = true;
      if (!deep || i + 1 == pattern.size() || pattern[i + 1] != '/') continue;
      ++i;
      for (std::size_t p = path.size() + 1; p-- > 0;)
        at[p] = p == 0 || path[p - 1] == '/' ? (p > 0 && at[p - 1]) || before[p] : false;
      continue;
    }
    for (std::size_t p = path.size() + 1; p-- > 0;)
      at[p] = p > 0 && at[p - 1] && path[p - 1] == pattern[i];
  }
  return at[path.size()];
}

namespace {

struct Spread {
  const TreeDef& def;
  const std::string& root;
  std::vector<std::optional<PartitionSpec>>& out;
  std::vector<std::string> offenders;

  void visit(const SpecTree& specs, std::size_t node, const std::string& path) {
    const TreeDef::Node& n = def.nodes()[node];
    if (specs.kind() == SpecTree::Kind::unconstrained) return;
    if (specs.kind() == SpecTree::Kind::spec) {
      for (std::size_t i = n.first_leaf; i < n.last_leaf; ++i) out[i] = specs.spec();
      return;
    }
    const std::size_t entries = specs.children().size();
    auto count = [](std::size_t k, const char* one, const char* many) {
      return std::to_string(k) + ' ' + (k == 1 ? one : many);
    };
    if (specs.kind() == SpecTree::Kind::leaves) {
      const std::size_t leaves = n.last_leaf - n.first_leaf;
      if (entries != leaves)
        offenders.push_back(path + " has the specs of " + count(entries, "leaf", "leaves") +
                            ", but " + def.path(node, root) + " has " +
                            count(leaves, "leaf", "leaves"));
      else
        for (std::size_t i = 0; i < leaves; ++i) out[n.first_leaf + i] = specs.children()[i].spec();
      return;
    }
    if (n.kind == NodeKind::fixed) return;
    if (n.kind == NodeKind::optional) {
      if (n.children) visit(specs, node + 1, path);
      return;
    }
    if (n.kind == NodeKind::leaf || entries != n.children) {
      offenders.push_back(
          path + " = " + to_string(specs) + " has " + count(entries, "entry", "entries") +
          ", but " + def.path(node, root) +
          (n.kind == NodeKind::leaf ? " is an array" : " has " + children_of(def, node, root)));
      return;
    }
    std::size_t i = 0;
    for (std::size_t c = node + 1; c < n.end; c = def.nodes()[c].end, ++i)
      visit(specs.children()[i], c, path + "[" + std::to_string(i) + "]");
  }
};

}  // namespace

std::vector<PartitionSpec> specs_by_path(const std::vector<std::string>& paths,
                                         const std::vector<PathRule>& rules,
                                         std::source_location loc, const std::vector<bool>& empty) {
  std::vector<PartitionSpec> out;
  std::vector<bool> used(rules.size(), false);
  Message m("specs");
  m.from(loc);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string& path = paths[i];
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const PathRule& r) {
      return fits_pattern(r.pattern, path);
    });
    if (rule == rules.end() && i < empty.size() && empty[i]) {
      out.emplace_back();
    } else if (rule == rules.end()) {
      m.offender("no rule fits the leaf '" + path + "'");
      ++wrong;
    } else {
      used[static_cast<std::size_t>(rule - rules.begin())] = true;
      out.push_back(rule->spec);
    }
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (used[i]) continue;
    const bool shadowed = std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
      return fits_pattern(rules[i].pattern, path);
    });
    m.offender("the rule '" + rules[i].pattern + "' " +
               (shadowed ? "fits only leaves that a rule before it fits" : "fits no leaf"));
    ++wrong;
  }
  if (wrong > 0)
    m.problem("the rules do not fit the tree")
        .rule(
            "each leaf has the spec of the first rule that fits its path, and each rule is of use; "
            "'*' stands for any part of a name, '**' for any part of a path")
        .advice("{\"**\", P()} as the last rule leaves the rest whole")
        .raise<TreeError>();
  return out;
}

std::vector<std::optional<PartitionSpec>> specs_by_leaf(const char* function, const SpecTree& specs,
                                                        const TreeDef& tree,
                                                        const std::string& root,
                                                        const SourceLoc& loc) {
  std::vector<std::optional<PartitionSpec>> out(tree.leaf_count());
  Spread spread{tree, root, out, {}};
  if (!tree.nodes().empty()) spread.visit(specs, 0, "specs");
  if (spread.offenders.empty()) return out;
  Message m(function);
  m.problem("the specs are no prefix of the tree");
  for (std::string& o : spread.offenders) m.offender(std::move(o));
  m.rule("an entry is a spec for everything below it, or a list with one entry a child")
      .from(loc)
      .advice("give one entry for each: {P(\"x\"), P()}, or a single spec for all: P()")
      .raise<TreeError>();
}

}  // namespace detail
}  // namespace tessera::inline v0

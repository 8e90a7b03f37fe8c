#include <tessera/tree.h>

#include "api/devices/children.h"
#include "base/message.h"
#include "base/nesting.h"

namespace tessera::inline v0 {

Axes::Axes() = default;
Axes::Axes(const Axes&) = default;
Axes::Axes(Axes&&) noexcept = default;
Axes& Axes::operator=(const Axes&) = default;
Axes& Axes::operator=(Axes&&) noexcept = default;
Axes::~Axes() = default;
Axes::Axes(Kind kind, int axis) : kind_(kind), axis_(axis) {}
Axes::Axes(std::initializer_list<Axes> children) : Axes(std::vector<Axes>(children)) {}
Axes::Axes(std::vector<Axes> children)
    : kind_(Kind::list), children_(not_too_deep("Axes", std::move(children))) {}

std::string to_string(const Axes& axes) {
  switch (axes.kind()) {
    case Axes::Kind::axis: return std::to_string(axes.axis());
    case Axes::Kind::replicated: return "replicated";
    case Axes::Kind::list: break;
  }
  std::string out = "{";
  for (std::size_t i = 0; i < axes.children().size(); ++i)
    out += (i ? ", " : "") + to_string(axes.children()[i]);
  return out + "}";
}

namespace detail {
namespace {

struct Broadcast {
  const TreeDef& def;
  const std::string& spec;
  const std::string& tree;
  std::vector<int>& out;
  std::vector<std::string> offenders;

  void assign(const TreeDef::Node& n, int axis) {
    for (std::size_t i = n.first_leaf; i < n.last_leaf; ++i) out[i] = axis;
  }
  void visit(const Axes& axes, std::size_t node, const std::string& spec_path) {
    const TreeDef::Node& n = def.nodes()[node];
    if (axes.kind() == Axes::Kind::axis) return assign(n, axes.axis());
    if (axes.kind() == Axes::Kind::replicated || n.kind == NodeKind::fixed)
      return assign(n, kReplicated);
    if (n.kind == NodeKind::optional) {
      if (n.children) visit(axes, node + 1, spec_path);
      return;
    }
    const std::size_t entries = axes.children().size();
    if (n.kind == NodeKind::leaf || entries != n.children) {
      const std::string what =
          n.kind == NodeKind::leaf ? "is an array" : "has " + children_of(def, node, tree);
      offenders.push_back(spec_path + " = " + to_string(axes) + " has " + std::to_string(entries) +
                          (entries == 1 ? " entry" : " entries") + ", but " + def.path(node, tree) +
                          ' ' + what);
      return;
    }
    std::size_t i = 0;
    for (std::size_t c = node + 1; c < n.end; c = def.nodes()[c].end, ++i)
      visit(axes.children()[i], c, spec_path + "[" + std::to_string(i) + "]");
  }
};

}  // namespace

std::vector<int> broadcast_axes(const char* function, const Axes& axes, const std::string& spec,
                                const TreeDef& def, const std::string& tree, const SourceLoc& loc) {
  std::vector<int> out(def.leaf_count(), kReplicated);
  Broadcast b{def, spec, tree, out, {}};
  if (!def.nodes().empty()) b.visit(axes, 0, spec);
  if (b.offenders.empty()) return out;
  Message m(function);
  m.problem(spec + " does not fit " + tree);
  for (auto& o : b.offenders) m.offender(std::move(o));
  m.rule(
       "an entry is an axis or replicated for everything below it, or a list with one entry a "
       "child")
      .from(loc)
      .advice("give one entry for each: {0, ts::replicated}, or a single one for all: 0")
      .raise<TreeError>();
}

}  // namespace detail
}  // namespace tessera::inline v0

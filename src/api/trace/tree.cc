#include <tessera/detail/moved.h>
#include <tessera/tree.h>

#include "base/message.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <ostream>

namespace tessera::inline v0 {
namespace {

using detail::FixedKind;
using detail::NodeKind;
using detail::NodeType;

/// "Mlp" for "{anonymous}::app::Mlp"; template arguments are kept: "Pair<A, B>".
std::string short_type_name(std::string_view spelling) {
  std::size_t end = spelling.find('<');
  if (end == std::string_view::npos) end = spelling.size();
  std::size_t colon = spelling.substr(0, end).rfind("::");
  return std::string(colon == std::string_view::npos ? spelling : spelling.substr(colon + 2));
}

std::string shape_text(std::string_view bytes) {
  Shape shape;
  for (std::size_t i = 0; i + sizeof(std::int64_t) <= bytes.size(); i += sizeof(std::int64_t)) {
    std::int64_t d;
    std::memcpy(&d, bytes.data() + i, sizeof d);
    shape.push_back(d);
  }
  return to_string(shape);
}

std::string real_text(double v, bool single) {
  char buffer[40];
  for (int digits = 6; digits <= 17; ++digits) {  // the shortest text that reads back
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, v);
    double back = std::strtod(buffer, nullptr);
    if (single ? static_cast<float>(back) == static_cast<float>(v) : back == v) break;
  }
  return buffer;
}

std::string fixed_text(FixedKind kind, std::uint64_t bits, std::string_view text) {
  switch (kind) {
    case FixedKind::boolean: return bits ? "true" : "false";
    case FixedKind::integer:
    case FixedKind::enumeration: return std::to_string(static_cast<std::int64_t>(bits));
    case FixedKind::dtype: return to_string(static_cast<DType>(bits));
    case FixedKind::unsigned_integer: return std::to_string(bits);
    case FixedKind::real32: return real_text(std::bit_cast<double>(bits), true);
    case FixedKind::real64: return real_text(std::bit_cast<double>(bits), false);
    case FixedKind::string: return '"' + std::string(text) + '"';
    case FixedKind::shape: return shape_text(text);
  }
  return {};
}

class Describer final : public detail::Visitor {
 public:
  void leaf(Array&) override {
    open(NodeKind::leaf, {}, 0);
    ++leaves_;
    close();
  }
  void fixed(FixedKind kind, std::uint64_t bits, std::string_view text) override {
    open(NodeKind::fixed, fixed_text(kind, bits, text), 0);
    close();
  }
  void enter(const NodeType& type, std::size_t children) override {
    open(type.kind, short_type_name(type.spelling), children);
    stack_.back().type = &type;
  }
  void key(std::string_view key) override { key_ = key; }
  void leave() override { close(); }

  std::vector<TreeDef::Node> take() { return std::move(nodes_); }

 private:
  struct Open {
    std::size_t node;
    std::size_t next = 0;  // index of the next child
    const NodeType* type = nullptr;
  };

  std::string next_label() {
    if (stack_.empty()) return {};
    Open& parent = stack_.back();
    std::size_t i = parent.next++;
    switch (nodes_[parent.node].kind) {
      case NodeKind::record: {
        std::string_view name =
            parent.type->field_name ? parent.type->field_name(i) : std::string_view{};
        return name.empty() ? std::to_string(i) : std::string(name);
      }
      case NodeKind::map: return std::move(key_);
      case NodeKind::optional: return {};
      default: return std::to_string(i);
    }
  }
  void open(NodeKind kind, std::string text, std::size_t children) {
    TreeDef::Node node;
    node.label = next_label();
    node.kind = kind;
    node.text = std::move(text);
    node.children = children;
    node.first_leaf = leaves_;
    nodes_.push_back(std::move(node));
    stack_.push_back({nodes_.size() - 1});
  }
  void close() {
    TreeDef::Node& node = nodes_[stack_.back().node];
    node.end = nodes_.size();
    node.last_leaf = leaves_;
    stack_.pop_back();
  }

  std::vector<TreeDef::Node> nodes_;
  std::vector<Open> stack_;
  std::string key_;
  std::size_t leaves_ = 0;
};

/// "args" and "0" are joined to "args[0]"; further levels are separated by slashes.
void join(std::string& path, const std::string& label, const std::string& root) {
  if (label.empty()) return;
  if (!root.empty() && path.size() == root.size() && label[0] >= '0' && label[0] <= '9') {
    path += '[' + label + ']';
    return;
  }
  if (!path.empty()) path += '/';
  path += label;
}

std::string kind_text(const TreeDef::Node& n) {
  switch (n.kind) {
    case NodeKind::leaf: return "an array";
    case NodeKind::fixed: return "the static value " + n.text;
    case NodeKind::sequence: return "a sequence of " + std::to_string(n.children);
    case NodeKind::tuple: return "a tuple of " + std::to_string(n.children);
    case NodeKind::map: return "a map of " + std::to_string(n.children);
    case NodeKind::optional: return n.children ? "a present optional" : "an absent optional";
    case NodeKind::record: return "a " + n.text;
  }
  return {};
}

void print(const std::vector<TreeDef::Node>& nodes, std::size_t i, std::string& out) {
  const TreeDef::Node& n = nodes[i];
  auto children = [&](const char* open, const char* close, bool labels, bool quoted) {
    out += open;
    for (std::size_t c = i + 1; c < n.end; c = nodes[c].end) {
      if (c != i + 1) out += ", ";
      if (labels) out += quoted ? '"' + nodes[c].label + "\": " : nodes[c].label + ": ";
      print(nodes, c, out);
    }
    out += close;
  };
  switch (n.kind) {
    case NodeKind::leaf: out += '*'; break;
    case NodeKind::fixed: out += n.text; break;
    case NodeKind::sequence: children("[", "]", false, false); break;
    case NodeKind::tuple: children("(", ")", false, false); break;
    case NodeKind::map: children("{", "}", true, true); break;
    case NodeKind::optional:
      if (n.children)
        print(nodes, i + 1, out);
      else
        out += "none";
      break;
    case NodeKind::record:
      out += n.text;
      children("{", "}", true, false);
      break;
  }
}

}  // namespace

TreeDef::TreeDef() : nodes_(std::make_shared<const std::vector<Node>>()) {}
TreeDef::TreeDef(std::vector<Node> nodes)
    : nodes_(std::make_shared<const std::vector<Node>>(std::move(nodes))) {}

const std::vector<TreeDef::Node>& TreeDef::nodes() const {
  if (!nodes_) detail::moved_from("TreeDef");
  return *nodes_;
}
std::size_t TreeDef::leaf_count() const { return nodes().empty() ? 0 : nodes().front().last_leaf; }

std::vector<std::string> TreeDef::paths(const std::string& root) const {
  const std::vector<Node>& nodes = this->nodes();
  std::vector<std::string> out;
  struct Prefix {
    std::size_t end;
    std::size_t length;
  };
  std::vector<Prefix> open;
  std::string path = root;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    while (!open.empty() && open.back().end <= i) {
      path.resize(open.back().length);
      open.pop_back();
    }
    open.push_back({n.end, path.size()});
    join(path, n.label, root);
    if (n.kind == NodeKind::leaf) out.push_back(path);
  }
  return out;
}

std::string TreeDef::path(std::size_t node, const std::string& root) const {
  std::string path = root;
  for (std::size_t i = 0; i <= node; ++i)
    if (nodes()[i].end > node) join(path, nodes()[i].label, root);
  return path;
}

TreeDef TreeDef::child(std::size_t i) const {
  const std::vector<Node>& all = nodes();
  std::size_t begin = 1;
  while (i-- > 0) begin = all[begin].end;
  const std::size_t end = all[begin].end, leaf = all[begin].first_leaf;
  std::vector<Node> nodes(all.begin() + static_cast<std::ptrdiff_t>(begin),
                          all.begin() + static_cast<std::ptrdiff_t>(end));
  nodes[0].label.clear();
  for (Node& n : nodes) {
    n.end -= begin;
    n.first_leaf -= leaf;
    n.last_leaf -= leaf;
  }
  return TreeDef(std::move(nodes));
}

std::uint64_t TreeDef::hash() const {
  std::uint64_t h = 0x9e3779b97f4a7c15u;
  auto mix = [&h](std::uint64_t v) { h = (h ^ v) * 0xff51afd7ed558ccdu, h ^= h >> 32; };
  for (const Node& n : nodes()) {
    mix(static_cast<std::uint64_t>(n.kind));
    mix(n.children);
    mix(std::hash<std::string>{}(n.label));
    mix(std::hash<std::string>{}(n.text));
  }
  return h;
}

bool TreeDef::operator==(const TreeDef& other) const {
  return nodes_ == other.nodes_ || nodes() == other.nodes();
}

std::string to_string(const TreeDef& def) {
  std::string out;
  if (!def.nodes().empty()) print(def.nodes(), 0, out);
  return out;
}
std::ostream& operator<<(std::ostream& out, const TreeDef& def) { return out << to_string(def); }

namespace detail {

std::string_view listed_name(std::string_view list, std::size_t i) {
  for (; i > 0; --i) {
    std::size_t comma = list.find(',');
    if (comma == std::string_view::npos) return {};
    list.remove_prefix(comma + 1);
  }
  list = list.substr(0, list.find(','));
  while (!list.empty() && list.front() == ' ') list.remove_prefix(1);
  while (!list.empty() && (list.back() == ' ' || list.back() == '_'))
    list.remove_suffix(1);  // weight_ is "weight"
  return list;
}

namespace {

template <class K>
void visit_digits(K key, Visitor& v) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), key).ptr;
  v.key({digits, static_cast<std::size_t>(end - digits)});
}

}  // namespace

void visit_signed_key(std::int64_t key, Visitor& v) { visit_digits(key, v); }
void visit_unsigned_key(std::uint64_t key, Visitor& v) { visit_digits(key, v); }

TreeDef describe(void (*walk)(const void*, Visitor&), const void* x) {
  Describer d;
  walk(x, d);
  return TreeDef(d.take());
}

void require_same_structure(const char* function, const TreeDef& a, const std::string& a_name,
                            const TreeDef& b, const std::string& b_name, const SourceLoc& loc) {
  if (a == b) return;
  Message m(function);
  m.problem(a_name + " and " + b_name + " differ in structure");
  const auto &x = a.nodes(), &y = b.nodes();
  std::size_t i = 0, j = 0;
  auto where = [&](std::size_t node) {
    std::string path = a.path(node);
    return path.empty() ? std::string("at the root") : "at " + path;
  };
  while (i < x.size() && j < y.size()) {
    const TreeDef::Node &p = x[i], &q = y[j];
    bool same_kind = p.kind == q.kind && p.text == q.text && p.children == q.children;
    if (!same_kind) {
      m.offender(where(i) + ": " + kind_text(p) + " and " + kind_text(q));
      i = p.end, j = q.end;
    } else if (p.label != q.label) {
      m.offender(where(i) + ": named \"" + p.label + "\" and \"" + q.label + "\"");
      i = p.end, j = q.end;
    } else {
      ++i, ++j;
    }
  }
  m.rule("both need the same containers, keys and static values")
      .from(loc)
      .advice("build both alike: as many elements, the same keys and static values")
      .raise<TreeError>();
}

}  // namespace detail
}  // namespace tessera::inline v0

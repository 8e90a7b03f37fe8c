// A random program over devices as data. draw.h draws it, build.h runs it through the public
// functions, and oracle.h runs it on numbers, one device after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace devices {

using Extents = std::vector<std::int64_t>;

inline std::int64_t count_of(const Extents& shape) {
  std::int64_t n = 1;
  for (std::int64_t d : shape) n *= d;
  return n;
}

enum class Kind {
  // Operations of single devices.
  numbers,  // constants: one a result
  add,
  sub,
  mul,
  scale,   // x * a
  shift,   // x + a
  choose,  // where(x > a, x, y)
  tame,    // where(x * x < 4096, x, 0): keeps numbers small
  adapt,   // the sum, in the shape of the result
  sum,     // along axis a
  spread,  // a new axis a
  flip,    // along axis a
  stop,    // stop_gradient
  vary,    // pvary(x, names), for operands that vary per device in a typed shard_map
  index,   // axis_index(names)
  draw,    // integers by fold_in(key(a), axis_index(names))
  // Collectives.
  psum,
  pmean,
  pmax,
  pmin,
  gather,    // along axis a; b: tiled
  scatter,   // along axis a; b: tiled
  exchange,  // all_to_all from axis a to axis b, tiled
  permute,   // groups: pairs
  broadcast  // from member a
  ,
  // Operations that hold programs. The first operands are arguments, the others are captured.
  cond,    // in[0] > 0, or by in[0] where there are three blocks
  scan,    // a carries, b inputs, length c; reverse
  fori,    // a carries, c turns
  turns,   // a carries, in[0] iterations, at most three
  while_,  // a carries, until in[0] iterations are done or the first carry's sum is 50
  pmap,    // a arguments, c devices; b: others, in another order
  region,  // a typed shard_map: a arguments, c devices; axes are the sharded ones
  vmap,    // a arguments, c members
  grad,    // of a arguments
  jvp,     // a arguments, then their tangents; names: all of them vary
  vjp,     // a arguments, then the cotangent of the result; names: it varies
  jit,     // a arguments
  checkpoint
};

struct Block;

struct Node {
  Kind kind = Kind::numbers;
  std::vector<int> in;           // by number: the block's inputs, then the results of its nodes
  std::vector<Extents> results;  // shapes
  std::int64_t a = 0, b = 0, c = 0;
  bool reverse = false;
  std::vector<std::string> names;  // the axes that a collective runs over, or the mapped axis
  std::vector<std::vector<std::int64_t>> groups;
  std::vector<int> in_axes, out_axes;  // of maps; -1: replicated
  std::vector<Block> blocks;
};

struct Block {
  std::vector<Extents> inputs;
  std::vector<Node> nodes;
  std::vector<int> outputs;

  /// Whether a node at any depth has this kind.
  bool has(Kind kind) const {
    for (const Node& n : nodes) {
      if (n.kind == kind) return true;
      for (const Block& b : n.blocks)
        if (b.has(kind)) return true;
    }
    return false;
  }

  Extents shape(int value) const {
    int first = static_cast<int>(inputs.size());
    if (value < first) return inputs[static_cast<std::size_t>(value)];
    for (const Node& n : nodes) {
      const int count = static_cast<int>(n.results.size());
      if (value < first + count) return n.results[static_cast<std::size_t>(value - first)];
      first += count;
    }
    return {};
  }
  int size() const {
    int n = static_cast<int>(inputs.size());
    for (const Node& node : nodes) n += static_cast<int>(node.results.size());
    return n;
  }
};

inline const char* name_of(Kind kind) {
  static constexpr const char* kNames[] = {
      "numbers",   "add",   "sub",    "mul",  "scale",  "shift",     "choose",   "tame",
      "adapt",     "sum",   "spread", "flip", "stop",   "vary",      "index",    "draw",
      "psum",      "pmean", "pmax",   "pmin", "gather", "scatter",   "exchange", "permute",
      "broadcast", "cond",  "scan",   "fori", "turns",  "while",     "pmap",     "region",
      "vmap",      "grad",  "jvp",    "vjp",  "jit",    "checkpoint"};
  return kNames[static_cast<int>(kind)];
}

template <class T>
std::string list_of(const std::vector<T>& values) {
  std::string s;
  for (const T& v : values) {
    if (!s.empty()) s += ", ";
    if constexpr (std::is_same_v<T, std::string>)
      s += v;
    else if constexpr (std::is_arithmetic_v<T>)
      s += std::to_string(v);
    else
      s += list_of(v);
  }
  return "{" + s + "}";
}

/// Leaves out constants that no result needs, which remain after a program was shrunk.
inline std::string to_string(const Block& block, const std::string& indent = "") {
  std::vector<bool> needed(static_cast<std::size_t>(block.size()));
  for (int v : block.outputs) needed[static_cast<std::size_t>(v)] = true;
  std::vector<std::string> lines;
  int end = block.size();
  for (auto n = block.nodes.rbegin(); n != block.nodes.rend(); ++n) {
    const int count = static_cast<int>(n->results.size()), first = end - count;
    end = first;
    bool any = false;
    for (int k = first; k < first + count; ++k) any = any || needed[static_cast<std::size_t>(k)];
    if (!any && n->kind == Kind::numbers) continue;
    for (int v : n->in) needed[static_cast<std::size_t>(v)] = true;
    std::string s = indent;
    for (int k = 0; k < count; ++k)
      s += (k ? ", %" : "%") + std::to_string(first + k) +
           list_of(n->results[static_cast<std::size_t>(k)]);
    s += " = " + std::string(name_of(n->kind)) + list_of(n->in) + " a=" + std::to_string(n->a) +
         " b=" + std::to_string(n->b) + " c=" + std::to_string(n->c);
    if (n->reverse) s += " reverse";
    if (!n->names.empty()) s += " over " + list_of(n->names);
    if (!n->groups.empty()) s += " groups " + list_of(n->groups);
    if (!n->blocks.empty() && !n->in_axes.empty())
      s += " " + list_of(n->in_axes) + " -> " + list_of(n->out_axes);
    s += "\n";
    for (const Block& b : n->blocks) s += to_string(b, indent + "  ");
    lines.push_back(s);
  }
  std::string text = indent + "inputs " + list_of(block.inputs) + "\n";
  for (auto s = lines.rbegin(); s != lines.rend(); ++s) text += *s;
  return text + indent + "outputs " + list_of(block.outputs) + "\n";
}

}  // namespace devices

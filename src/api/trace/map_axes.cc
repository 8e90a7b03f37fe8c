#include "api/trace/map_axes.h"

#include <algorithm>

namespace tessera::inline v0::detail {
namespace {

/// Handles the common cases without describing the tree: one axis for all arguments, or one each.
std::optional<std::vector<int>> quick_axes(const Call& call, const Axes& axes) {
  auto value = [](const Axes& a) { return a.kind() == Axes::Kind::axis ? a.axis() : kReplicated; };
  if (axes.kind() != Axes::Kind::list)
    return std::vector<int>(call.args.leaves.size(), value(axes));
  if (axes.children().size() != call.arg_count()) return std::nullopt;
  std::vector<int> out;
  for (std::size_t arg = 0; arg < call.arg_count(); ++arg) {
    if (axes.children()[arg].kind() == Axes::Kind::list) return std::nullopt;
    out.resize(call.arg_ends[arg], value(axes.children()[arg]));
  }
  return out;
}

}  // namespace

std::vector<int> argument_axes(const char* function, const Call& call, const Axes& in_axes,
                               const SourceLoc& loc) {
  if (in_axes.kind() == Axes::Kind::list && call.defaulted > 0 &&
      in_axes.children().size() == call.arg_count() + call.defaulted) {
    std::vector<Axes> given = in_axes.children();
    given.resize(call.arg_count());
    return argument_axes(function, call, Axes(std::move(given)), loc);
  }
  if (auto quick = quick_axes(call, in_axes)) return *std::move(quick);
  return broadcast_axes(function, in_axes, "in_axes", call.describe_args(), "args", loc);
}

MappedArguments mapped_arguments(const char* function, const Call& call, const Axes& in_axes,
                                 std::int64_t asked, const SourceLoc& loc) {
  const std::vector<int> by_leaf = argument_axes(function, call, in_axes, loc);

  MappedArguments m;
  m.size = asked;
  bool agree = true;
  std::vector<std::string> missing;
  std::vector<std::pair<std::size_t, int>> mapped;
  for (std::size_t i = 0; i < by_leaf.size(); ++i) {
    const Array& x = *call.args.leaves[i];
    if (x.is_empty()) continue;
    int axis = by_leaf[i];
    if (axis != kReplicated) {
      const int rank = x.ndim();
      if (axis < -rank || axis >= rank) {
        missing.push_back(leaf_path(call, i) + " is " + visible_text(x.impl()->type) +
                          ", which has no axis " + std::to_string(axis));
        continue;
      }
      if (axis < 0) axis += rank;
      const std::int64_t n = x.shape()[static_cast<std::size_t>(axis)];
      if (m.size == 0 && mapped.empty()) m.size = n;
      agree &= n == m.size;
      mapped.emplace_back(i, axis);
    }
    m.axes.push_back(axis);
  }
  if (!missing.empty()) {
    Message e(function);
    e.problem("in_axes names axes that do not exist");
    for (auto& o : missing) e.offender(std::move(o));
    e.rule("a mapped leaf has rank at least 1, and its axis lies in [-rank, rank)")
        .from(loc)
        .advice("give leaves that every example shares ts::replicated in in_axes")
        .raise<ShapeError>();
  }
  if (!agree) {
    Message e(function);
    e.problem(asked ? "the mapped axes do not have the size asked for, " + std::to_string(asked)
                    : "the mapped axes differ in size");
    const std::vector<std::string> paths = call.describe_args().paths("args");
    for (auto [leaf, axis] : mapped) {
      const Array& x = *call.args.leaves[leaf];
      e.offender(paths[leaf] + ": axis " + std::to_string(axis) + " of " +
                 visible_text(x.impl()->type) + " has size " +
                 std::to_string(x.shape()[static_cast<std::size_t>(axis)]));
    }
    e.rule("all mapped axes have one size: the number of examples")
        .from(loc)
        .advice(
            "set in_axes to map another axis of a leaf, or ts::replicated where all examples share "
            "it")
        .raise<ShapeError>();
  }
  if (asked < 0)
    Message(function)
        .problem("axis_size is " + std::to_string(asked))
        .rule("it is the number of examples; 0 takes it from the mapped arguments")
        .from(loc)
        .advice("leave it out where an argument is mapped")
        .raise<ShapeError>();
  if (mapped.empty() && asked == 0)
    Message(function)
        .problem("no argument is mapped: in_axes is " + to_string(in_axes))
        .rule("the number of examples comes from a mapped axis, or from axis_size")
        .from(loc)
        .advice("map at least one array argument, or give axis_size")
        .raise<ShapeError>();
  return m;
}

std::string odd_character(const std::string& name) {
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) return "number " + std::to_string(code);
    if (std::string_view(",;:'\"\\").find(c) != std::string_view::npos) return std::string(1, c);
  }
  return "";
}
std::string inner_name(const std::string& name, std::int64_t others) {
  return others == 0 ? name : name + ";" + std::to_string(others + 1);
}
std::string_view spoken_name(std::string_view in_program) {
  return in_program.substr(0, in_program.find(';'));
}
const char* axis_name_rule() {
  return "names stand between quotes, with commas between them and a ':' before a part of an axis";
}
void check_axis_name(const char* function, const std::string& name, const SourceLoc& loc) {
  const std::string odd = odd_character(name);
  if (odd.empty()) return;
  Message(function)
      .problem("the axis_name '" + name + "' holds the character " + odd)
      .rule(axis_name_rule())
      .from(loc)
      .advice("a word, such as \"devices\"; two axes have two names")
      .raise<CollectiveError>();
}

std::vector<Type> example_types(const Call& call, const MappedArguments& mapped) {
  std::vector<Type> types = leaf_types(call);
  for (std::size_t i = 0; i < types.size(); ++i)
    if (mapped.axes[i] != kReplicated)
      types[i].shape.erase(types[i].shape.begin() + mapped.axes[i]);
  return types;
}

const Axes& without_braces(const Axes& out_axes, const TreeDef& described) {
  if (out_axes.kind() != Axes::Kind::list || out_axes.children().size() != 1) return out_axes;
  if (described.nodes().empty()) return out_axes;
  NodeKind root = described.nodes()[0].kind;
  return root == NodeKind::leaf || root == NodeKind::record ? out_axes.children()[0] : out_axes;
}

std::vector<int> result_axes(const char* function, const TracedFunction& f, const Axes& out_axes,
                             const TreeDef& described, const SourceLoc& loc) {
  const std::vector<int> by_leaf = broadcast_axes(function, without_braces(out_axes, described),
                                                  "out_axes", described, "result", loc);
  std::vector<int> out;
  std::vector<std::string> missing;
  std::size_t next = 0;
  for (std::size_t i = 0; i < by_leaf.size(); ++i) {
    if (!f.result_present[i]) continue;
    const Type& t = f.program->type(f.program->outputs[next++]);
    int axis = by_leaf[i];
    const int rank = t.shape.rank() + 1;
    if (axis != kReplicated) {
      if (axis < -rank || axis >= rank)
        missing.push_back(described.paths("result")[i] + " is " + visible_text(t) +
                          " for each example, so the stack has rank " + std::to_string(rank) +
                          " and no axis " + std::to_string(axis));
      if (axis < 0) axis += rank;
    }
    out.push_back(axis);
  }
  if (missing.empty()) return out;
  Message e(function);
  e.problem("out_axes names axes that do not exist");
  for (auto& o : missing) e.offender(std::move(o));
  e.rule("a result of rank r for each example is stacked along an axis in [-(r + 1), r + 1)")
      .from(loc)
      .advice("0 puts the examples first, -1 last")
      .raise<ShapeError>();
}

}  // namespace tessera::inline v0::detail

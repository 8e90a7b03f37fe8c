#include "ops/collective/collective.h"

#include "ops/factors.h"

#include <algorithm>

namespace tessera::inline v0::ops::collective {

Op make(std::string name, std::string doc, std::string stablehlo, std::vector<AttrSpec> extra,
        bool grouped) {
  Op op;
  op.name = std::move(name);
  op.doc = std::move(doc);
  op.stablehlo = std::move(stablehlo);
  op.attrs = {{CollectiveAttrs::kAxes, AttrKind::strings, "names of the axes, first major"},
              {CollectiveAttrs::kSize, AttrKind::integer, "devices along all the axes together"}};
  if (grouped)
    op.attrs.push_back({CollectiveAttrs::kGroups, AttrKind::int_lists,
                        "a partition of the devices; empty: all together"});
  op.attrs.insert(op.attrs.end(), extra.begin(), extra.end());
  op.inputs = 1;
  op.cheap = false;
  op.lowering = Lowering::collective;
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    if (!a.tangents[0]) return {std::nullopt};
    Value t = *a.tangents[0];
    return {a.b.emit(a.op, std::span<const Value>(&t, 1), a.attrs)[0]};
  };
  op.cost = [](std::span<const Type> inputs, std::span<const Type> outputs, const Attrs&) {
    double bytes = 0;
    for (const Type& t : inputs) bytes += static_cast<double>(t.bytes());
    for (const Type& t : outputs) bytes += static_cast<double>(t.bytes());
    return Cost{0, bytes};
  };
  op.sharding = dims_pass;
  op.waived = {
      {"evaluate", "one device does not suffice: spmd/region/reference.h runs it over all of them"},
      {"emit", "the executor moves the data"}};
  return op;
}

Attrs tiled_attrs(const Strings& axes, std::int64_t size, int axis, bool tiled,
                  const IntLists& groups) {
  Attrs a = CollectiveAttrs::make(axes, size, groups);
  GatherAttrs(axis, tiled).set_in(a);
  return a;
}

void check_size(const InferArgs& a) {
  constexpr std::int64_t kMaxDevices = std::int64_t{1} << 24;
  const CollectiveAttrs among(a.attrs);
  if (std::int64_t n = among.has_size() ? among.size() : 1; n < 1 || n > kMaxDevices)
    Message(a.op.name)
        .problem("axis " + axes_text(a.attrs) + " has " + std::to_string(n) + " devices")
        .rule("an axis has at least one device and at most " + std::to_string(kMaxDevices))
        .from(a.loc)
        .advice("check the size of the mapped axis")
        .raise<CollectiveError>();
}

void check_groups(const InferArgs& a, bool equal) {
  check_size(a);
  const CollectiveAttrs among(a.attrs);
  if (!among.grouped()) return;
  const IntLists& groups = among.groups;
  const std::int64_t size = among.size();
  std::vector<int> seen(static_cast<std::size_t>(size));
  Message m(a.op.name);
  m.problem("the axis_index_groups do not cover every index of axis " + axes_text(a.attrs) +
            " exactly once");
  bool bad = false;
  for (const Ints& g : groups)
    for (std::int64_t i : g) {
      if (i < 0 || i >= size) {
        m.offender("index " + std::to_string(i) + " is outside [0, " + std::to_string(size) + ")");
        bad = true;
      } else {
        ++seen[static_cast<std::size_t>(i)];
      }
    }
  for (std::int64_t i = 0; i < size; ++i)
    if (int n = seen[static_cast<std::size_t>(i)]; n != 1) {
      m.offender("index " + std::to_string(i) +
                 (n ? " appears " + std::to_string(n) + " times" : " is missing"));
      bad = true;
    }
  if (bad)
    m.rule("the groups partition the " + std::to_string(size) + " indices of the axis")
        .from(a.loc)
        .advice("put each index from 0 to " + std::to_string(size - 1) +
                " in one group, or pass no groups for one sum over all")
        .raise<CollectiveError>();
  if (!equal) return;
  for (const Ints& g : groups)
    if (g.size() != groups[0].size())
      Message(a.op.name)
          .problem("the axis_index_groups have " + std::to_string(groups[0].size()) + " and " +
                   std::to_string(g.size()) + " members")
          .rule("the shape of the result follows from the size of the groups, so all have the same")
          .from(a.loc)
          .advice("make all groups equally large")
          .raise<CollectiveError>();
}

int dimension(const char* op, std::int64_t dim, int rank, const SourceLoc& loc) {
  return normalize_axis(dim, rank, op, loc);
}

std::string axes_text(const Attrs& attrs) {
  const Strings& axes = CollectiveAttrs(attrs).axes;
  if (axes.size() == 1) return "'" + axes[0] + "'";
  std::string s = "(";
  for (std::size_t i = 0; i < axes.size(); ++i) s += (i ? ", '" : "'") + axes[i] + "'";
  return s + ")";
}

VaryRule removes_axes(bool groups_must_be_equal) {
  return [=](const VaryArgs& a) {
    AxisSet s = a.inputs[0];
    const CollectiveAttrs among(a.attrs);
    if (!among.grouped()) {
      for (const auto& n : among.axes) s.erase(n);
      return std::vector<AxisSet>{s};
    }
    bool differs = false;
    for (const auto& n : among.axes) differs = differs || s.contains(n);
    for (const Ints& g : among.groups)
      differs = differs || (groups_must_be_equal && g.size() != among.groups[0].size());
    if (differs)
      for (const auto& n : among.axes) s.insert(n);
    return std::vector<AxisSet>{s};
  };
}

VaryRule adds_axes() {
  return [](const VaryArgs& a) {
    AxisSet s = a.inputs.empty() ? AxisSet{} : a.inputs[0];
    for (const auto& n : CollectiveAttrs(a.attrs).axes) s.insert(n);
    return std::vector<AxisSet>{s};
  };
}

VaryRule types_invariant() {
  return [](const VaryArgs& a) {
    AxisSet s = a.inputs[0];
    const CollectiveAttrs among(a.attrs);
    if (!among.grouped())
      for (const auto& n : among.axes) s.erase(n);
    return std::vector<AxisSet>{s};
  };
}

Mapped mapped(const BatchArgs& a, bool ordered) {
  Mapped m;
  if (a.axis_name.empty()) return m;
  const CollectiveAttrs among(a.attrs);
  const Strings& axes = among.axes;
  auto at = std::find(axes.begin(), axes.end(), a.axis_name);
  if (at == axes.end()) return m;
  m.is = true;
  for (const auto& n : axes)
    if (n != a.axis_name) m.rest.push_back(n);
  if (among.has_size()) m.rest_size = among.size() / a.size;
  m.first = at == axes.begin();
  m.last = at + 1 == axes.end();
  if (among.grouped())
    Message(a.op.name)
        .problem("axis_index_groups are given, and axis '" + a.axis_name + "' is mapped by vmap")
        .rule("groups are for axes of devices")
        .from(a.b.loc)
        .advice(
            "reshape the mapped dimension to (groups, members), map each by its own vmap and use "
            "the inner name")
        .raise<CollectiveError>();
  if (ordered && !m.first && !m.last)
    Message(a.op.name)
        .problem("axis '" + a.axis_name + "', which vmap maps, stands between other axes in " +
                 axes_text(a.attrs))
        .rule("a mapped axis is the first or the last of a tuple of axes here")
        .from(a.b.loc)
        .advice("apply the collective to one axis after the other")
        .raise<CollectiveError>();
  return m;
}

Ints shared_extents(const BatchArgs& a, const Mapped& m, std::int64_t extent, bool tiled) {
  Ints parts{a.size};
  if (!m.rest.empty()) parts.insert(m.first ? parts.end() : parts.begin(), m.rest_size);
  if (tiled) parts.push_back(extent / (a.size * m.rest_size));
  return parts;
}

std::string shared_out_rule(bool tiled, std::int64_t extent, std::int64_t n) {
  const std::string of = std::to_string(extent), by = std::to_string(n);
  return tiled ? "with tiled, the extent is a multiple of the number of devices: " + of + " % " +
                     by + " = " + std::to_string(extent % n)
               : "the extent equals the number of devices: " + of + " != " + by;
}

Value times(Value x, std::int64_t n) {
  return n == 1 ? x : mul(x, full_like(x, static_cast<double>(n)));
}

Shape replace_dims(const Shape& s, int at, int count, const Ints& by) {
  Shape r;
  for (int i = 0; i < at; ++i) r.push_back(s[i]);
  for (std::int64_t d : by) r.push_back(d);
  for (int i = at + count; i < s.rank(); ++i) r.push_back(s[i]);
  return r;
}

Value reshape_dims(Value x, int at, int count, const Ints& by) {
  return reshape(x, replace_dims(x.shape(), at, count, by));
}

FactorRule dims_pass(const ShardArgs& a) {
  return pointwise_rule(a.outputs[0].shape, static_cast<int>(a.inputs.size()), 1);
}

FactorRule dims_exchanged(const ShardArgs& a, int from, int to, bool tiled) {
  const std::int64_t n = CollectiveAttrs(a.attrs).members();
  FactorRule rule;
  const auto member = [&] {
    const int f = rule.factor(n, 'p');
    rule.mark(FactorRule::Kind::need_repl, f);
    return f;
  };
  // For each dimension of the operand, the factor that a device keeps of it; empty if the dimension
  // is removed.
  const Shape& whole = a.inputs[0].shape;
  FactorRule::Dims in, out;
  for (int d = 0; d < whole.rank(); ++d) {
    std::vector<int> own;
    if (d != from || tiled) own.push_back(rule.factor(d == from ? whole[d] / n : whole[d]));
    in.push_back(own);
    if (!own.empty()) out.push_back(own);
  }
  if (from >= 0) {
    auto& dim = in[static_cast<std::size_t>(from)];
    dim.insert(dim.begin(), member());
  }
  if (to >= 0 && tiled) {
    auto& dim = out[static_cast<std::size_t>(to)];
    dim.insert(dim.begin(), member());
  } else if (to >= 0) {
    out.insert(out.begin() + to, {member()});
  }
  rule.input_dims(std::move(in));
  rule.output_dims(std::move(out));
  return rule;
}

BatchResult pass_through(const BatchArgs& a) {
  return {a.b.emit(a.op, a.inputs, a.attrs), {a.dims[0]}};
}

}  // namespace tessera::inline v0::ops::collective

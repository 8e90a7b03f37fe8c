#include "codegen/kernel_plan.h"

#include "codegen/isa.h"
#include "codegen/tracer.h"

#include <algorithm>
#include <map>

namespace tessera::inline v0::codegen {

namespace {

constexpr double kTaskSeconds = 10e-6;
constexpr std::int64_t kTaskElements = 16384;

double seconds_per_element(const Tracer& t) {
  double s = 0.1e-9 + 0.012e-9 * t.ops + 0.6e-9 * t.math * (t.widest == 8 ? 2 : 1);
  for (const Access& a : t.reads) s += 0.08e-9 * a.times;
  return s;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The loop variables of an index space, one a dimension.
std::vector<Index> space_of(const Shape& shape) {
  std::vector<Index> at;
  for (std::int64_t d : shape) at.push_back(make_variable(d));
  return at;
}

// Joins neighbouring dimensions where every index that matters sees them as one.
void collapse(StagePlan& s, std::span<const Index> at, const Tracer& t, std::size_t first) {
  // Dimensions `first` and `row_dims` begin loops of their own.
  std::vector<const Index::Node*> nodes;
  for (const Access& a : t.reads) nodes.push_back(node_of(a.flat));
  for (const Index& i : t.linear) nodes.push_back(node_of(i));
  s.dims.clear();
  s.groups.clear();
  for (std::size_t d = s.shape.size(); d-- > 0;) {
    // A dimension of one element is joined with whatever is next to it.
    bool join = !s.dims.empty() && d >= first && (s.row_dims == 0 || d + 1 != s.row_dims);
    if (join && s.shape[d] != 1 && s.dims.front() != 1) {
      std::size_t next = d + 1;
      while (s.shape[next] == 1) ++next;
      const Atom *outer = single_atom(at[d]), *inner = single_atom(at[next]);
      join = std::all_of(nodes.begin(), nodes.end(), [&](const Index::Node* n) {
        return !depends_nonlinearly(n, outer) && !depends_nonlinearly(n, inner) &&
               coefficient(n, outer) == coefficient(n, inner) * s.shape[next];
      });
    }
    if (join) {
      s.dims.front() *= s.shape[d];
      ++s.groups.front();
    } else {
      s.dims.insert(s.dims.begin(), s.shape[d]);
      s.groups.insert(s.groups.begin(), 1);
    }
  }
  int covered = 0;
  for (std::size_t i = 0; i < s.groups.size() && covered < static_cast<int>(s.row_dims);
       ++i, ++s.row_loops)
    covered += s.groups[i];
}

constexpr std::int64_t kMaxRow =
    16384;  // elements: a cached row stays within the first two levels of the processor's caches

// Where rows begin: after the dimensions that the innermost loop's reductions depend on; 0 where no
// rows are worth it.
std::size_t row_start(const Shape& shape, std::span<const Index> at, const Tracer& t) {
  std::size_t start = 0;
  bool any = false;
  for (const Tracer::Reduction& r : t.reductions) {
    if (!r.shape.lanes) continue;
    any = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Atom* a = single_atom(at[d]);
      if (a && std::any_of(r.at.begin(), r.at.end(),
                           [&](const Index& i) { return depends_on(node_of(i), a); }))
        start = std::max(start, d + 1);
    }
  }
  if (!any || start == 0) return 0;
  std::int64_t row = 1;
  for (std::size_t d = start; d < shape.size(); ++d) row *= shape[d];
  return row > 1 && row <= kMaxRow ? start : 0;
}

void cut(StagePlan& s, double per_element) {
  std::int64_t target = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(kTaskSeconds / per_element), 1, kTaskElements);
  std::int64_t inside = 1;
  s.unit_dims = s.dims.size();
  s.block = 0;
  if (s.width && !s.dims.empty() && !s.row_dims) {
    std::int64_t n = s.dims.back();
    std::int64_t step = std::max<std::int64_t>(64, s.width);
    std::int64_t block = std::max(step, target / step * step);
    if (n > 2 * block || s.any_length) {
      s.block = inside = block;
      --s.unit_dims;
    }
  }
  if (!s.block) {
    std::size_t whole = s.row_dims                   ? s.row_loops
                        : s.width && !s.dims.empty() ? s.dims.size() - 1
                                                     : s.dims.size();
    while (s.unit_dims > 0 && (s.unit_dims > whole || inside * s.dims[s.unit_dims - 1] <= target))
      inside *= s.dims[--s.unit_dims];
  }
  s.units = 1;
  for (std::size_t d = 0; d < s.unit_dims; ++d) s.units *= s.dims[d];
  if (s.block) s.units *= ceil_div(s.dims.back(), s.block);
  s.units_per_task = std::max<std::int64_t>(1, target / inside);
  double elements = 1;
  for (std::int64_t d : s.dims) elements *= static_cast<double>(d);
  s.seconds = elements * per_element;
}

// Cuts the tiles of a transposing stage: a cache line of one dimension, a stretch of the other.
void cut_tiles(StagePlan& s, double per_element) {
  constexpr std::int64_t kStretch = 512;
  // A square of one register a row fits the register file.
  s.width = std::min(s.width, host_isa().math32);
  s.tile_length = std::max(8, s.width);
  s.block = s.dims.back() > kStretch ? kStretch : 0;
  s.unit_dims = s.dims.size() - 1;
  s.units = 1;
  double elements = 1;
  for (std::size_t d = 0; d < s.dims.size(); ++d) elements *= static_cast<double>(s.dims[d]);
  for (std::size_t d = 0; d + 1 < s.dims.size(); ++d)
    s.units *= static_cast<int>(d) == s.tile ? ceil_div(s.dims[d], s.tile_length) : s.dims[d];
  if (s.block) s.units *= ceil_div(s.dims.back(), s.block);
  std::int64_t inside = s.tile_length * std::min(s.dims.back(), kStretch);
  s.units_per_task = std::max<std::int64_t>(1, kTaskElements / inside);
  s.seconds = 4 * elements * per_element;
}

// The loop that an operand is contiguous along where it is not along the vectorised one; -1 where
// there is none.
int tile_dim(const StagePlan& s, std::span<const Index> at, const Tracer& t) {
  const Atom* inner = nullptr;
  for (const Index& i : at)
    if (const Atom* a = single_atom(i)) inner = a;
  for (const Access& a : t.reads) {
    const Index::Node* n = node_of(a.flat);
    std::int64_t along = coefficient(n, inner);
    if (a.times < 0.5 || depends_nonlinearly(n, inner) || along == 0 || along == 1 || along == -1)
      continue;
    std::size_t d = 0;
    for (std::size_t loop = 0; loop + 1 < s.dims.size(); ++loop) {
      // The innermost dimension of those that the loop covers.
      d += static_cast<std::size_t>(s.groups[loop]);
      const Atom* last = nullptr;
      for (std::size_t k = d - static_cast<std::size_t>(s.groups[loop]); k < d; ++k)
        if (const Atom* x = single_atom(at[k])) last = x;
      if (last && coefficient(n, last) == 1 && s.dims[loop] >= 8) return static_cast<int>(loop);
    }
  }
  return -1;
}

int lane_bytes(DType d) { return std::max(size_of(d), is_floating(d) ? 4 : 1); }

// The lanes of the innermost loop, or 0 where its index reaches a reduction that is vectorised
// itself.
int choose_width(const StagePlan& s, std::span<const Index> at, const Tracer& t, int widest) {
  const Atom* inner = nullptr;
  for (const Index& i : at)
    if (const Atom* a = single_atom(i)) inner = a;
  if (!inner) return 0;
  bool rows = false;
  for (const Tracer::Reduction& r : t.reductions) {
    bool varies = std::any_of(r.at.begin(), r.at.end(),
                              [&](const Index& i) { return depends_on(node_of(i), inner); });
    if (!varies) continue;
    if (r.shape.lanes) return 0;
    rows |= r.shape.count() >= 8;
  }
  int width = std::min(32, 64 / widest);
  if (rows) width *= 16;
  std::int64_t n = s.dims.back();
  while (width > 1 && width / 2 >= n && !s.any_length) width /= 2;
  return std::max(width, 2);
}

struct Planner {
  const Program& p;
  KernelPlan plan;
  bool any_length;
  std::unordered_set<Var> ready, stored, reduced;  // ready: the union of the others

  StagePlan stage(StagePlan::Kind kind, std::vector<int> members, const std::vector<Var>& vars,
                  const Shape& space, std::int64_t chunks) {
    IndexArena arena;
    std::unordered_set<Var> buffers = ready;
    if (kind == StagePlan::Kind::totals)
      for (Var v : vars) buffers.erase(v);
    Tracer t(p, buffers);
    StagePlan s;
    s.kind = kind;
    s.members = std::move(members);
    s.stored = stored;
    s.reduced = reduced;
    s.any_length = any_length;
    s.shape = space;
    if (chunks) s.shape.insert(s.shape.begin(), chunks);
    std::vector<Index> at = t.run(vars, space);
    int widest = 1;
    for (Var v : vars) widest = std::max(widest, lane_bytes(p.type(v).dtype));
    widest = std::max({widest, t.widest == 8 ? 8 : 1, t.math > 0 ? 4 : 1});
    if (chunks) at.insert(at.begin(), make_variable(std::max<std::int64_t>(2, chunks)));
    if (kind == StagePlan::Kind::outputs) s.row_dims = row_start(s.shape, at, t);
    if (s.row_dims) s.cached = t.repeated(std::span(at).first(s.row_dims));
    if (s.cached.size() > 4) s.cached.clear();
    collapse(s, at, t, chunks ? 1 : 0);
    // The chunks of a reduction along the minor dimension are vectorised inside.
    bool inside = kind != StagePlan::Kind::outputs &&
                  plan.splits[static_cast<std::size_t>(s.members[0])].shape.lanes;
    s.width = inside ? 0 : choose_width(s, at, t, widest);
    double per_element = seconds_per_element(t);
    if (!chunks && s.width && !s.row_dims && !s.any_length) s.tile = tile_dim(s, at, t);
    if (kind == StagePlan::Kind::partials) per_element /= static_cast<double>(chunks);
    if (s.tile >= 0) {
      cut_tiles(s, per_element);
      s.tile_unrolled =
          p.equations.size() <= 8 && !t.math && s.width == s.tile_length && s.width <= 16;
    } else {
      cut(s, per_element);
    }
    if (kind == StagePlan::Kind::outputs) find_in_place(s, vars, at, t);
    return s;
  }

  void find_in_place(StagePlan& s, const std::vector<Var>& vars, std::span<const Index> at,
                     const Tracer& t) {
    const Index::Node* here = node_of(flatten(at, s.shape));
    for (std::size_t i = 0; i < p.inputs.size(); ++i) {
      Var in = p.inputs[i];
      if (std::count(p.inputs.begin(), p.inputs.end(), in) > 1) continue;
      bool same = std::all_of(t.reads.begin(), t.reads.end(), [&](const Access& a) {
        return a.var != in || node_of(a.flat) == here;
      });
      if (!same) continue;
      for (std::size_t o = 0; o < vars.size(); ++o)
        if (size_of(p.type(in).dtype) == size_of(p.type(vars[o]).dtype) &&
            p.type(in).shape.count() == s.shape.count())
          s.in_place.emplace_back(static_cast<int>(i), s.members[o]);
    }
  }

  void find_splits() {
    IndexArena arena;
    std::unordered_set<Var> none;
    std::map<Var, std::vector<Tracer::Reduction>> by_var;
    Tracer t(p, none);
    for (Var v : p.outputs) t.value(v, space_of(p.type(v).shape));
    for (const auto& r : t.reductions) by_var[r.var].push_back(r);
    std::int64_t largest = 0;
    for (Var v : p.outputs) largest = std::max(largest, p.type(v).shape.count());
    for (const Equation& e : p.equations) {
      if (e.outputs.size() != 1 || !by_var.contains(e.outputs[0])) continue;
      const auto& calls = by_var[e.outputs[0]];
      const ReduceShape& r = calls[0].shape;
      bool one = std::all_of(calls.begin(), calls.end(),
                             [&](const auto& c) { return c.shape.extents == r.extents; });
      const Shape& out = p.type(e.outputs[0]).shape;
      // Rows of lanes are enough tasks when there are some; of columns, a chunk of rows is read as
      // it lies in memory.
      if (!one || r.extents.empty() || r.chunks() < 2 || out.count() >= (r.lanes ? 16 : 65536))
        continue;
      SplitReduction s{&e, e.outputs[0], r, calls[0].accumulator};
      auto reserve = [&](std::int64_t elements) {
        std::size_t at = plan.scratch_bytes;
        plan.scratch_bytes += (static_cast<std::size_t>(elements) * 8 + 63) / 64 * 64;
        return at;
      };
      s.partials = reserve(out.count() * r.chunks());
      s.combined = largest > 4096;
      if (s.combined) s.total = reserve(out.count());
      plan.splits.push_back(std::move(s));
    }
  }

  // One stage for reductions of one form that do not depend on each other.
  void split_stages() {
    std::vector<bool> done(plan.splits.size());
    for (std::size_t i = 0; i < plan.splits.size(); ++i) {
      if (done[i]) continue;
      const SplitReduction& a = plan.splits[i];
      std::vector<int> members;
      std::vector<Var> vars;
      for (std::size_t j = i; j < plan.splits.size(); ++j) {
        const SplitReduction& b = plan.splits[j];
        bool same = !done[j] && b.shape.extents == a.shape.extents &&
                    b.shape.lanes == a.shape.lanes && p.type(b.var).shape == p.type(a.var).shape;
        if (!same || !independent(b.var)) continue;
        done[j] = true;
        members.push_back(static_cast<int>(j));
        vars.push_back(b.var);
      }
      plan.stages.push_back(
          stage(StagePlan::Kind::partials, members, vars, p.type(a.var).shape, a.shape.chunks()));
      for (Var v : vars) ready.insert(v), reduced.insert(v);
      if (a.combined)
        plan.stages.push_back(
            stage(StagePlan::Kind::totals, members, vars, p.type(a.var).shape, 0));
    }
  }

  // Whether `v` is computed without any split reduction that has no stage yet, other than itself.
  bool independent(Var v) {
    IndexArena arena;
    std::unordered_set<Var> buffers = ready;
    for (const SplitReduction& s : plan.splits)
      if (s.var != v) buffers.insert(s.var);
    Tracer t(p, buffers);
    t.value(v, space_of(p.type(v).shape));
    return std::all_of(t.reads.begin(), t.reads.end(), [&](const Access& a) {
      return ready.contains(a.var) || std::none_of(plan.splits.begin(), plan.splits.end(),
                                                   [&](const auto& s) { return s.var == a.var; });
    });
  }

  // Whether computing the outputs `full` computes the outputs `part` on the way, one for each row.
  bool rows_of(const std::vector<int>& full, const std::vector<int>& part) {
    IndexArena arena;
    std::vector<Var> vars;
    for (int o : full) vars.push_back(p.outputs[static_cast<std::size_t>(o)]);
    const Shape& space = p.type(vars[0]).shape;
    const Shape& shape = p.type(p.outputs[static_cast<std::size_t>(part[0])]).shape;
    if (shape.count() >= space.count()) return false;
    Tracer t(p, ready);
    std::vector<Index> at = t.run(vars, space);
    std::size_t start = row_start(space, at, t);
    if (start == 0) return false;
    std::vector<Index> row =
        row_index(std::span(at).first(start), std::span(space.data(), start), shape);
    if (row.empty() && shape.rank()) return false;
    return std::all_of(part.begin(), part.end(),
                       [&](int o) { return t.asked(p.outputs[static_cast<std::size_t>(o)], row); });
  }

  void output_stages() {
    std::map<Var, std::size_t> order;
    for (std::size_t k = 0; k < p.equations.size(); ++k)
      for (Var v : p.equations[k].outputs) order[v] = k + 1;
    std::vector<std::pair<std::size_t, std::vector<int>>> groups;  // by the last equation
    for (std::size_t o = 0; o < p.outputs.size(); ++o) {
      Var v = p.outputs[o];
      if (p.type(v).shape.count() == 0) continue;
      auto it = std::find_if(groups.begin(), groups.end(), [&](const auto& g) {
        return p.type(p.outputs[static_cast<std::size_t>(g.second[0])]).shape == p.type(v).shape;
      });
      if (it == groups.end()) it = groups.insert(groups.end(), {0, {}});
      it->first = std::max(it->first, order[v]);
      it->second.push_back(static_cast<int>(o));
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::vector<int>> in_rows(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (std::size_t h = 0; h < groups.size(); ++h)
        if (g != h && !groups[g].second.empty() && !groups[h].second.empty() &&
            in_rows[h].empty() && rows_of(groups[g].second, groups[h].second)) {
          in_rows[g].insert(in_rows[g].end(), groups[h].second.begin(), groups[h].second.end());
          groups[h].second.clear();
        }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const std::vector<int>& members = groups[g].second;
      if (members.empty()) continue;
      std::vector<Var> vars;
      for (int o : members) vars.push_back(p.outputs[static_cast<std::size_t>(o)]);
      plan.stages.push_back(
          stage(StagePlan::Kind::outputs, members, vars, p.type(vars[0]).shape, 0));
      plan.stages.back().row_members = in_rows[g];
      for (int o : in_rows[g]) vars.push_back(p.outputs[static_cast<std::size_t>(o)]);
      for (Var v : vars)
        if (std::find(p.inputs.begin(), p.inputs.end(), v) == p.inputs.end())
          ready.insert(v), stored.insert(v);
    }
    if (plan.stages.size() == 1) plan.in_place = plan.stages[0].in_place;
  }
};

}  // namespace

KernelPlan make_plan(const Program& p, bool any_length) {
  Planner planner{p, {}, any_length, {}, {}, {}};
  bool empty = std::all_of(p.outputs.begin(), p.outputs.end(),
                           [&](Var v) { return p.type(v).shape.count() == 0; });
  if (empty) return {};
  if (!any_length) planner.find_splits();
  planner.split_stages();
  planner.output_stages();
  return std::move(planner.plan);
}

std::vector<Index> row_index(std::span<const Index> row, std::span<const std::int64_t> extents,
                             const Shape& shape) {
  std::vector<Index> at;
  std::size_t d = 0;
  for (std::int64_t extent : shape) {
    if (extent == 1) {
      at.push_back(Index(0));
      continue;
    }
    while (d < extents.size() && extents[d] == 1) ++d;
    if (d == extents.size() || extents[d] != extent) return {};
    at.push_back(row[d++]);
  }
  while (d < extents.size() && extents[d] == 1) ++d;
  return d == extents.size() ? at : std::vector<Index>{};
}

void set_length(StagePlan& s, std::int64_t length) {
  s.seconds *= static_cast<double>(length) / static_cast<double>(s.dims.back());
  s.dims.back() = length;
  s.shape.back() = length;
  s.units = ceil_div(length, s.block);
}

}  // namespace tessera::inline v0::codegen

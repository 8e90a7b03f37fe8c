#include "codegen/kernel/kernel_schedule.h"

#include "codegen/kernel/kernel.h"
#include "codegen/kernel/loops.h"
#include "codegen/kernel/tracer.h"

#include <algorithm>
#include <map>

namespace tessera::inline v0::codegen {

namespace {

// The loop variables of an index space, one per dimension.
std::vector<Index> space_of(const Shape& shape) {
  std::vector<Index> at;
  for (std::int64_t d : shape) at.push_back(make_variable(d));
  return at;
}

// The number of dimensions before the rows of `columns` elements; 0 if no dimension begins a row.
// Dimensions of size 1 belong to the rows, as they do in `row_start`.
std::size_t dims_before(const Shape& shape, std::int64_t columns) {
  std::int64_t row = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    row *= shape[d];
    if (row > columns) break;
    if (row == columns && (d <= 1 || shape[d - 1] > 1)) return d;
  }
  return 0;
}

int lane_bytes(DType d) { return std::max(size_of(d), is_floating(d) ? 4 : 1); }

struct Planner {
  const Program& p;
  KernelSchedule plan;
  bool any_length;
  PanelForm panels;
  std::unordered_set<Var> ready, stored, reduced;  // `ready` is the union of the other two

  StageSchedule stage(StageSchedule::Kind kind, std::vector<int> members,
                      const std::vector<Var>& vars, const Shape& space, std::int64_t chunks) {
    IndexArena arena;
    std::unordered_set<Var> buffers = ready;
    if (kind == StageSchedule::Kind::totals)
      for (Var v : vars) buffers.erase(v);
    Tracer t(p, buffers);
    StageSchedule s;
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
    widest = std::max({widest, t.widest >= 8 ? 8 : 1, t.math > 0 ? 4 : 1});
    if (chunks) at.insert(at.begin(), make_variable(std::max<std::int64_t>(2, chunks)));
    const bool inside = kind != StageSchedule::Kind::outputs &&
                        plan.splits[static_cast<std::size_t>(s.members[0])].shape.lanes;
    const std::size_t rows = panels.columns && kind == StageSchedule::Kind::outputs
                                 ? dims_before(space, panels.columns)
                                 : 0;
    choose_loops(s, at, t, {widest, chunks, inside, p.equations.size() <= 8, rows, panels});
    if (rows) find_panel_inputs(s, at, t, rows);
    if (kind == StageSchedule::Kind::outputs) find_in_place(s, vars, at, t);
    return s;
  }

  // Inputs of which a panel of the results reads the same panel: the same elements or, if panels
  // have whole rows, elements of the same row.
  void find_panel_inputs(const StageSchedule& s, std::span<const Index> at, const Tracer& t,
                         std::size_t rows) {
    plan.panel_inputs.clear();
    if (s.tile >= 0 || s.dims.empty()) return;
    // A unit must be within one row.
    std::size_t covered = 0, loops = 0;
    while (covered < rows) covered += static_cast<std::size_t>(s.groups[loops++]);
    if (covered != rows || s.unit_dims < loops) return;
    if (!panels.whole_rows() && (s.block != panels.column_block || s.dims.back() != panels.columns))
      return;
    const Index here = flatten(at, s.shape);
    const Index row = flatten(at.first(rows), std::span(s.shape.data(), rows)) * panels.columns;
    for (const Var in : p.inputs) {
      const bool fits = p.type(in).shape.count() == s.shape.count() &&
                        std::all_of(t.reads.begin(), t.reads.end(), [&](const Access& a) {
                          if (a.var != in || node_of(a.flat) == node_of(here)) return true;
                          if (!panels.whole_rows()) return false;
                          const Index::Node* inside = node_of(a.flat - row);
                          return inside->lo >= 0 && inside->hi < panels.columns;
                        });
      plan.panel_inputs.push_back(fits);
    }
  }

  void find_in_place(StageSchedule& s, const std::vector<Var>& vars, std::span<const Index> at,
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
      // A few results that reduce along rows already give enough tasks. For reductions along
      // columns, chunks of rows are read in memory order.
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

  // Groups independent reductions of the same form into one stage.
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
      plan.stages.push_back(stage(StageSchedule::Kind::partials, members, vars, p.type(a.var).shape,
                                  a.shape.chunks()));
      for (Var v : vars) ready.insert(v), reduced.insert(v);
      if (a.combined)
        plan.stages.push_back(
            stage(StageSchedule::Kind::totals, members, vars, p.type(a.var).shape, 0));
    }
  }

  // Whether `v` depends on no split reduction without a stage, other than itself.
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

  // Whether computing the outputs `full` also computes the outputs `part`, one value per row, or
  // all that these read and reduce.
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
    const std::size_t reads = t.reads.size(), reductions = t.reductions.size();
    t.folds = false;
    for (const int o : part) t.value(p.outputs[static_cast<std::size_t>(o)], row);
    return t.reads.size() == reads && t.reductions.size() == reductions && !t.folds;
  }

  void output_stages() {
    std::map<Var, std::size_t> order;
    for (std::size_t k = 0; k < p.equations.size(); ++k)
      for (Var v : p.equations[k].outputs) order[v] = k + 1;
    std::vector<std::pair<std::size_t, std::vector<int>>> groups;  // keyed by the last equation
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
          stage(StageSchedule::Kind::outputs, members, vars, p.type(vars[0]).shape, 0));
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

KernelSchedule schedule_kernel(const Program& p, bool any_length, PanelForm panels) {
  Planner planner{p, {}, any_length, panels, {}, {}, {}};
  bool empty = std::all_of(p.outputs.begin(), p.outputs.end(),
                           [&](Var v) { return p.type(v).shape.count() == 0; });
  if (empty) return {};
  if (!any_length) planner.find_splits();
  planner.split_stages();
  planner.output_stages();
  if (planner.plan.stages.size() != 1 || planner.plan.scratch_bytes)
    planner.plan.panel_inputs.clear();
  return std::move(planner.plan);
}

void write_past_caches(KernelSchedule& plan, const Program& p) {
  constexpr std::int64_t kLine = 64;
  for (StageSchedule& s : plan.stages) {
    if (s.kind != StageSchedule::Kind::outputs || !s.width) continue;
    s.past_caches = std::all_of(s.members.begin(), s.members.end(), [&](int m) {
      const Type& t = p.type(p.outputs[static_cast<std::size_t>(m)]);
      // Vectors start at cache lines if rows do. The vectors of a tile are stored row by row, so
      // each must be whole lines.
      return !is_complex(t.dtype) &&
             (s.tile < 0 || std::int64_t{s.width} * size_of(t.dtype) % kLine == 0) &&
             (s.dims.size() == 1 || s.dims.back() * size_of(t.dtype) % kLine == 0);
    });
    if (s.past_caches && s.tile >= 0) tile_along_rows(s);
    // Every part of a loop would have to begin at a cache line.
    if (s.past_caches) s.seams.clear();
  }
}

std::optional<std::vector<std::int64_t>> permuted_strides(const Program& p) {
  if (p.inputs.size() != 1 || p.outputs.size() != 1 || p.outputs[0] == p.inputs[0]) return {};
  const Type &from = p.type(p.inputs[0]), &to = p.type(p.outputs[0]);
  if (from.dtype != to.dtype || from.shape.count() != to.shape.count()) return {};
  IndexArena arena;
  const std::unordered_set<Var> none;
  Tracer t(p, none);
  const std::vector<Index> at = t.run(p.outputs, to.shape);
  if (t.reads.size() != 1 || t.reads[0].guarded || t.ops > 0 || t.math > 0 || t.folds ||
      !t.reductions.empty() || !t.linear.empty())
    return {};
  const Shape distances = from.shape.strides(), made = to.shape.strides();
  std::vector<std::int64_t> strides(from.shape.size(), 0);
  Index sum(0);
  for (std::size_t d = 0; d < to.shape.size(); ++d) {
    if (to.shape[d] == 1) continue;
    const std::int64_t step = coefficient(t.reads[0].flat, single_atom(at[d]));
    sum = sum + at[d] * step;
    for (std::size_t i = 0; i < from.shape.size(); ++i)
      if (from.shape[i] == to.shape[d] && distances[i] == step) strides[i] = made[d];
  }
  if (node_of(sum) != node_of(t.reads[0].flat)) return {};
  for (std::size_t i = 0; i < from.shape.size(); ++i)
    if (from.shape[i] > 1 && strides[i] == 0) return {};
  return strides;
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

}  // namespace tessera::inline v0::codegen

#include "codegen/fuse/fuse.h"

#include "codegen/fuse/graph.h"
#include "ir/op.h"
#include "transform/pass.h"

#include <algorithm>
#include <map>

namespace tessera::inline v0::codegen {

namespace {

constexpr std::size_t kMaxEquations = 60, kMaxOutputs = 12;
constexpr std::int64_t kMinRows = 8, kMinRow = 8, kMaxRow = 16384;

std::int64_t product(const std::vector<std::int64_t>& v, std::size_t first, std::size_t last) {
  std::int64_t n = 1;
  for (std::size_t i = first; i < last; ++i) n *= v[i];
  return n;
}

class Fuser : FuseGraph {
 public:
  using FuseGraph::FuseGraph;

  std::vector<Cluster> run() {
    for (std::size_t k = 0; k < program.equations.size(); ++k)
      if (roles[k] != FuseRole::free || materialized[k]) place(k);
    join_siblings();
    return clusters_of(*this);
  }

 private:
  bool any_escapes(const Group& g, int id, std::size_t e, bool full_only = false) const {
    for (std::size_t k : g.equations)
      for (Var v : program.equations[k].outputs) {
        if (full_only && squeezed(program.type(v).shape).size() != g.space.size()) continue;
        if (escapes(v, id, e)) return true;
      }
    return false;
  }
  std::size_t outputs_of(const Group& g, int id, std::size_t e) const {
    std::size_t n = 0;
    for (std::size_t k : g.equations)
      for (Var v : program.equations[k].outputs) n += escapes(v, id, e);
    return n;
  }

  static bool rows_worthwhile(const std::vector<std::int64_t>& space, std::size_t rows) {
    std::int64_t row = product(space, rows, space.size());
    return product(space, 0, rows) >= kMinRows && row >= kMinRow && row <= kMaxRow;
  }

  // Checks whether the group `to` of equation `k` can absorb group `id`, which `k` reads through
  // `s`. If so, updates the properties of `to`; otherwise returns false.
  bool absorb(std::size_t k, const Source& s, int id, Group& to) const {
    const Equation& e = program.equations[k];
    const Group& g = groups[static_cast<std::size_t>(id)];
    if (!g.kernel || g.exec_class != to.exec_class) return false;
    std::vector<std::int64_t> shape = squeezed(program.type(e.outputs[0]).shape);
    std::vector<std::int64_t> read = squeezed(program.type(s.var).shape);
    bool plain = !g.reduces && !g.window && g.rows == kNone;
    Group next = to;
    switch (roles[k]) {
      case FuseRole::elementwise:
        if (s.reading == Reading::same && s.reshaped) {
          if (!plain || any_escapes(g, id, k)) return false;
          break;
        }
        if (s.reading == Reading::same) {
          if (to.space == shape && g.space == shape) {
            if (to.rows != kNone && g.rows != kNone && to.rows != g.rows) return false;
            next.rows = std::max(to.rows, g.rows);
            break;
          }
          // The equation works on rows of the group's space.
          if (g.rows == kNone || read.size() != static_cast<std::size_t>(g.rows)) return false;
          if (to.space != shape && to.space != g.space) return false;
          if (to.space == shape && to.rows != kNone) return false;
          next.space = g.space;
          next.rows = g.rows;
          break;
        }
        if (s.reading == Reading::leading && !g.window && !g.columns &&
            rows_worthwhile(shape, read.size())) {
          int rows = static_cast<int>(read.size());
          if (to.space != shape || (to.rows != kNone && to.rows != rows)) return false;
          if ((g.space == read && g.rows == kNone) || (g.space == shape && g.rows == rows)) {
            next.rows = rows;
            break;
          }
        }
        if (!plain || g.expensive || g.equations.size() > 8 || to.rows != kNone ||
            any_escapes(g, id, k))
          return false;
        break;
      case FuseRole::movement:
        if (!plain || any_escapes(g, id, k)) return false;
        if (g.expensive && e.op->joins &&
            e.op->joins(e.attrs) == program.type(e.outputs[0]).shape.rank() - 1)
          return false;
        break;
      case FuseRole::reduction: {
        if (s.reading != Reading::same || g.window || (g.reduces && g.rows == kNone)) return false;
        bool inside = !any_escapes(g, id, k, true);
        bool trailing = reduces_trailing(program, e) && !s.reshaped;
        int kept = static_cast<int>(shape.size());
        if (g.rows != kNone && (!trailing || g.rows != kept || g.space != read)) return false;
        if (inside && (g.rows != kNone || !any_escapes(g, id, k))) break;
        if (!trailing || g.space != read || !rows_worthwhile(g.space, shape.size())) return false;
        next.space = g.space;
        next.rows = kept;
        break;
      }
      default: return false;
    }
    to = std::move(next);
    return true;
  }

  static void join(Group& to, const Group& g) {
    to.reduces |= g.reduces;
    to.columns |= g.columns;
    to.window |= g.window;
    to.expensive |= g.expensive;
    to.readers = std::min(to.readers, g.readers);
    to.equations.insert(to.equations.end(), g.equations.begin(), g.equations.end());
    std::sort(to.equations.begin(), to.equations.end());
  }

  // Joins groups that equation `k` reads into its group `made`, at a level below all other readers
  // of these groups and above the groups that are not joined. Returns the joined groups; `made` is
  // unchanged if there are none.
  std::vector<int> take_in(std::size_t k, const std::vector<Source>& from, int level,
                           Group& made) const {
    std::vector<int> taken;
    if (!made.kernel || roles[k] == FuseRole::window || roles[k] == FuseRole::free) return taken;
    Group all = made;
    for (const Source& s : from) {
      const int id = group_of_var(s.var);
      if (id == kNone || std::count(taken.begin(), taken.end(), id)) continue;
      const Group& g = groups[static_cast<std::size_t>(id)];
      if (g.readers <= level || all.equations.size() + g.equations.size() > kMaxEquations) continue;
      Group trial = all;
      // Every path through which the group is read must allow the fusion.
      if (!std::all_of(from.begin(), from.end(), [&](const Source& t) {
            return group_of_var(t.var) != id || absorb(k, t, id, trial);
          }))
        continue;
      taken.push_back(id);
      all = std::move(trial);
      join(all, g);
    }
    for (const Source& s : from)
      if (const int g = group_of_var(s.var); g != kNone &&
                                             !std::count(taken.begin(), taken.end(), g) &&
                                             groups[static_cast<std::size_t>(g)].level >= level)
        return {};
    if (taken.empty()) return taken;
    made = std::move(all);
    made.level = level;
    return taken;
  }

  void place(std::size_t k) {
    Group made = fresh(k);
    std::vector<Source> from = sources_of(k);
    std::stable_sort(from.begin(), from.end(),
                     [](const Source& a, const Source& b) { return a.reading < b.reading; });
    int floor = kNone;  // the highest level of all groups that are read
    for (const Source& s : from)
      if (int g = group_of_var(s.var); g != kNone)
        floor = std::max(floor, groups[static_cast<std::size_t>(g)].level);

    for (int g : groups_before(k))
      floor = std::max(floor, groups[static_cast<std::size_t>(g)].level);

    // First try the level of the highest group, by joining it; then the level above.
    std::vector<int> taken = take_in(k, from, floor, made);
    if (taken.empty()) taken = take_in(k, from, floor + 1, made);
    if (taken.empty()) made.level = floor + 1;
    int id = static_cast<int>(groups.size());
    for (int g : taken) groups[static_cast<std::size_t>(g)].gone = true;
    groups.push_back(made);
    for (std::size_t m : made.equations) group_of[m] = id;
    if (!taken.empty() && outputs_of(made, id, k) > kMaxOutputs) {
      // Too many results: undo the fusion.
      groups.pop_back();
      for (int g : taken) {
        groups[static_cast<std::size_t>(g)].gone = false;
        for (std::size_t m : groups[static_cast<std::size_t>(g)].equations) group_of[m] = g;
      }
      made = fresh(k);
      made.level = floor + 1;
      groups.push_back(made);
      group_of[k] = id;
    }
    note_readers(id);
  }

  Group fresh(std::size_t k) const {
    const Equation& e = program.equations[k];
    Group g;
    g.equations = {k};
    g.exec_class = e.outputs.empty() ? kNone : exec_class[e.outputs[0]];
    g.kernel = roles[k] != FuseRole::apart && !(roles[k] == FuseRole::free && is_view(k));
    if (!e.outputs.empty()) g.space = squeezed(program.type(e.outputs[0]).shape);
    g.reduces = roles[k] == FuseRole::reduction;
    g.columns = g.reduces && !reduces_trailing(program, e);
    g.window = roles[k] == FuseRole::window;
    // A single element is computed once per task, wherever it is read.
    g.expensive = !g.space.empty() && (!e.op->cheap || takes_long(program, e));
    return g;
  }

  void note_readers(int id) {
    const Group& g = groups[static_cast<std::size_t>(id)];
    auto note = [&](int r) {
      if (r == kNone || r == id) return;
      Group& read = groups[static_cast<std::size_t>(r)];
      read.readers = std::min(read.readers, g.level);
    };
    for (std::size_t k : g.equations) {
      for (const Source& s : sources_of(k)) note(group_of_var(s.var));
      for (int r : groups_before(k)) note(r);
    }
  }

  // Joins independent kernels over the same index space that read the same array.
  void join_siblings() {
    std::map<std::tuple<int, int, Var>, int> first;
    for (std::size_t id = 0; id < groups.size(); ++id) {
      if (groups[id].gone || !groups[id].kernel || groups[id].window || groups[id].rows != kNone)
        continue;
      if (roles[groups[id].equations[0]] == FuseRole::free) continue;
      std::vector<Source> from;
      for (std::size_t k : groups[id].equations)
        for (Var v : program.equations[k].inputs) sources(v, Reading::same, false, from);
      int into = kNone;
      for (const Source& s : from) {
        if (group_of_var(s.var) == static_cast<int>(id) || program.type(s.var).shape.count() < 1024)
          continue;
        auto key = std::make_tuple(groups[id].level, groups[id].exec_class, s.var);
        auto [it, fresh_key] = first.try_emplace(key, static_cast<int>(id));
        if (fresh_key || it->second == static_cast<int>(id) || into != kNone) continue;
        const Group &a = groups[static_cast<std::size_t>(it->second)], &b = groups[id];
        bool fits = !a.gone && a.space == b.space && a.reduces == b.reduces &&
                    a.equations.size() + b.equations.size() <= kMaxEquations / 2 &&
                    outputs_of(a, it->second, kNoEquation) +
                            outputs_of(b, static_cast<int>(id), kNoEquation) <=
                        kMaxOutputs;
        if (fits && same_reductions(a, b)) into = it->second;
      }
      if (into == kNone) continue;
      Group& b = groups[id];
      join(groups[static_cast<std::size_t>(into)], b);
      for (std::size_t k : b.equations) group_of[k] = into;
      b.gone = true;
    }
  }
  // Reductions can share a pass only if they reduce the same axes of equal shapes.
  bool same_reductions(const Group& a, const Group& b) const {
    std::vector<std::pair<std::vector<std::int64_t>, Ints>> forms;
    for (const Group* g : {&a, &b})
      for (std::size_t k : g->equations)
        if (roles[k] == FuseRole::reduction)
          forms.emplace_back(program.type(program.equations[k].inputs[0]).shape.to_vector(),
                             program.equations[k].attrs.ints("axes"));
    return std::all_of(forms.begin(), forms.end(), [&](const auto& f) { return f == forms[0]; });
  }
};

std::vector<Cluster> unfused(const Program& p) {
  std::vector<Cluster> alone;
  for (std::size_t k = 0; k < p.equations.size(); ++k) {
    Cluster c;
    c.equations = {k};
    c.inputs = p.equations[k].inputs;
    c.outputs = p.equations[k].outputs;
    alone.push_back(std::move(c));
  }
  return alone;
}

std::string clusters_text(const Program& p, const std::vector<Cluster>& clusters) {
  std::string out;
  for (const Cluster& c : clusters) {
    out += c.kind == Cluster::Kind::kernel ? "kernel of" : "single";
    for (std::size_t k : c.equations)
      out += " " + std::to_string(k) + ":" + p.equations[k].op->name;
    out += "\n";
    if (c.program) out += to_string(*c.program) + "\n";
  }
  return out;
}

#ifdef TESSERA_VERIFY_PASSES
// Checks that operands of a cluster are computed before it, that values used outside are computed
// once, and that the clusters' programs are valid.
void verify_clusters(const Program& p, const std::vector<Cluster>& clusters) {
  std::vector<int> made(p.types.size());
  for (Var v : p.inputs) ++made[v];
  for (const Cluster& c : clusters) {
    for (Var v : c.inputs)
      if (!made[v]) throw InternalError("fuse: a cluster reads what is made behind it");
    for (Var v : c.outputs)
      if (made[v]++) throw InternalError("fuse: a value is made twice");
    if (c.program) verify(*c.program, "fuse");
  }
  for (Var v : p.outputs)
    if (!made[v]) throw InternalError("fuse: a result is made by nobody");
}
#endif

}  // namespace

std::vector<Cluster> fuse(const Program& p, const std::vector<int>& exec_class,
                          const Overwriting& overwriting) {
  PassRun run("fuse", p);
  if (run.off()) return unfused(p);
  std::vector<Cluster> clusters = Fuser(p, exec_class, overwriting).run();
#ifdef TESSERA_VERIFY_PASSES
  verify_clusters(p, clusters);
#endif
  run.gave([&] { return clusters_text(p, clusters); });
  return clusters;
}

}  // namespace tessera::inline v0::codegen

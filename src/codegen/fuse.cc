#include "codegen/fuse.h"

#include "codegen/fuse_traits.h"
#include "ir/op.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <unordered_set>

namespace tessera::inline v0::codegen {

namespace {

constexpr std::size_t kMaxEquations = 60, kMaxOutputs = 12;
constexpr std::int64_t kMinRows = 8, kMinRow = 8, kMaxRow = 16384;
constexpr int kNone = -1;

std::int64_t product(const std::vector<std::int64_t>& v, std::size_t first, std::size_t last) {
  std::int64_t n = 1;
  for (std::size_t i = first; i < last; ++i) n *= v[i];
  return n;
}

// Equations that become one kernel. Every group has a level, higher than those of the groups it reads: groups of one level
// are independent, so joining them makes no cycle.
struct Group {
  std::vector<std::size_t> equations;
  std::vector<std::int64_t> space;  // of the widest members, without dimensions of one element
  int rows = kNone;                 // members may also have the shape of the leading `rows` dimensions of the space
  int level = 0;
  int readers = std::numeric_limits<int>::max();  // the lowest level of the groups that read this one
  int exec_class = 0;
  bool reduces = false, columns = false, window = false, expensive = false, kernel = true, gone = false;
};

struct Source {
  Var var;
  Reading reading;
  bool reshaped;
};

class Fuser {
 public:
  Fuser(const Program& p, const std::vector<int>& exec_class)
      : p_(p), class_(exec_class), producer_(p.types.size(), kNone), users_(p.types.size()), group_of_(p.equations.size(), kNone) {
    for (std::size_t k = 0; k < p.equations.size(); ++k) {
      const Equation& e = p.equations[k];
      roles_.push_back(role_of(p, e));
      for (Var v : e.outputs) producer_[v] = static_cast<int>(k);
      for (Var v : e.inputs) users_[v].push_back(k);
    }
    is_output_.resize(p.types.size());
    for (Var v : p.outputs) is_output_[v] = true;
  }

  std::vector<Cluster> run() {
    materialize_free();
    for (std::size_t k = 0; k < p_.equations.size(); ++k)
      if (roles_[k] != Role::free || materialized_[k]) place(k);
    join_siblings();
    return clusters();
  }

 private:
  // A free equation whose result something other than a kernel needs is executed on its own.
  void materialize_free() {
    materialized_.resize(p_.equations.size());
    for (std::size_t k = p_.equations.size(); k-- > 0;) {
      if (roles_[k] != Role::free) continue;
      for (Var v : p_.equations[k].outputs) {
        bool needed = is_output_[v];
        for (std::size_t u : users_[v]) needed |= roles_[u] == Role::apart || (materialized_[u] && is_view(u));
        materialized_[k] = materialized_[k] || needed;
      }
    }
  }
  bool is_view(std::size_t k) const { return p_.equations[k].op->lowering == Lowering::view; }
  bool floats(std::size_t k) const { return roles_[k] == Role::free && !materialized_[k]; }

  int group_of_var(Var v) const {
    int k = producer_[v];
    return k == kNone ? kNone : group_of_[static_cast<std::size_t>(k)];
  }

  // The variables that `v` comes from, through free equations.
  void sources(Var v, Reading reading, bool reshaped, std::vector<Source>& out) const {
    int k = producer_[v];
    if (k == kNone || !floats(static_cast<std::size_t>(k))) {
      out.push_back({v, reading, reshaped});
      return;
    }
    const Equation& e = p_.equations[static_cast<std::size_t>(k)];
    if (e.inputs.empty()) return;
    if (e.op->name == "broadcast_in_dim") {
      Reading r = reading_of_broadcast(p_, e);
      if (r != Reading::same) reading = reading == Reading::same && !reshaped ? r : reading == Reading::leading && r == Reading::leading ? r : Reading::other;
    } else if (e.op->name == "reshape") {
      reshaped |= squeezed(p_.type(e.inputs[0]).shape) != squeezed(p_.type(v).shape);
      if (reshaped && reading == Reading::leading) reading = Reading::other;
    }
    sources(e.inputs[0], reading, reshaped, out);
  }

  // Whether `v` is needed outside group `g` and equation `e`.
  bool escapes(Var v, int g, std::size_t e) const {
    if (is_output_[v]) return true;
    for (std::size_t u : users_[v]) {
      if (u == e) continue;
      if (floats(u)) {
        for (Var w : p_.equations[u].outputs)
          if (escapes(w, g, e)) return true;
      } else if (group_of_[u] == kNone || group_of_[u] != g) {
        return true;
      }
    }
    return false;
  }
  bool any_escapes(const Group& g, int id, std::size_t e, bool full_only = false) const {
    for (std::size_t k : g.equations)
      for (Var v : p_.equations[k].outputs) {
        if (full_only && squeezed(p_.type(v).shape).size() != g.space.size()) continue;
        if (escapes(v, id, e)) return true;
      }
    return false;
  }
  std::size_t outputs_of(const Group& g, int id, std::size_t e) const {
    std::size_t n = 0;
    for (std::size_t k : g.equations)
      for (Var v : p_.equations[k].outputs) n += escapes(v, id, e);
    return n;
  }

  static bool rows_worthwhile(const std::vector<std::int64_t>& space, std::size_t rows) {
    std::int64_t row = product(space, rows, space.size());
    return product(space, 0, rows) >= kMinRows && row >= kMinRow && row <= kMaxRow;
  }

  // What the group of equation `k` is like if it takes in group `id` through `s`: updates the form of `to`, or refuses.
  bool absorb(std::size_t k, const Source& s, int id, Group& to) const {
    const Equation& e = p_.equations[k];
    const Group& g = groups_[static_cast<std::size_t>(id)];
    if (!g.kernel || g.exec_class != to.exec_class) return false;
    std::vector<std::int64_t> shape = squeezed(p_.type(e.outputs[0]).shape);
    std::vector<std::int64_t> read = squeezed(p_.type(s.var).shape);
    bool plain = !g.reduces && !g.window && g.rows == kNone;
    Group next = to;
    switch (roles_[k]) {
      case Role::elementwise:
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
        if (s.reading == Reading::leading && !g.window && !g.columns && rows_worthwhile(shape, read.size())) {
          int rows = static_cast<int>(read.size());
          if (to.space != shape || (to.rows != kNone && to.rows != rows)) return false;
          if ((g.space == read && g.rows == kNone) || (g.space == shape && g.rows == rows)) {
            next.rows = rows;
            break;
          }
        }
        if (!plain || g.expensive || g.equations.size() > 8 || to.rows != kNone || any_escapes(g, id, k)) return false;
        break;
      case Role::movement:
        if (!plain || any_escapes(g, id, k)) return false;
        if (g.expensive && e.op->name == "concatenate" && e.attrs.i("dimension") == p_.type(e.outputs[0]).shape.rank() - 1) return false;
        break;
      case Role::reduction: {
        if (s.reading != Reading::same || g.window || (g.reduces && g.rows == kNone)) return false;
        bool inside = !any_escapes(g, id, k, true);
        bool trailing = reduces_trailing(p_, e) && !s.reshaped;
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

  void place(std::size_t k) {
    const Equation& e = p_.equations[k];
    Group made = fresh(k);
    std::vector<Source> from;
    for (Var v : e.inputs) sources(v, Reading::same, false, from);
    std::stable_sort(from.begin(), from.end(), [](const Source& a, const Source& b) { return a.reading < b.reading; });
    int floor = kNone;  // the highest level among all groups that are read
    for (const Source& s : from)
      if (int g = group_of_var(s.var); g != kNone) floor = std::max(floor, groups_[static_cast<std::size_t>(g)].level);

    // A group can be taken in if its level can be raised to that of the highest, below all that read it.
    std::vector<int> taken;
    if (made.kernel && roles_[k] != Role::window && roles_[k] != Role::free) {
      for (const Source& s : from) {
        int g = group_of_var(s.var);
        if (g == kNone || std::count(taken.begin(), taken.end(), g)) continue;
        if (groups_[static_cast<std::size_t>(g)].readers <= floor) continue;
        Group trial = made;
        bool all = made.equations.size() + groups_[static_cast<std::size_t>(g)].equations.size() <= kMaxEquations;
        for (const Source& t : from)  // every way in which the group is read must allow it
          if (group_of_var(t.var) == g) all = all && absorb(k, t, g, trial);
        if (!all) continue;
        taken.push_back(g);
        made = std::move(trial);
        join(made, groups_[static_cast<std::size_t>(g)]);
      }
      // Those not taken must lie lower than the group that results.
      auto level_of = [&](int g) { return groups_[static_cast<std::size_t>(g)].level; };
      bool blocked = false;
      for (const Source& s : from)
        if (int g = group_of_var(s.var); g != kNone && !std::count(taken.begin(), taken.end(), g)) blocked |= level_of(g) >= floor;
      if (blocked) taken.clear();
    }
    if (taken.empty()) {
      if (made.equations.size() > 1) made = fresh(k);
      made.level = floor + 1;
    } else {
      made.level = floor;
    }
    int id = static_cast<int>(groups_.size());
    for (int g : taken) groups_[static_cast<std::size_t>(g)].gone = true;
    groups_.push_back(made);
    for (std::size_t m : made.equations) group_of_[m] = id;
    if (!taken.empty() && outputs_of(made, id, k) > kMaxOutputs) {
      // Too many results: undo.
      groups_.pop_back();
      for (int g : taken) {
        groups_[static_cast<std::size_t>(g)].gone = false;
        for (std::size_t m : groups_[static_cast<std::size_t>(g)].equations) group_of_[m] = g;
      }
      made = fresh(k);
      made.level = floor + 1;
      groups_.push_back(made);
      group_of_[k] = id;
    }
    note_readers(id);
  }

  Group fresh(std::size_t k) const {
    const Equation& e = p_.equations[k];
    Group g;
    g.equations = {k};
    g.exec_class = e.outputs.empty() ? kNone : class_[e.outputs[0]];
    g.kernel = roles_[k] != Role::apart && !(roles_[k] == Role::free && is_view(k));
    if (!e.outputs.empty()) g.space = squeezed(p_.type(e.outputs[0]).shape);
    g.reduces = roles_[k] == Role::reduction;
    g.columns = g.reduces && !reduces_trailing(p_, e);
    g.window = roles_[k] == Role::window;
    g.expensive = is_expensive(e);
    return g;
  }

  void note_readers(int id) {
    const Group& g = groups_[static_cast<std::size_t>(id)];
    for (std::size_t k : g.equations) {
      std::vector<Source> from;
      for (Var v : p_.equations[k].inputs) sources(v, Reading::same, false, from);
      for (const Source& s : from) {
        int r = group_of_var(s.var);
        if (r != kNone && r != id) groups_[static_cast<std::size_t>(r)].readers = std::min(groups_[static_cast<std::size_t>(r)].readers, g.level);
      }
    }
  }

  // Independent kernels over one index space that read the same array become one.
  void join_siblings() {
    std::map<std::tuple<int, int, Var>, int> first;
    for (std::size_t id = 0; id < groups_.size(); ++id) {
      if (groups_[id].gone || !groups_[id].kernel || groups_[id].window || groups_[id].rows != kNone) continue;
      if (roles_[groups_[id].equations[0]] == Role::free) continue;
      std::vector<Source> from;
      for (std::size_t k : groups_[id].equations)
        for (Var v : p_.equations[k].inputs) sources(v, Reading::same, false, from);
      int into = kNone;
      for (const Source& s : from) {
        if (group_of_var(s.var) == static_cast<int>(id) || p_.type(s.var).shape.count() < 1024) continue;
        auto key = std::make_tuple(groups_[id].level, groups_[id].exec_class, s.var);
        auto [it, fresh_key] = first.try_emplace(key, static_cast<int>(id));
        if (fresh_key || it->second == static_cast<int>(id) || into != kNone) continue;
        const Group &a = groups_[static_cast<std::size_t>(it->second)], &b = groups_[id];
        bool fits = !a.gone && a.space == b.space && a.reduces == b.reduces && a.equations.size() + b.equations.size() <= kMaxEquations / 2 &&
                    outputs_of(a, it->second, kNoEquation) + outputs_of(b, static_cast<int>(id), kNoEquation) <= kMaxOutputs;
        if (fits && same_reductions(a, b)) into = it->second;
      }
      if (into == kNone) continue;
      Group& b = groups_[id];
      join(groups_[static_cast<std::size_t>(into)], b);
      for (std::size_t k : b.equations) group_of_[k] = into;
      b.gone = true;
    }
  }
  // Reductions share a pass only where they go through boxes of one form.
  bool same_reductions(const Group& a, const Group& b) const {
    std::vector<std::pair<std::vector<std::int64_t>, Ints>> forms;
    for (const Group* g : {&a, &b})
      for (std::size_t k : g->equations)
        if (roles_[k] == Role::reduction)
          forms.emplace_back(p_.type(p_.equations[k].inputs[0]).shape.to_vector(), p_.equations[k].attrs.ints("axes"));
    return std::all_of(forms.begin(), forms.end(), [&](const auto& f) { return f == forms[0]; });
  }

  // --- the result

  std::vector<Cluster> clusters() const {
    std::vector<Cluster> made;
    std::vector<std::size_t> position(groups_.size());
    std::vector<std::vector<std::size_t>> after;
    std::vector<std::size_t> waiting;
    std::vector<std::size_t> ids;
    for (std::size_t id = 0; id < groups_.size(); ++id) {
      if (groups_[id].gone) continue;
      position[id] = ids.size();
      ids.push_back(id);
    }
    after.resize(ids.size());
    waiting.resize(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      made.push_back(cluster(static_cast<int>(ids[i])));
      std::unordered_set<int> read;
      for (Var v : made.back().inputs)
        if (int g = group_of_var(v); g != kNone) read.insert(g);
      for (int g : read) {
        after[position[static_cast<std::size_t>(g)]].push_back(i);
        ++waiting[i];
      }
    }
    // In the program's order as far as dependencies allow.
    auto key = [&](std::size_t i) { return groups_[ids[i]].equations.back(); };
    auto later = [&](std::size_t a, std::size_t b) { return key(a) > key(b); };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> ready(later);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (!waiting[i]) ready.push(i);
    std::vector<Cluster> ordered;
    while (!ready.empty()) {
      std::size_t i = ready.top();
      ready.pop();
      for (std::size_t j : after[i])
        if (--waiting[j] == 0) ready.push(j);
      if (made[i].kind == Cluster::Kind::single || !made[i].outputs.empty()) ordered.push_back(std::move(made[i]));
    }
    return ordered;
  }

  Cluster cluster(int id) const {
    const Group& g = groups_[static_cast<std::size_t>(id)];
    Cluster c;
    if (!g.kernel) {
      const Equation& e = p_.equations[g.equations[0]];
      c.kind = Cluster::Kind::single;
      c.equations = g.equations;
      c.inputs = e.inputs;
      c.outputs = e.outputs;
      return c;
    }
    c.kind = Cluster::Kind::kernel;
    // With the free equations that it repeats.
    std::vector<std::size_t> members = g.equations;
    std::unordered_set<std::size_t> have(members.begin(), members.end());
    for (std::size_t i = 0; i < members.size(); ++i)
      for (Var v : p_.equations[members[i]].inputs) {
        int k = producer_[v];
        if (k != kNone && floats(static_cast<std::size_t>(k)) && have.insert(static_cast<std::size_t>(k)).second)
          members.push_back(static_cast<std::size_t>(k));
      }
    std::sort(members.begin(), members.end());
    c.equations = members;
    auto kernel = std::make_shared<Program>();
    kernel->name = "kernel";
    std::map<Var, Var> local;
    auto declare = [&](Var v) {
      kernel->types.push_back(p_.type(v));
      return local[v] = static_cast<Var>(kernel->types.size() - 1);
    };
    std::unordered_set<Var> inside;
    for (std::size_t k : members)
      for (Var v : p_.equations[k].outputs) inside.insert(v);
    for (std::size_t k : members)
      for (Var v : p_.equations[k].inputs)
        if (!inside.contains(v) && !local.contains(v)) {
          c.inputs.push_back(v);
          kernel->inputs.push_back(declare(v));
        }
    for (std::size_t k : members) {
      Equation e = p_.equations[k];
      for (Var& v : e.inputs) v = local.at(v);
      for (std::size_t i = 0; i < e.outputs.size(); ++i) e.outputs[i] = declare(e.outputs[i]);
      kernel->equations.push_back(std::move(e));
    }
    for (std::size_t k : g.equations)
      for (Var v : p_.equations[k].outputs)
        if (escapes(v, id, kNoEquation)) {
          c.outputs.push_back(v);
          kernel->outputs.push_back(local.at(v));
        }
    c.program = std::move(kernel);
    return c;
  }

  static constexpr std::size_t kNoEquation = std::numeric_limits<std::size_t>::max();

  const Program& p_;
  const std::vector<int>& class_;
  std::vector<Role> roles_;
  std::vector<int> producer_;
  std::vector<std::vector<std::size_t>> users_;
  std::vector<bool> is_output_, materialized_;
  std::vector<Group> groups_;
  std::vector<int> group_of_;
};

}  // namespace

std::vector<Cluster> fuse(const Program& p, const std::vector<int>& exec_class) { return Fuser(p, exec_class).run(); }

}  // namespace tessera::inline v0::codegen

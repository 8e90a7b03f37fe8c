#include "spmd/reshard.h"

#include "base/hash.h"
#include "base/message.h"
#include "spmd/boxes.h"
#include "spmd/reshard_search.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <unordered_map>

namespace tessera::inline v0::spmd {

namespace {

using Steps = std::vector<Step>;

// What decides which steps are cheapest.
struct Question {
  const AtomMesh& mesh;
  const Placement &from, &to;
  const Links& links;
  bool joint;
  std::int64_t bytes;  // of the whole; 0 where it does not matter
  std::uint64_t frozen;
  InlineVector<std::int64_t, 8> extents;

  std::size_t hash() const {
    std::size_t h = hash_of(from);
    mix(h, hash_of(to));
    for (std::int64_t s : mesh.atom_mesh().sizes) mix(h, s);
    for (std::int64_t e : extents) mix(h, e);
    mix(h, bytes);
    mix(h, frozen * 2 + joint);
    return h;
  }
};

// An answer with its question.
struct Answer {
  std::vector<std::int64_t> sizes;
  std::vector<int> axes;  // by atom, where the links differ
  Links links;
  Placement from, to;
  bool joint;
  std::int64_t bytes;
  std::uint64_t frozen;
  InlineVector<std::int64_t, 8> extents;
  std::shared_ptr<const Steps> steps;  // null: none keeps within the bound

  bool is_for(const Question& q) const {
    if (joint != q.joint || bytes != q.bytes || frozen != q.frozen || !(extents == q.extents) ||
        sizes != q.mesh.atom_mesh().sizes || !(from == q.from) || !(to == q.to) ||
        !(links == q.links))
      return false;
    for (std::size_t a = 0; a < axes.size(); ++a)
      if (axes[a] != q.mesh.axis_of(static_cast<Atom>(a))) return false;
    return true;
  }
};

// The answers of two generations: when the young one is full, the old one goes.
class Kept {
 public:
  bool find(const Question& q, std::size_t hash, std::shared_ptr<const Steps>& steps) {
    const std::lock_guard lock(mutex_);
    for (auto* generation : {&young_, &old_})
      if (const auto it = generation->find(hash); it != generation->end() && it->second.is_for(q)) {
        steps = it->second.steps;
        if (generation == &old_) {
          Answer answer = std::move(it->second);
          old_.erase(it);
          put(hash, std::move(answer));
        }
        return true;
      }
    return false;
  }
  void add(std::size_t hash, Answer answer) {
    const std::lock_guard lock(mutex_);
    put(hash, std::move(answer));
  }

 private:
  static constexpr std::size_t kMost = 4096;  // in a generation
  void put(std::size_t hash, Answer answer) {
    if (young_.size() >= kMost) {
      old_ = std::move(young_);
      young_.clear();
    }
    young_.insert_or_assign(hash, std::move(answer));
  }
  std::mutex mutex_;
  std::unordered_map<std::size_t, Answer> young_, old_;
};
Kept& kept() {
  static Kept* const kept =
      new Kept;  // destroyed by nobody: calls may come at the end of the process
  return *kept;
}

std::shared_ptr<const Steps> find_steps(const Question& q) {
  const Ground ground{q.mesh, {q.extents.begin(), q.extents.end()}, q.frozen};
  std::vector<Steps> known;
  // What is built step by step takes from several dimensions at once.
  if (q.joint)
    for (bool eager : {false, true}) known.push_back(built_steps(ground, q.from, q.to, eager));
  std::optional<Steps> best =
      cheapest_steps({ground, q.from, q.to, q.links, q.joint, static_cast<double>(q.bytes)}, known);
  if (!best) return nullptr;
  // Slices one after the other are one.
  Steps steps;
  for (Step& s : *best) {
    if (!steps.empty() && s.kind == MoveKind::slice && steps.back().kind == MoveKind::slice)
      steps.pop_back();
    steps.push_back(std::move(s));
  }
  return std::make_shared<const Steps>(std::move(steps));
}

std::shared_ptr<const Steps> steps_of(const Question& q) {
  const std::size_t hash = q.hash();
  std::shared_ptr<const Steps> steps;
  if (kept().find(q, hash, steps)) return steps;
  steps = find_steps(q);
  Answer answer{q.mesh.atom_mesh().sizes,
                {},
                q.links,
                q.from,
                q.to,
                q.joint,
                q.bytes,
                q.frozen,
                q.extents,
                steps};
  if (!q.links.by_axis().empty())
    for (int a = 0; a < q.mesh.count(); ++a)
      answer.axes.push_back(q.mesh.axis_of(static_cast<Atom>(a)));
  kept().add(hash, std::move(answer));
  return steps;
}

// Puts a plan together, with what each move costs.
class Assembly {
 public:
  Assembly(const AtomMesh& mesh, const Type& whole, const Placement& from, const Links& links)
      : mesh_(mesh), whole_(whole), links_(links) {
    plan_.from = from;
    part_ = bytes_of(from);
    plan_.peak_bytes = part_;
  }

  void add(MoveKind kind, const Placement& after) {
    const Placement& before = plan_.to();
    Move move{kind, after, moved_atoms(mesh_, kind, before, after), {}, 0};
    for (std::size_t d = 0; d < after.dims.size(); ++d)
      if (!(before.dims[d] == after.dims[d])) move.dims.push_back(static_cast<int>(d));
    if (before.unreduced != after.unreduced && kind != MoveKind::reduce_scatter &&
        kind != MoveKind::all_reduce)
      throw InternalError("partial results are lost from " + mesh_.to_string(before) + " to " +
                          mesh_.to_string(after));
    const std::int64_t part = bytes_of(after);
    move.bytes = kind == MoveKind::exchange
                     ? lower_bound_bytes(mesh_, whole_, before, after)
                     : received_bytes(kind, mesh_.size(move.atoms), part_, part);
    plan_.bytes += move.bytes;
    plan_.seconds += links_.seconds(mesh_, kind, move.atoms, static_cast<double>(part_),
                                    static_cast<double>(part), static_cast<double>(move.bytes));
    part_ = part;
    plan_.peak_bytes = std::max(plan_.peak_bytes, part);
    plan_.moves.push_back(std::move(move));
  }
  void reserve(std::size_t moves) { plan_.moves.reserve(moves); }
  Reshard finish() { return std::move(plan_); }

 private:
  std::int64_t bytes_of(const Placement& p) const {
    return mesh_.local_shape(whole_.shape, p).count() * size_of(whole_.dtype);
  }
  const AtomMesh& mesh_;
  const Type& whole_;
  const Links& links_;
  Reshard plan_;
  std::int64_t part_ = 0;
};

void check(const AtomMesh& mesh, const Type& whole, const Placement& from, const Placement& to) {
  const bool combined_alike = to.unreduced.empty() || from.combiner == to.combiner;
  if (from.rank() != whole.shape.rank() || to.rank() != from.rank() ||
      !from.unreduced.includes(to.unreduced) || !combined_alike)
    throw InternalError(to_string(whole) + " does not go from " + mesh.to_string(from) + " to " +
                        mesh.to_string(to));
}

Reshard by_exchange(const AtomMesh& mesh, const Type& whole, const Placement& from,
                    const Placement& to, const Links& links) {
  Assembly plan(mesh, whole, from, links);
  Placement at = from;
  if (from.unreduced != to.unreduced) {
    reduce(at, from.unreduced - to.unreduced);
    plan.add(MoveKind::all_reduce, at);
  }
  if (at.dims != to.dims) plan.add(MoveKind::exchange, to);
  return plan.finish();
}

}  // namespace

int Reshard::collectives() const {
  return static_cast<int>(std::count_if(moves.begin(), moves.end(),
                                        [](const Move& m) { return m.kind != MoveKind::slice; }));
}

Reshard plan_reshard(const AtomMesh& mesh, const Type& whole, const Placement& from,
                     const Placement& to, const Links& links, const ReshardOptions& options) {
  check(mesh, whole, from, to);
  if (from == to) return Assembly(mesh, whole, from, links).finish();
  Question q{mesh, from, to, links, options.joint, 0, 0, {}};
  if (!links.scales()) q.bytes = std::max<std::int64_t>(whole.bytes(), 1);
  // Of an extent only what the atoms have in common with it counts.
  const std::int64_t all = mesh.mesh().size();
  for (int d = 0; d < from.rank(); ++d) {
    const std::int64_t extent = whole.shape[d];
    const Atoms &a = from.dims[static_cast<std::size_t>(d)],
                &b = to.dims[static_cast<std::size_t>(d)];
    if (extent % mesh.size(a) == 0 && extent % mesh.size(b) == 0) {
      q.extents.push_back(std::gcd(extent, all));
      continue;
    }
    // Where its parts stay as they are, they may be uneven.
    if (!(a == b) || d >= 64) return by_exchange(mesh, whole, from, to, links);
    q.extents.push_back(mesh.size(a));
    q.frozen |= std::uint64_t{1} << d;
  }
  const std::shared_ptr<const Steps> steps = steps_of(q);
  if (!steps) return by_exchange(mesh, whole, from, to, links);
  Assembly sequence(mesh, whole, from, links);
  sequence.reserve(steps->size());
  for (const Step& s : *steps) sequence.add(s.kind, s.after);
  Reshard plan = sequence.finish();
  if (plan.to() != to)
    throw InternalError("a plan ends at " + mesh.to_string(plan.to()) + " instead of " +
                        mesh.to_string(to));
  const std::int64_t ends = std::max(mesh.local_shape(whole.shape, from).count(),
                                     mesh.local_shape(whole.shape, to).count()) *
                            size_of(whole.dtype);
  const bool large = plan.peak_bytes > ends;
  const bool dear =
      options.one_address_space && 2 * plan.bytes > 3 * lower_bound_bytes(mesh, whole, from, to);
  if (!large && !dear) return plan;
  Reshard exchange = by_exchange(mesh, whole, from, to, links);
  return large || exchange.bytes < plan.bytes ? exchange : plan;
}

std::string to_string(const AtomMesh& mesh, const Reshard& plan) {
  std::string text;
  for (const Move& m : plan.moves) {
    text += text.empty() ? "" : "; ";
    text += name_of(m.kind);
    for (const std::string& name : mesh.names(m.atoms.atoms())) text += " '" + name + "'";
    text += " -> " + mesh.to_string(m.after) + ", " + std::to_string(m.bytes) + " B";
  }
  return text;
}

}  // namespace tessera::inline v0::spmd

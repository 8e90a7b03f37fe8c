#include "spmd/reshard/question.h"

#include "base/hash.h"
#include "spmd/reshard/search.h"

#include <mutex>
#include <unordered_map>

namespace tessera::inline v0::spmd {

namespace {

std::size_t hash_of(const StepsQuestion& q) {
  std::size_t h = hash_of(q.from);
  mix(h, hash_of(q.to));
  for (std::int64_t s : q.mesh.atom_mesh().sizes) mix(h, s);
  for (std::int64_t e : q.extents) mix(h, e);
  mix(h, q.bytes);
  mix(h, q.joint);
  mix(h, q.barred.bits());
  return h;
}

// A cached answer together with its question.
struct Answer {
  std::vector<std::int64_t> sizes;
  std::vector<int> axes;  // by atom; set if the links differ
  Links links;
  Placement from, to;
  bool joint;
  std::int64_t bytes;
  AtomSet barred;
  InlineVector<std::int64_t, 8> extents;
  std::shared_ptr<const Steps> steps;  // null: every sequence exceeds the size limit

  bool is_for(const StepsQuestion& q) const {
    if (joint != q.joint || bytes != q.bytes || barred != q.barred || !(extents == q.extents) ||
        sizes != q.mesh.atom_mesh().sizes || !(from == q.from) || !(to == q.to) ||
        !(links == q.links))
      return false;
    for (std::size_t a = 0; a < axes.size(); ++a)
      if (axes[a] != q.mesh.axis_of(static_cast<Atom>(a))) return false;
    return true;
  }
};

// A cache of two generations: when the young one is full, the old one is discarded.
class Kept {
 public:
  bool find(const StepsQuestion& q, std::size_t hash, std::shared_ptr<const Steps>& steps) {
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
  static constexpr std::size_t kMost = 4096;  // per generation
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
  // Never destroyed, because calls may come while the process exits.
  static Kept* const kept = new Kept;
  return *kept;
}

std::shared_ptr<const Steps> find_steps(const StepsQuestion& q) {
  const Ground ground{q.mesh, {q.extents.begin(), q.extents.end()}, q.barred};
  std::vector<Steps> known;
  // The step-by-step construction uses joint all_to_alls.
  if (q.joint)
    for (bool eager : {false, true}) known.push_back(built_steps(ground, q.from, q.to, eager));
  std::optional<Steps> best =
      cheapest_steps({ground, q.from, q.to, q.links, q.joint, static_cast<double>(q.bytes)}, known);
  if (!best) return nullptr;
  // Merges consecutive slices.
  Steps steps;
  for (Step& s : *best) {
    if (!steps.empty() && s.kind == MoveKind::slice && steps.back().kind == MoveKind::slice)
      steps.pop_back();
    steps.push_back(std::move(s));
  }
  return std::make_shared<const Steps>(std::move(steps));
}

}  // namespace

std::shared_ptr<const Steps> steps_of(const StepsQuestion& q) {
  const std::size_t hash = hash_of(q);
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
                q.barred,
                q.extents,
                steps};
  if (!q.links.by_axis().empty())
    for (int a = 0; a < q.mesh.count(); ++a)
      answer.axes.push_back(q.mesh.axis_of(static_cast<Atom>(a)));
  kept().add(hash, std::move(answer));
  return steps;
}

}  // namespace tessera::inline v0::spmd

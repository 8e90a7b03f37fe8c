#include "spmd/reshard.h"

#include "base/message.h"
#include "spmd/boxes.h"
#include "spmd/reshard_question.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace tessera::inline v0::spmd {

namespace {

// Puts a plan together, with what each move costs.
class Assembly {
 public:
  Assembly(const AtomMesh& mesh, const Type& whole, const Placement& from, const Links& links)
      : mesh_(mesh), whole_(whole), links_(links) {
    plan_.whole = whole.shape;
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
    move.bytes = kind == MoveKind::exchange ? lower_bound_bytes(mesh_, whole_, before, after)
                                            : received(kind, mesh_.size(move.atoms), part);
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
  // Of uneven parts as many bytes are sent as of even ones.
  std::int64_t received(MoveKind kind, std::int64_t members, std::int64_t part) const {
    const bool gather = kind == MoveKind::all_gather;
    return received_bytes(kind, members, part_, gather ? part_ * members : part);
  }
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
                    const Placement& to, const Links& links, const ReshardOptions& options) {
  Assembly plan(mesh, whole, from, links);
  Placement at = from;
  if (from.unreduced != to.unreduced) {
    reduce(at, from.unreduced - to.unreduced);
    plan.add(MoveKind::all_reduce, at);
    // What is reduced may go on as others do.
    for (const Move& m : plan_reshard(mesh, whole, at, to, links, options).moves)
      plan.add(m.kind, m.after);
  } else if (at != to) {
    plan.add(MoveKind::exchange, to);
  }
  return plan.finish();
}

// A dimension that atoms do not divide keeps its cut while others are moved, and may get it from
// none before, or lose it to none after: the only cuts of it whose parts lie in one another.
struct Uneven {
  Placement from, to;  // between the slice before and the gather after
  std::uint64_t frozen = 0;
  bool feasible = true;
};
Uneven uneven_dims(const AtomMesh& mesh, const Type& whole, const Placement& from,
                   const Placement& to) {
  Uneven u{from, to};
  for (std::size_t d = 0; d < from.dims.size(); ++d) {
    const std::int64_t extent = whole.shape[static_cast<int>(d)];
    const Atoms &a = from.dims[d], &b = to.dims[d];
    if (extent % mesh.size(a) == 0 && extent % mesh.size(b) == 0) continue;
    u.frozen |= std::uint64_t{1} << d;
    if (a == b) continue;
    if (a.empty() && !from.used().intersects(AtomSet(b)))
      u.from.dims[d] = b;
    else if (b.empty() && !to.used().intersects(AtomSet(a)))
      u.to.dims[d] = a;
    else
      u.feasible = false;
  }
  return u;
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
  std::optional<Uneven> uneven;
  if (!mesh.divides(whole.shape, from) || !mesh.divides(whole.shape, to)) {
    uneven = uneven_dims(mesh, whole, from, to);
    if (!uneven->feasible) return by_exchange(mesh, whole, from, to, links, options);
  }
  StepsQuestion q{
      mesh, uneven ? uneven->from : from, uneven ? uneven->to : to, links, options.joint,
      0,    uneven ? uneven->frozen : 0,  options.barred,           {}};
  if (!links.scales()) q.bytes = std::max<std::int64_t>(whole.bytes(), 1);
  // Of an extent only what the atoms have in common with it counts.
  const std::int64_t all = mesh.mesh().size();
  for (int d = 0; d < from.rank(); ++d)
    q.extents.push_back(q.frozen >> d & 1 ? mesh.size(q.from.dims[static_cast<std::size_t>(d)])
                                          : std::gcd(whole.shape[d], all));
  std::shared_ptr<const Steps> steps;
  if (q.from == q.to)
    steps = std::make_shared<const Steps>();
  else
    steps = steps_of(q);
  if (!steps) return by_exchange(mesh, whole, from, to, links, options);

  Assembly sequence(mesh, whole, from, links);
  sequence.reserve(steps->size() + 2);
  const bool slices = !steps->empty() && steps->front().kind == MoveKind::slice,
             gathers = !steps->empty() && steps->back().kind == MoveKind::all_gather;
  if (q.from != from && !slices) sequence.add(MoveKind::slice, q.from);
  for (const Step& s : *steps) sequence.add(s.kind, gathers && &s == &steps->back() ? to : s.after);
  if (q.to != to && !gathers) sequence.add(MoveKind::all_gather, to);
  Reshard plan = sequence.finish();
  if (plan.to() != to)
    throw InternalError("a plan ends at " + mesh.to_string(plan.to()) + " instead of " +
                        mesh.to_string(to));
  if (!options.one_address_space || 2 * plan.bytes <= 3 * lower_bound_bytes(mesh, whole, from, to))
    return plan;
  Reshard exchange = by_exchange(mesh, whole, from, to, links, options);
  return exchange.bytes < plan.bytes ? exchange : plan;
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

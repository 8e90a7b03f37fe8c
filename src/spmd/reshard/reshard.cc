#include "spmd/reshard/reshard.h"

#include "base/message.h"
#include "spmd/place/boxes.h"
#include "spmd/reshard/question.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace tessera::inline v0::spmd {

namespace {

// Assembles a plan and computes the cost of each move.
class Assembly {
 public:
  /// Parts are parts of `filled`, the padded shape of the whole.
  Assembly(const AtomMesh& mesh, const Type& whole, Shape filled, const Placement& from,
           const Links& links)
      : mesh_(mesh), whole_(whole), filled_(std::move(filled)), links_(links) {
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
                                            : received(kind, mesh_.size(move.atoms), before, after);
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
  std::int64_t received(MoveKind kind, std::int64_t members, const Placement& before,
                        const Placement& after) const {
    return received_bytes(kind, members, bytes_of(before, &after), bytes_of(after, &before));
  }
  // The bytes of a part. An unpartitioned dimension is padded only while a move from or to `other`
  // partitions or gathers it.
  std::int64_t bytes_of(const Placement& p, const Placement* other = nullptr) const {
    Shape extents = filled_;
    for (int d = 0; d < extents.rank(); ++d) {
      const auto k = static_cast<std::size_t>(d);
      if (p.dims[k].empty() && (!other || other->dims[k].empty())) extents[d] = whole_.shape[d];
    }
    return mesh_.local_shape(extents, p).count() * size_of(whole_.dtype);
  }
  const AtomMesh& mesh_;
  const Type& whole_;
  const Shape filled_;
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
  Assembly plan(mesh, whole, whole.shape, from, links);
  Placement at = from;
  if (from.unreduced != to.unreduced) {
    reduce(at, from.unreduced - to.unreduced);
    plan.add(MoveKind::all_reduce, at);
    // Once reduced, the value can be resharded like any other.
    for (const Move& m : plan_reshard(mesh, whole, at, to, links, options).moves)
      plan.add(m.kind, m.after);
  } else if (at != to) {
    plan.add(MoveKind::exchange, to);
  }
  return plan.finish();
}

}  // namespace

Shape filled_up(const AtomMesh& mesh, const Shape& whole, const Placement& p) {
  Shape filled = mesh.local_shape(whole, p);
  for (int d = 0; d < filled.rank(); ++d)
    filled[d] *= mesh.size(p.dims[static_cast<std::size_t>(d)]);
  return filled;
}

std::optional<Shape> filled_alike(const AtomMesh& mesh, const Shape& whole, const Placement& p,
                                  const Placement& q) {
  Shape one = filled_up(mesh, whole, p);
  const Shape other = filled_up(mesh, whole, q);
  for (int d = 0; d < one.rank(); ++d) {
    const auto k = static_cast<std::size_t>(d);
    if (p.dims[k].empty())
      one[d] = other[d];
    else if (!q.dims[k].empty() && one[d] != other[d])
      return std::nullopt;
  }
  return one;
}

int Reshard::collectives() const {
  return static_cast<int>(std::count_if(moves.begin(), moves.end(),
                                        [](const Move& m) { return m.kind != MoveKind::slice; }));
}

Reshard plan_reshard(const AtomMesh& mesh, const Type& whole, const Placement& from,
                     const Placement& to, const Links& links, const ReshardOptions& options) {
  check(mesh, whole, from, to);
  if (from == to) return Assembly(mesh, whole, whole.shape, from, links).finish();
  const std::optional<Shape> filled = filled_alike(mesh, whole.shape, from, to);
  if (!filled) return by_exchange(mesh, whole, from, to, links, options);
  StepsQuestion q{mesh, from, to, links, options.joint, 0, options.barred, {}};
  if (!links.scales()) q.bytes = std::max<std::int64_t>(whole.bytes(), 1);
  // Only the factors that an extent shares with the mesh size matter.
  const std::int64_t all = mesh.mesh().size();
  for (std::int64_t extent : *filled) q.extents.push_back(std::gcd(extent, all));
  const std::shared_ptr<const Steps> steps = steps_of(q);
  if (!steps) return by_exchange(mesh, whole, from, to, links, options);

  Assembly sequence(mesh, whole, *filled, from, links);
  sequence.reserve(steps->size());
  for (const Step& s : *steps) sequence.add(s.kind, s.after);
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

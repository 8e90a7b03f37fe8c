#include "spmd/reshard/routes.h"

#include "base/hash.h"
#include "base/message.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

const Reshard& Routes::route(const Type& whole, Id from, Id to) {
  std::size_t h = from;
  mix(h, to);
  mix(h, static_cast<int>(whole.dtype));
  for (std::int64_t n : whole.shape) mix(h, n);
  const auto same = [&](const Known& k) {
    return k.from == from && k.to == to && k.dtype == whole.dtype && k.shape == whole.shape;
  };
  const auto make = [&] {
    return Known{whole.dtype, whole.shape, from, to,
                 planned(whole, placements_[from], placements_[to])};
  };
  return known_[known_.id(h, same, make)].plan;
}

Reshard Routes::planned(const Type& whole, const Placement& from, const Placement& to) const {
  const AtomMesh& mesh = placements_.mesh();
  auto exchanges = [](const Reshard& plan) {
    return std::any_of(plan.moves.begin(), plan.moves.end(),
                       [](const Move& m) { return m.kind == MoveKind::exchange; });
  };
  const ReshardOptions options{.barred = barred_};
  Reshard plan = plan_reshard(mesh, whole, from, to, links_, options);
  if (!exchanges(plan)) return plan;
  Placement common = from;
  common.unreduced = to.unreduced;
  if (common.unreduced.empty()) common.combiner = Combiner::add;
  for (std::size_t d = 0; d < from.dims.size(); ++d) {
    const auto [end, other] = std::mismatch(from.dims[d].begin(), from.dims[d].end(),
                                            to.dims[d].begin(), to.dims[d].end());
    common.dims[d] = Atoms(from.dims[d].begin(), end);
    // The prefix cannot be kept if the parts before or after come from another padded shape.
    Placement alone = Placement::replicated(whole.shape.rank()), was = alone, is = alone;
    alone.dims[d] = common.dims[d];
    was.dims[d] = from.dims[d];
    is.dims[d] = to.dims[d];
    if (!filled_alike(mesh, whole.shape, was, alone) || !filled_alike(mesh, whole.shape, alone, is))
      common.dims[d] = {};
  }
  plan = plan_reshard(mesh, whole, from, common, links_, options);
  const Reshard rest = plan_reshard(mesh, whole, common, to, links_, options);
  plan.moves.insert(plan.moves.end(), rest.moves.begin(), rest.moves.end());
  plan.bytes += rest.bytes;
  plan.seconds += rest.seconds;
  plan.peak_bytes = std::max(plan.peak_bytes, rest.peak_bytes);
  if (exchanges(plan))
    throw InternalError("no collectives lead from " + mesh.to_string(from) + " to " +
                        mesh.to_string(to) + " for " + to_string(whole));
  return plan;
}

}  // namespace tessera::inline v0::spmd

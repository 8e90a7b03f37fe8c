#include "spmd/place/boxes.h"

#include "base/message.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {

struct Interval {
  std::int64_t begin, end;
  std::int64_t length() const { return std::max<std::int64_t>(end - begin, 0); }
};
Interval intersection(Interval a, Interval b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}
// The interval of part `index` if each part has length `part`.
Interval part_at(std::int64_t index, std::int64_t part, std::int64_t extent) {
  return {std::min(index * part, extent), std::min((index + 1) * part, extent)};
}
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

const Atoms& cuts(const Placement& p, int d) { return p.dims[static_cast<std::size_t>(d)]; }

}  // namespace

Box box_of(const AtomMesh& mesh, const Shape& whole, const Placement& placement,
           std::int64_t position) {
  const Shape part = mesh.local_shape(whole, placement);
  Box box{whole, whole};
  for (int d = 0; d < whole.rank(); ++d) {
    const Interval i = part_at(mesh.index_along(position, cuts(placement, d)), part[d], whole[d]);
    box.start[d] = i.begin;
    box.extent[d] = i.length();
  }
  return box;
}

BoxExchange::BoxExchange(Shape whole, const Side& source, const Side& target)
    : whole_(std::move(whole)),
      from_mesh_(&source.mesh),
      to_mesh_(&target.mesh),
      from_(source.placement),
      to_(target.placement),
      from_devices_(source.devices.begin(), source.devices.end()),
      to_devices_(target.devices.begin(), target.devices.end()),
      from_part_(source.mesh.local_shape(whole_, from_)),
      to_part_(target.mesh.local_shape(whole_, to_)),
      from_copies_((source.mesh.all() - from_.used()).atoms()),
      to_copies_((target.mesh.all() - to_.used()).atoms()),
      unreduced_(from_.unreduced.atoms()) {
  const bool alike = from_mesh_->mesh() == to_mesh_->mesh();
  if (from_.unreduced != to_.unreduced || (!alike && !unreduced_.empty()))
    throw InternalError("boxes of " + from_mesh_->to_string(from_) + " are no parts of " +
                        to_mesh_->to_string(to_));
  for (std::size_t i = 0; i < from_devices_.size(); ++i)
    position_of_.emplace(from_devices_[i], static_cast<std::int64_t>(i));
}

int BoxExchange::source_id(std::int64_t position) const {
  return from_devices_.empty() ? static_cast<int>(position)
                               : from_devices_[static_cast<std::size_t>(position)];
}

std::int64_t BoxExchange::own_position(std::int64_t target) const {
  const std::int64_t id =
      to_devices_.empty() ? target : to_devices_[static_cast<std::size_t>(target)];
  if (from_devices_.empty()) return id < from_mesh_->mesh().size() ? id : -1;
  const auto it = position_of_.find(static_cast<int>(id));
  return it == position_of_.end() ? -1 : it->second;
}

std::vector<BoxSource> BoxExchange::pieces(std::int64_t target) const {
  const auto rank = static_cast<std::size_t>(whole_.rank());
  struct Along {
    Interval needed;
    std::int64_t first, count;  // parts of the source that meet it
    std::int64_t to_index, own;
  };
  const std::int64_t own = own_position(target);
  // A device receives the partial result with the same index as its own.
  const std::int64_t partial = to_mesh_->index_along(target, unreduced_);
  bool own_counts = own >= 0 && from_mesh_->index_along(own, unreduced_) == partial;
  std::vector<Along> along(rank);
  std::int64_t count = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const int d = static_cast<int>(i);
    Along& a = along[i];
    a.to_index = to_mesh_->index_along(target, cuts(to_, d));
    a.needed = part_at(a.to_index, to_part_[d], whole_[d]);
    if (a.needed.length() == 0) return {};
    a.first = a.needed.begin / from_part_[d];
    a.count = ceil_div(a.needed.end, from_part_[d]) - a.first;
    a.own = own_counts ? from_mesh_->index_along(own, cuts(from_, d)) : -1;
    count *= a.count;
  }
  const std::int64_t copies = from_mesh_->size(from_copies_);
  std::vector<BoxSource> pieces;
  for (std::int64_t n = 0; n < count; ++n) {
    BoxSource piece{from_mesh_->position_at(partial, unreduced_), {whole_, whole_}};
    // The index of this device among those that need the block.
    std::int64_t asker = to_mesh_->index_along(target, to_copies_), rest = n;
    bool mine = own_counts;
    for (std::size_t i = rank; i-- > 0;) {
      const int d = static_cast<int>(i);
      const Along& a = along[i];
      const std::int64_t index = a.first + rest % a.count;
      rest /= a.count;
      const Interval has = part_at(index, from_part_[d], whole_[d]),
                     take = intersection(has, a.needed);
      piece.box.start[d] = take.begin;
      piece.box.extent[d] = take.length();
      piece.source += from_mesh_->position_at(index, cuts(from_, d));
      mine = mine && index == a.own;
      const std::int64_t first_asker = has.begin / to_part_[d];
      asker = asker * (ceil_div(has.end, to_part_[d]) - first_asker) + a.to_index - first_asker;
    }
    piece.source =
        mine ? own : piece.source + from_mesh_->position_at(asker % copies, from_copies_);
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

std::int64_t BoxExchange::received(std::int64_t target) const {
  const std::int64_t id =
      to_devices_.empty() ? target : to_devices_[static_cast<std::size_t>(target)];
  std::int64_t elements = 0;
  for (const BoxSource& piece : pieces(target))
    if (source_id(piece.source) != id) elements += piece.box.count();
  return elements;
}

namespace {

// The number of missing elements if the atoms divide all dimensions. If neither list is a prefix of
// the other, the device with index 0 along the first differing atom of one list and the last index
// along that of the other holds nothing of what it needs. If one list is a prefix of the other, one
// part contains the other.
std::int64_t missing_of_even(const AtomMesh& mesh, const Shape& whole, const Placement& from,
                             const Placement& to) {
  std::int64_t needed = 1, held = 1;
  for (int d = 0; d < whole.rank(); ++d) {
    const Atoms &a = cuts(from, d), &b = cuts(to, d);
    const auto [p, q] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    if (p != a.end() && q != b.end()) held = 0;
    needed *= whole[d] / mesh.size(b);
    held *= whole[d] / mesh.size(a.size() > b.size() ? a : b);
  }
  return needed - held;
}

}  // namespace

std::int64_t lower_bound_bytes(const AtomMesh& mesh, const Type& whole, const Placement& from,
                               const Placement& to) {
  const Shape &extents = whole.shape, part = mesh.local_shape(extents, to);
  const std::int64_t element = size_of(whole.dtype);
  if (from.unreduced != to.unreduced) return part.count() * element;
  if (mesh.divides(extents, from) && mesh.divides(extents, to))
    return missing_of_even(mesh, extents, from, to) * element;
  const Shape held = mesh.local_shape(extents, from);
  const Atoms along = (from.cut() | to.cut()).atoms();
  const std::int64_t positions = mesh.size(along);
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < positions; ++i) {
    const std::int64_t at = mesh.position_at(i, along);
    std::int64_t needs = 1, has = 1;
    for (int d = 0; d < extents.rank() && needs != 0; ++d) {
      const Interval need = part_at(mesh.index_along(at, cuts(to, d)), part[d], extents[d]);
      const Interval have = part_at(mesh.index_along(at, cuts(from, d)), held[d], extents[d]);
      needs *= need.length();
      has *= intersection(need, have).length();
    }
    most = std::max(most, needs - has);
  }
  return most * element;
}

}  // namespace tessera::inline v0::spmd

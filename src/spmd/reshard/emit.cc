#include "spmd/reshard/emit.h"

#include "base/message.h"
#include "ops/build.h"
#include "spmd/reshard/steps.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {

class MoveWriter {
 public:
  MoveWriter(Builder& b, const AtomMesh& mesh, Value local) : b_(b), mesh_(mesh), x_(local) {}

  void move(const Placement& before, const Move& m) {
    lost_.assign(before.dims.size(), {});
    gained_.assign(before.dims.size(), {});
    for (std::size_t d = 0; d < before.dims.size(); ++d) {
      const Atoms &was = before.dims[d], &is = m.after.dims[d];
      const auto [p, q] = std::mismatch(was.begin(), was.end(), is.begin(), is.end());
      lost_[d].assign(p, was.end());
      gained_[d].assign(q, is.end());
    }
    switch (m.kind) {
      case MoveKind::slice: return slice();
      case MoveKind::permute: return permute(before, m);
      case MoveKind::all_to_all: return all_to_all();
      case MoveKind::all_gather: return all_gather();
      case MoveKind::reduce_scatter: return reduce_scatter(before.combiner);
      case MoveKind::all_reduce: return all_reduce(m.atoms.atoms(), before.combiner);
      case MoveKind::exchange: break;
    }
    throw InternalError("an exchange to " + mesh_.to_string(m.after) +
                        " is no collective of a per-device program");
  }
  /// Pads or truncates the given dimensions to the given extents.
  void resize(const Ints& dims, const Shape& extents) {
    Ints more(x_.shape().size(), 0), limits = x_.shape().to_vector();
    bool longer = false, shorter = false;
    for (std::int64_t dim : dims) {
      const auto d = static_cast<std::size_t>(dim);
      more[d] = std::max<std::int64_t>(0, extents[d] - limits[d]);
      longer = longer || more[d] > 0;
      shorter = shorter || extents[d] < limits[d];
      limits[d] = extents[d];
    }
    const Ints none(more.size(), 0);
    if (longer) x_ = ops::pad(x_, ops::scalar(b_, x_.dtype(), 0, x_.type().weak), none, more, none);
    if (shorter) x_ = ops::slice(x_, none, limits, Ints(limits.size(), 1));
  }
  Value result() const { return x_; }

 private:
  using Lists = std::vector<Atoms>;

  Strings names(const Atoms& atoms) const {
    Strings s;
    for (Atom a : atoms) s.push_back(mesh_.atom_mesh().axes[a]);
    return s;
  }
  static Atoms joined(const Lists& lists) {
    Atoms all;
    for (const Atoms& list : lists)
      for (Atom a : list) all.push_back(a);
    return all;
  }
  // The only dimension with atoms; -1 if there are several.
  static int lone(const Lists& lists) {
    int found = -1;
    for (std::size_t d = 0; d < lists.size(); ++d) {
      if (lists[d].empty()) continue;
      if (found >= 0) return -1;
      found = static_cast<int>(d);
    }
    return found;
  }

  void slice() {
    Values starts;
    Ints sizes = x_.shape().to_vector();
    for (std::size_t d = 0; d < gained_.size(); ++d) {
      if (gained_[d].empty()) {
        starts.push_back(ops::scalar(b_, DType::int32, 0));
        continue;
      }
      const Strings axes = names(gained_[d]);
      const std::int64_t n = mesh_.size(gained_[d]);
      sizes[d] /= n;
      Value index = ops::pvary(ops::axis_index(b_, axes, n), axes);
      if (sizes[d] != 1)
        index = ops::mul(index, ops::full_like(index, static_cast<double>(sizes[d])));
      starts.push_back(index);
    }
    x_ = ops::dynamic_slice(x_, starts, sizes);
  }

  // Both placements cut a dimension into the same number of parts, so an index along one list is an
  // index along the other. Atoms at the same position in both take no part.
  void permute(const Placement& before, const Move& m) {
    Atoms from, to;
    for (int d : m.dims) {
      const Atoms &was = before.dims[static_cast<std::size_t>(d)],
                  &is = m.after.dims[static_cast<std::size_t>(d)];
      const AtomSet still = at_rest(mesh_, was, is);
      for (Atom a : was)
        if (!still.contains(a)) from.push_back(a);
      for (Atom a : is)
        if (!still.contains(a)) to.push_back(a);
    }
    Atoms all = from;
    for (Atom a : (AtomSet(to) - AtomSet(from)).atoms()) all.push_back(a);
    Ints sizes;
    for (Atom a : all) sizes.push_back(mesh_.size(a));
    x_ = ops::ppermute_axes(x_, names(all), sizes, names(from), names(to));
  }

  void all_to_all() {
    const int from = lone(lost_), to = lone(gained_);
    if (from >= 0 && to >= 0 && joined(lost_) == joined(gained_)) {
      const Atoms& atoms = lost_[static_cast<std::size_t>(from)];
      x_ = ops::all_to_all(x_, names(atoms), mesh_.size(atoms), to, from, true);
      return;
    }
    const Atoms order = joined(lost_);
    to_front(order);
    x_ = ops::all_to_all(x_, names(order), mesh_.size(order), 0, 0, false);
    from_front(order);
  }

  void all_gather() {
    const Atoms order = joined(lost_);
    const int d = lone(lost_);
    x_ = ops::all_gather_invariant(x_, names(order), mesh_.size(order), std::max(d, 0), d >= 0);
    if (d < 0) from_front(order);
  }

  void reduce_scatter(Combiner how) {
    const Atoms order = joined(gained_);
    const Strings axes = names(order);
    const std::int64_t n = mesh_.size(order);
    const int d = lone(gained_);
    if (how == Combiner::add && d >= 0) {
      x_ = ops::psum_scatter(x_, axes, n, d, true);
      return;
    }
    to_front(order);
    if (how == Combiner::add) {
      x_ = ops::psum_scatter(x_, axes, n, 0, false);
      return;
    }
    // Each device receives the others' values of its own part, which costs as many bytes, and
    // combines them.
    x_ = ops::all_to_all(x_, axes, n, 0, 0, false);
    const bool boolean = x_.dtype() == DType::boolean;
    if (is_greatest(how))
      x_ = boolean ? ops::reduce_or(x_, {0}) : ops::reduce_max(x_, {0});
    else
      x_ = boolean ? ops::reduce_and(x_, {0}) : ops::reduce_min(x_, {0});
  }

  void all_reduce(const Atoms& atoms, Combiner how) {
    const Strings axes = names(atoms);
    const std::int64_t n = mesh_.size(atoms);
    if (how == Combiner::add)
      x_ = ops::psum_invariant(x_, axes);
    else
      x_ = is_greatest(how) ? ops::pmax(x_, axes, n) : ops::pmin(x_, axes, n);
  }

  bool is_greatest(Combiner how) const {
    const bool boolean = x_.dtype() == DType::boolean;
    if (how == Combiner::max || (how == Combiner::or_ && boolean)) return true;
    if (how == Combiner::min || (how == Combiner::and_ && boolean)) return false;
    throw InternalError("partial results " + to_string(x_.type()) + " are not combined by '" +
                        std::string(name_of(how)) + "'");
  }

  // Moves the parts that the gained atoms make of dimensions into one new leading dimension, in
  // `order`.
  void to_front(const Atoms& order) {
    Shape apart;
    Ints place(static_cast<std::size_t>(mesh_.count()), -1);  // by atom
    Ints rest;
    for (std::size_t d = 0; d < gained_.size(); ++d) {
      for (Atom a : gained_[d]) {
        place[a] = apart.rank();
        apart.push_back(mesh_.size(a));
      }
      rest.push_back(apart.rank());
      apart.push_back(x_.shape()[static_cast<int>(d)] / mesh_.size(gained_[d]));
    }
    Ints permutation;
    for (Atom a : order) permutation.push_back(place[a]);
    permutation.insert(permutation.end(), rest.begin(), rest.end());
    Shape together{mesh_.size(order)};
    for (std::int64_t d : rest) together.push_back(apart[static_cast<int>(d)]);
    x_ = ops::reshape(ops::transpose(ops::reshape(x_, apart), permutation), together);
  }

  // Merges the leading dimension, which consists of the lost atoms in `order`, into the dimensions
  // that they partitioned.
  void from_front(const Atoms& order) {
    Shape apart;
    for (Atom a : order) apart.push_back(mesh_.size(a));
    const int pieces = apart.rank();
    for (int d = 1; d < x_.rank(); ++d) apart.push_back(x_.shape()[d]);
    Ints permutation;
    Shape together;
    std::int64_t next = 0;
    for (std::size_t d = 0; d < lost_.size(); ++d) {
      for (std::size_t k = 0; k < lost_[d].size(); ++k) permutation.push_back(next++);
      permutation.push_back(pieces + static_cast<std::int64_t>(d));
      together.push_back(mesh_.size(lost_[d]) * x_.shape()[static_cast<int>(d) + 1]);
    }
    x_ = ops::reshape(ops::transpose(ops::reshape(x_, apart), permutation), together);
  }

  Builder& b_;
  const AtomMesh& mesh_;
  Value x_;
  Lists lost_, gained_;  // by dimension: atoms that the move removes and adds
};

// The whole extent of a dimension at each placement of a plan. While the dimension is partitioned,
// it is padded to the largest extent that any of its cuts requires.
Ints extents_along(const AtomMesh& mesh, const Reshard& plan, int dim) {
  const auto d = static_cast<std::size_t>(dim);
  std::vector<const Atoms*> cuts{&plan.from.dims[d]};
  for (const Move& m : plan.moves) cuts.push_back(&m.after.dims[d]);
  const std::int64_t whole = plan.whole[dim];
  Ints extents(cuts.size(), whole);
  for (std::size_t i = 0; i < cuts.size();) {
    std::size_t end = i;
    std::int64_t filled = whole;
    for (; end < cuts.size() && !cuts[end]->empty(); ++end) {
      const std::int64_t n = mesh.size(*cuts[end]);
      filled = std::max(filled, (whole + n - 1) / n * n);
    }
    std::fill(extents.begin() + static_cast<std::ptrdiff_t>(i),
              extents.begin() + static_cast<std::ptrdiff_t>(end), filled);
    i = end + 1;
  }
  return extents;
}

}  // namespace

Value emit_reshard(Builder& b, const AtomMesh& mesh, const Reshard& plan, Value local) {
  MoveWriter e(b, mesh, local);
  std::vector<Ints> extents;
  for (int d = 0; d < plan.whole.rank(); ++d) extents.push_back(extents_along(mesh, plan, d));
  const Placement* before = &plan.from;
  for (std::size_t i = 0; i < plan.moves.size(); ++i) {
    const Move& m = plan.moves[i];
    Ints begun, ended;
    Shape filled = plan.whole;
    for (int d : m.dims) {
      const auto k = static_cast<std::size_t>(d);
      filled[d] = extents[k][i + 1];
      if (before->dims[k].empty()) begun.push_back(d);
      if (m.after.dims[k].empty()) ended.push_back(d);
    }
    e.resize(begun, filled);
    e.move(*before, m);
    e.resize(ended, plan.whole);
    before = &m.after;
  }
  return e.result();
}

}  // namespace tessera::inline v0::spmd

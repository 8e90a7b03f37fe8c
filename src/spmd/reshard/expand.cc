#include "spmd/reshard/expand.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {
constexpr std::uint32_t bit(int a) { return std::uint32_t{1} << a; }
}  // namespace

std::uint32_t Expander::phase_after(MoveKind kind) const {
  if (full_) return 0;
  switch (kind) {
    case MoveKind::slice: return slicing;
    case MoveKind::reduce_scatter: return phase_ == slicing ? slicing : exchanging;
    case MoveKind::permute: return permuted;
    case MoveKind::all_to_all: return exchanging;
    case MoveKind::all_reduce: return reduced;
    case MoveKind::all_gather:
    case MoveKind::exchange: break;
  }
  return gathered;
}

bool Expander::may(MoveKind kind) const {
  const std::uint32_t next = phase_after(kind);
  if (kind == MoveKind::permute || kind == MoveKind::all_gather) return full_ || phase_ < next;
  return phase_ <= next;
}

void Expander::reach(MoveKind kind, Mask over, int effort) {
  const double after = space_.part_of(s_);
  if (after > space_.most()) return;
  PackedState state(s_, rank_);
  state.phase = phase_after(kind);
  arrive(kind, state, space_.cost(kind, over, part_, after, effort));
}

void Expander::expand(const PackedState& state) {
  phase_ = state.phase;
  state.open(s_, rank_);
  part_ = space_.part_of(s_);
  if (may(MoveKind::slice)) slices();
  if (s_.unreduced != space_.open_goal().unreduced) reductions();
  if (full_) permutes();
  if (may(MoveKind::all_to_all)) all_to_alls();
  if (may(MoveKind::all_gather)) gathers();
  if (!full_) likely_moves(state);
}

void Expander::slices() {
  Mask used = s_.unreduced;
  for (int d = 0; d < rank_; ++d) used |= SearchSpace::mask(dim(d));
  for (int a = 0; a < space_.count(); ++a) {
    if (used >> a & 1) continue;
    for (int d = 0; d < rank_; ++d) {
      if (!can_cut(d, space_.size(a))) continue;
      dim(d).push(a);
      reach(MoveKind::slice, bit(a), 1);
      dim(d).pop();
    }
  }
}

void Expander::reductions() {
  const Mask all = s_.unreduced & ~space_.open_goal().unreduced;
  if (may(MoveKind::all_reduce))
    for (Mask some = all; some != 0; some = full_ ? (some - 1) & all : 0) {
      s_.unreduced &= ~some;
      reach(MoveKind::all_reduce, some, 1);
      s_.unreduced |= some;
    }
  if (!may(MoveKind::reduce_scatter) || std::popcount(all) > SearchSpace::full_units) return;
  for (Mask some = all; some != 0; some = (some - 1) & all) {
    s_.unreduced &= ~some;
    deal(some, some, 0, ~Mask{0}, MoveKind::reduce_scatter, 0);
    s_.unreduced |= some;
  }
}

// Distributes the atoms `rest`, a subset of `some`, to the minor ends of the dimensions in `where`
// from `d` on, in every order.
void Expander::deal(Mask some, Mask rest, int d, Mask where, MoveKind kind, int effort) {
  if (rest == 0) return reach(kind, some, effort);
  for (; d < rank_; ++d)
    if (where >> d & 1) give_more(some, rest, d, where, kind, effort + 1);
}
// The same with at least one atom for dimension `d`.
void Expander::give_more(Mask some, Mask rest, int d, Mask where, MoveKind kind, int effort) {
  for (Mask u = rest; u != 0; u &= u - 1) {
    const int a = std::countr_zero(u);
    if (!can_cut(d, space_.size(a))) continue;
    dim(d).push(a);
    if ((rest & ~bit(a)) != 0) give_more(some, rest & ~bit(a), d, where, kind, effort);
    deal(some, rest & ~bit(a), d + 1, where, kind, effort);
    dim(d).pop();
  }
}

void Expander::permutes() {
  const OpenState was = s_;
  for (int d = 0; d < rank_; ++d) dim(d).count = 0;
  fill(was, (bit(space_.count()) - 1) & ~was.unreduced, 0);
  s_ = was;
}
// Fills dimension `d` and later ones with atoms of the same sizes as before.
void Expander::fill(const OpenState& was, Mask pool, int d) {
  if (d == rank_) {
    const Mask over = space_.moved(MoveKind::permute, was, s_);
    if (over != 0) reach(MoveKind::permute, over, space_.touched(was, s_));
    return;
  }
  const ShortList& list = was.dims[static_cast<std::size_t>(d)];
  if (dim(d).count == list.count) return fill(was, pool, d + 1);
  for (Mask u = pool; u != 0; u &= u - 1) {
    const int a = std::countr_zero(u);
    const auto alike = [&](std::uint8_t b) { return space_.size(b) == space_.size(a); };
    if (std::count_if(list.begin(), list.end(), alike) ==
        std::count_if(dim(d).begin(), dim(d).end(), alike))
      continue;
    dim(d).push(a);
    fill(was, pool & ~bit(a), d);
    dim(d).pop();
  }
}

void Expander::all_to_alls() {
  if (full_ && q_.joint) return take(0, 0, 0);
  for (int i = 0; i < rank_; ++i) {
    const ShortList list = dim(i);
    Mask moved = 0;
    for (int first = list.count - 1; first >= 0; --first) {
      moved |= bit(list.at[static_cast<std::size_t>(first)]);
      dim(i).count = static_cast<std::uint8_t>(first);
      for (int j = 0; j < rank_; ++j) {
        if (j == i || !can_cut(j, space_.size_of(moved))) continue;
        const std::uint8_t count = dim(j).count;
        for (int k = first; k < list.count; ++k) dim(j).push(list.at[static_cast<std::size_t>(k)]);
        reach(MoveKind::all_to_all, moved, 2);
        dim(j).count = count;
      }
    }
    dim(i) = list;
  }
}
// Adds minor atoms of some of the dimensions from `d` on to `moved`, then distributes them to the
// dimensions that are not among the sources.
void Expander::take(int d, Mask sources, Mask moved) {
  if (d == rank_) {
    if (moved != 0) deal(moved, moved, 0, ~sources, MoveKind::all_to_all, std::popcount(sources));
    return;
  }
  take(d + 1, sources, moved);
  const ShortList list = dim(d);
  while (dim(d).count > 0) {
    dim(d).pop();
    moved |= bit(list.at[dim(d).count]);
    take(d + 1, sources | bit(d), moved);
  }
  dim(d) = list;
}

void Expander::gathers() {
  if (full_) return drop(0, 0, 0);
  for (int d = 0; d < rank_; ++d) {
    const ShortList list = dim(d);
    Mask gone = 0;
    while (dim(d).count > 0) {
      dim(d).pop();
      gone |= bit(list.at[dim(d).count]);
      reach(MoveKind::all_gather, gone, 1);
    }
    dim(d) = list;
  }
}
void Expander::drop(int d, Mask gone, int effort) {
  if (d == rank_) {
    if (gone != 0) reach(MoveKind::all_gather, gone, effort);
    return;
  }
  drop(d + 1, gone, effort);
  const ShortList list = dim(d);
  while (dim(d).count > 0) {
    dim(d).pop();
    gone |= bit(list.at[dim(d).count]);
    drop(d + 1, gone, effort + 1);
  }
  dim(d) = list;
}

// For kinds of moves with too many variants, tries only the one that leads towards the goal.
void Expander::likely_moves(const PackedState& state) {
  const Placement at = space_.placement(state);
  const auto try_move = [&](MoveKind kind, const std::optional<Placement>& next) {
    const std::optional<PackedState> closed = next ? space_.closed(*next) : std::nullopt;
    if (!closed) return;
    const OpenState was = s_;
    s_ = space_.opened(*closed);
    reach(kind, space_.moved(kind, was, s_), space_.touched(was, s_));
    s_ = was;
  };
  if (may(MoveKind::reduce_scatter))
    try_move(MoveKind::reduce_scatter, likely_reduce_scatter(q_.ground, at, q_.to));
  if (may(MoveKind::permute)) try_move(MoveKind::permute, likely_permute(q_.ground, at, q_.to));
  if (may(MoveKind::all_gather)) try_move(MoveKind::all_gather, likely_all_gather(at, q_.to));
  if (may(MoveKind::all_to_all) && q_.joint)
    for (std::uint32_t sources = 1; sources < bit(rank_); ++sources)
      try_move(MoveKind::all_to_all,
               likely_all_to_all(q_.ground, at, q_.to, space_.dims_of(sources)));
}

}  // namespace tessera::inline v0::spmd

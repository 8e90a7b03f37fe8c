// How a value goes from one placement to another on one mesh: the cheapest sequence of collectives,
// or one exchange of boxes. Never a gather of everything where less will do.
//
// A move is one of
//   slice           free atoms cut dimensions further, at their minor ends; nothing is received
//   permute         other atoms in other places, each dimension cut into as many parts as before
//   all_to_all      the last atoms of some dimensions become the last ones of other dimensions, in
//                   any order; all of them in one exchange
//   all_gather      the last atoms of dimensions become free
//   reduce_scatter  unreduced atoms become the last ones of dimensions
//   all_reduce      unreduced atoms become free
//   exchange        each device takes what it needs from those that have it (spmd/place/boxes.h)
// and where it leads says all about it. Only a reduction makes an unreduced atom anything else.
#pragma once

#include "spmd/place/links.h"

#include <optional>
#include <vector>

namespace tessera::inline v0::spmd {

struct Move {
  MoveKind kind = MoveKind::slice;
  Placement after;
  /// That change their places: sliced, moved, permuted, gathered, reduced; of an exchange all
  /// that cut a dimension whose cut changes, before or after.
  AtomSet atoms;
  InlineVector<int, 8> dims;  // whose cut changes
  std::int64_t bytes = 0;     // that a device receives at most
};

struct Reshard {
  Shape whole;
  Placement from;
  std::vector<Move> moves;
  std::int64_t bytes = 0;       // of all moves
  double seconds = 0;           // by the links
  std::int64_t peak_bytes = 0;  // the largest part on the way, the first and the last among them

  const Placement& to() const { return moves.empty() ? from : moves.back().after; }
  /// Moves that communicate.
  int collectives() const;
};

struct ReshardOptions {
  /// All devices read one memory: an exchange is as good as any other move, and taken where a
  /// sequence receives more than one and a half times the lower bound.
  bool one_address_space = false;
  /// An all_to_all may take from several dimensions, give to several and reorder; else it moves the
  /// last atoms of one dimension, as they are, behind those of another.
  bool joint = true;
  /// Atoms along which the devices hold values of their own, each with these placements: no move is
  /// along them. They are in neither placement.
  AtomSet barred = {};
};

/// The shape that its dimensions have when the last parts are as long as the first.
Shape filled_up(const AtomMesh& mesh, const Shape& whole, const Placement& placement);
/// That from which the parts of both placements are cut; absent where they are not cut from one. A
/// dimension that one of them leaves whole is as long as for the other.
std::optional<Shape> filled_alike(const AtomMesh& mesh, const Shape& whole, const Placement& p,
                                  const Placement& q);

/// Of the sequences that receive the fewest bytes (take the least time, where links differ) one
/// with the fewest collectives, found by a search over all placements where few atoms are
/// concerned; with many, over sequences slice*, permute, all_to_all*, all_gather and the likely
/// moves only, with a bound, and never worse than what is built step by step. No part on the way is
/// larger than both the first and the last.
///
/// A dimension that atoms do not divide is moved as if it were filled up to what they do, before its
/// first cut; what fills it goes where it is whole again. Where its parts before and after do not
/// come from one filling, and where no sequence keeps within that bound, the plan is an exchange;
/// after an all_reduce, where something is to be reduced.
///
/// Equal questions have equal answers, whatever was asked before. Answers are kept by what decides
/// them: the atoms, the two placements, and by what of them each dimension can be divided.
/// InternalError where `to` is unreduced over what `from` is not, or is combined otherwise.
Reshard plan_reshard(const AtomMesh& mesh, const Type& whole, const Placement& from,
                     const Placement& to, const Links& links = {},
                     const ReshardOptions& options = {});

/// "slice 'y' -> P('x', 'y'), 0 B; ...": each move with where it leads and what is received.
std::string to_string(const AtomMesh& mesh, const Reshard& plan);

}  // namespace tessera::inline v0::spmd

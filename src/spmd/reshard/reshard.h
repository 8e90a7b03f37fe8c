// Plans how a value is resharded from one placement to another on one mesh: by the cheapest
// sequence of collectives, or by one exchange of boxes. It never gathers the whole value unless it
// has to.
//
// A move is one of
//   slice           free atoms are added at the minor end of dimensions; nothing is received
//   permute         replaces atoms by others, keeping the number of parts of each dimension
//   all_to_all      the minor atoms of some dimensions become minor atoms of others, in any
//                   order, in one collective
//   all_gather      the minor atoms of dimensions become free
//   reduce_scatter  unreduced atoms become the minor atoms of dimensions
//   all_reduce      unreduced atoms become free
//   exchange        each device fetches the boxes that it needs (spmd/place/boxes.h)
// and is fully described by its kind and the placement it leads to. Only a reduction changes an
// unreduced atom.
#pragma once

#include "spmd/place/links.h"

#include <optional>
#include <vector>

namespace tessera::inline v0::spmd {

struct Move {
  MoveKind kind = MoveKind::slice;
  Placement after;
  /// Atoms that change their position: sliced, moved, permuted, gathered or reduced. For an
  /// exchange, all atoms that partition a changed dimension before or after.
  AtomSet atoms;
  InlineVector<int, 8> dims;  // whose partition changes
  std::int64_t bytes = 0;     // received per device, at most
};

struct Reshard {
  Shape whole;
  Placement from;
  std::vector<Move> moves;
  std::int64_t bytes = 0;       // sum over all moves
  double seconds = 0;           // according to the links
  std::int64_t peak_bytes = 0;  // the largest part at any point, including both ends

  const Placement& to() const { return moves.empty() ? from : moves.back().after; }
  /// The number of moves that communicate.
  int collectives() const;
};

struct ReshardOptions {
  /// All devices share one memory, so an exchange costs no more than any other move. It is taken if
  /// the best sequence receives more than 1.5 times the lower bound.
  bool one_address_space = false;
  /// Allows an all_to_all to take atoms from several dimensions, give them to several, and reorder
  /// them. Otherwise it appends the minor atoms of one dimension to another dimension, in their
  /// order.
  bool joint = true;
  /// Atoms along which the devices hold different values, each with these placements. No move is
  /// along them, and they are in neither placement.
  AtomSet barred = {};
};

/// The shape with each dimension padded until its last part is as long as the first.
Shape filled_up(const AtomMesh& mesh, const Shape& whole, const Placement& placement);
/// The padded shape that both placements partition, or absent if there is no common one. A
/// dimension that one placement leaves whole takes its extent from the other.
std::optional<Shape> filled_alike(const AtomMesh& mesh, const Shape& whole, const Placement& p,
                                  const Placement& q);

/// Among the sequences that receive the fewest bytes (or take the least time, if links differ) and
/// never hold a part larger than the larger of both ends, returns one with the fewest collectives.
/// If few atoms take part, the search covers all placements. Otherwise it is a bounded search over
/// sequences slice*, permute, all_to_all*, all_gather made of likely moves, and never worse than
/// the step-by-step construction.
///
/// A dimension that the atoms do not divide is moved as if it had been padded before its first cut,
/// and the padding is dropped where the dimension is whole again. If the parts before and after do
/// not come from the same padded shape, or if no sequence respects the size bound, the plan is an
/// exchange, preceded by an all_reduce if atoms have to be reduced.
///
/// The result depends only on the arguments. Results are cached by the atoms, the two placements,
/// and for each dimension by which products of the atoms divide it. Throws InternalError if `to` is
/// unreduced over atoms over which `from` is not, or has another combiner.
Reshard plan_reshard(const AtomMesh& mesh, const Type& whole, const Placement& from,
                     const Placement& to, const Links& links = {},
                     const ReshardOptions& options = {});

/// For example "slice 'y' -> P('x', 'y'), 0 B; ...": each move with the placement it leads to and
/// the bytes received.
std::string to_string(const AtomMesh& mesh, const Reshard& plan);

}  // namespace tessera::inline v0::spmd

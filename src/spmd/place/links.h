// What the links between the devices of a mesh are like, and what moves over them cost.
#pragma once

#include "spmd/place/placement.h"

#include <vector>

namespace tessera::inline v0::spmd {

/// The ways in which parts of a value change their places (spmd/reshard/reshard.h).
enum class MoveKind {
  slice,           // each device keeps a part of what it has
  permute,         // blocks change hands whole
  all_to_all,      // atoms leave some dimensions and cut others, in equal blocks
  all_gather,      // atoms leave dimensions
  reduce_scatter,  // unreduced atoms become atoms that cut
  all_reduce,      // unreduced atoms are reduced
  exchange         // boxes from wherever they are
};
/// "all_to_all"
const char* name_of(MoveKind kind);

/// Bytes that a device receives in a move over `members` devices, from its bytes before and after.
/// Of a permutation it is what a device receives that keeps nothing. An exchange is not among them.
/// Exact where the members divide what they share.
std::int64_t received_bytes(MoveKind kind, std::int64_t members, std::int64_t before,
                            std::int64_t after);
double received_bytes(MoveKind kind, double members, double before, double after);

/// Of one axis of a mesh, for one device.
struct Link {
  double latency = 0;      // seconds
  double bandwidth = 1e9;  // bytes a second
  bool operator==(const Link&) const = default;
};

/// The part of a move that goes along one axis.
struct Crossing {
  int axis = 0;
  double bytes = 0;  // that a device receives
  double seconds = 0;
};
using Crossings = InlineVector<Crossing, 8>;

/// The links along the axes of a mesh. Without any all axes are alike, and time is bytes.
class Links {
 public:
  Links() = default;
  /// By axis of the mesh; the axes that it lacks have the default.
  explicit Links(std::vector<Link> by_axis) : links_(std::move(by_axis)) {}

  Link of(int axis) const {
    const auto i = static_cast<std::size_t>(axis);
    return i < links_.size() ? links_[i] : Link{};
  }
  /// Least time is least bytes over the axes of this mesh: one bandwidth, no latencies.
  bool alike(const AtomMesh& mesh) const;
  /// Bytes alone decide, whatever their number: no latencies.
  bool scales() const;
  double best_bandwidth(const AtomMesh& mesh) const;
  /// The same with times of which a byte on the fastest link takes as long as on a default one: what
  /// moves is then weighed against work as it is where nobody said anything of links.
  Links relative() const;

  /// Seconds of a move along `over`, the atoms along which something is sent, from a device's bytes
  /// before and after it; of an exchange `received` says what a device receives.
  ///
  /// A gather goes axis by axis, slowest first, while the pieces are small, and a reduction the
  /// other way round; in an all_to_all what goes to a peer crosses the slowest axis along which the
  /// two differ; a permutation and an exchange cross the slowest of all. A step along an axis of f
  /// devices waits for its latency log2(f) times, a permutation once, an exchange f - 1 times.
  double seconds(const AtomMesh& mesh, MoveKind kind, AtomSet over, double before, double after,
                 double received = 0) const;
  /// What that is made of, fastest axis first.
  Crossings crossings(const AtomMesh& mesh, MoveKind kind, AtomSet over, double before,
                      double after, double received = 0) const;

  bool operator==(const Links&) const = default;
  const std::vector<Link>& by_axis() const { return links_; }

 private:
  std::vector<Link> links_;
};

}  // namespace tessera::inline v0::spmd

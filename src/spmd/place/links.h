// A model of the links between the devices of a mesh, and the cost of moves over them.
#pragma once

#include "spmd/place/placement.h"

#include <vector>

namespace tessera::inline v0::spmd {

/// The ways in which a value is resharded (spmd/reshard/reshard.h).
enum class MoveKind {
  slice,           // each device keeps a part of its block
  permute,         // devices swap whole blocks
  all_to_all,      // atoms move from some dimensions to others, in equal blocks
  all_gather,      // atoms are removed from dimensions
  reduce_scatter,  // unreduced atoms become atoms that partition
  all_reduce,      // unreduced atoms are reduced
  exchange         // arbitrary boxes between arbitrary devices
};
/// For example "all_to_all".
const char* name_of(MoveKind kind);

/// Bytes that a device receives in a move over `members` devices, given the size of its block
/// before and after. For a permutation this is the amount for a device that keeps nothing. Not
/// defined for an exchange. Exact if the number of members divides the block they share.
std::int64_t received_bytes(MoveKind kind, std::int64_t members, std::int64_t before,
                            std::int64_t after);
double received_bytes(MoveKind kind, double members, double before, double after);

/// The link of one device along one mesh axis.
struct Link {
  double latency = 0;      // seconds
  double bandwidth = 1e9;  // bytes per second
  bool operator==(const Link&) const = default;
};

/// The share of a move's traffic that crosses one axis.
struct Crossing {
  int axis = 0;
  double bytes = 0;  // received per device
  double seconds = 0;
};
using Crossings = InlineVector<Crossing, 8>;

/// The links along the axes of a mesh. By default all axes are equal and time is proportional to
/// bytes.
class Links {
 public:
  Links() = default;
  /// Indexed by mesh axis; axes past the end of the list get the default link.
  explicit Links(std::vector<Link> by_axis) : links_(std::move(by_axis)) {}

  Link of(int axis) const {
    const auto i = static_cast<std::size_t>(axis);
    return i < links_.size() ? links_[i] : Link{};
  }
  /// Whether minimising time is the same as minimising bytes over this mesh's axes: all bandwidths
  /// are equal and no latencies are set.
  bool alike(const AtomMesh& mesh) const;
  /// Whether time is proportional to size: no latencies are set.
  bool scales() const;
  double best_bandwidth(const AtomMesh& mesh) const;
  /// The same links with times scaled so that a byte on the fastest link takes as long as on a
  /// default link. Communication is then weighed against computation as it is when the user gave no
  /// link speeds.
  Links relative() const;

  /// Seconds that a move takes along `over`, the atoms along which data is sent, given the bytes of
  /// a device's block before and after. For an exchange, `received` is the number of bytes that a
  /// device receives.
  ///
  /// A gather proceeds axis by axis, slowest axis first while the blocks are small; a reduction
  /// proceeds in the reverse order. In an all_to_all, data for a peer crosses the slowest axis
  /// along which the two devices differ. A permutation and an exchange cross the slowest axis of
  /// all. A step along an axis of f devices pays the axis's latency log2(f) times, a permutation
  /// once, an exchange f - 1 times.
  double seconds(const AtomMesh& mesh, MoveKind kind, AtomSet over, double before, double after,
                 double received = 0) const;
  /// The same cost split by axis, fastest axis first.
  Crossings crossings(const AtomMesh& mesh, MoveKind kind, AtomSet over, double before,
                      double after, double received = 0) const;

  bool operator==(const Links&) const = default;
  const std::vector<Link>& by_axis() const { return links_; }

 private:
  std::vector<Link> links_;
};

}  // namespace tessera::inline v0::spmd

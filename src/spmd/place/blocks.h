// The blocks into which a Spec partitions an array over a mesh.
#pragma once

#include "base/box_copy.h"
#include "ir/mesh.h"

#include <optional>

namespace tessera::inline v0::spmd {

/// The geometry of one partition: the block that each mesh position holds, and its location in the
/// whole array.
class Blocks {
 public:
  /// Throws InternalError if the spec names an unknown axis or does not divide the shape.
  Blocks(const Type& whole, const MeshShape& mesh, const Spec& spec);

  const Shape& block() const { return block_; }
  std::int64_t block_bytes() const { return bytes_; }
  /// The number of distinct blocks. They are numbered row-major over the partitioned dimensions.
  std::int64_t count() const { return count_; }
  std::int64_t positions() const { return positions_; }
  std::int64_t block_of(std::int64_t position) const;
  /// Whether blocks are contiguous in the whole array, in the order of their numbers: only the
  /// first dimension that is not 1 is partitioned.
  bool contiguous() const { return contiguous_; }
  /// Byte offset of block `b` in the dense whole.
  std::int64_t offset_of(std::int64_t b) const;
  /// For each mesh axis, the distance in bytes within the dense whole array between the blocks of
  /// neighbouring positions along that axis.
  const std::vector<std::int64_t>& axis_offsets() const { return axis_offsets_; }
  BoxCopy gather() const;   // from a dense block into the whole, at its offset
  BoxCopy scatter() const;  // from the whole, at its offset, into a dense block

 private:
  Type whole_;
  Shape block_, grid_;
  std::int64_t bytes_ = 0, count_ = 1, positions_ = 1;
  // The axes that partition the array, last one first. `stride` is the distance between
  // neighbouring positions along the axis, `size` their number, and `numbers` the distance between
  // their block numbers.
  struct Axis {
    std::int64_t stride, size, numbers;
  };
  std::vector<Axis> axes_;
  std::vector<std::int64_t> axis_offsets_;
  bool contiguous_ = true;
};

/// Whether two specs over two meshes give every device the same block of every array. Axes of size
/// 1 partition nothing, and neighbouring axes count as one. False if the meshes list their devices
/// in different orders.
bool same_cut(const DeviceMesh& mesh, const Spec& spec, const DeviceMesh& other,
              const Spec& other_spec);
/// The spec without axes of size 1, which partition nothing.
Spec without_lone_axes(const MeshShape& mesh, const Spec& spec);

/// A spec over `other` that gives every device the same block of every array as `spec` over `mesh`.
/// Absent if the axes of `other` cannot express it, or if the meshes list their devices in
/// different orders.
std::optional<Spec> same_cut_over(const DeviceMesh& other, const DeviceMesh& mesh,
                                  const Spec& spec);

}  // namespace tessera::inline v0::spmd

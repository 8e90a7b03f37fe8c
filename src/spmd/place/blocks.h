// How a specification cuts an array into the blocks of a mesh.
#pragma once

#include "base/box_copy.h"
#include "ir/mesh.h"

#include <optional>

namespace tessera::inline v0::spmd {

/// The geometry of one cut: which block a position of the mesh has, and where that block lies in
/// the whole.
class Blocks {
 public:
  /// InternalError when the spec names an unknown axis or does not divide the shape.
  Blocks(const Type& whole, const MeshShape& mesh, const Spec& spec);

  const Shape& block() const { return block_; }
  std::int64_t block_bytes() const { return bytes_; }
  /// Distinct blocks; they are numbered row-major over the cut dimensions.
  std::int64_t count() const { return count_; }
  std::int64_t positions() const { return positions_; }
  std::int64_t block_of(std::int64_t position) const;
  /// Blocks are contiguous in the whole, in the order of their numbers: only the first dimension
  /// that is not 1 is cut.
  bool contiguous() const { return contiguous_; }
  /// Byte offset of block `b` in the dense whole.
  std::int64_t offset_of(std::int64_t b) const;
  /// By axis of the mesh: bytes in the dense whole from one position's block to the next's along
  /// the axis.
  const std::vector<std::int64_t>& axis_offsets() const { return axis_offsets_; }
  BoxCopy gather() const;   // from a dense block into the whole, at its offset
  BoxCopy scatter() const;  // from the whole, at its offset, into a dense block

 private:
  Type whole_;
  Shape block_, grid_;
  std::int64_t bytes_ = 0, count_ = 1, positions_ = 1;
  // Of the axes that cut it, from the last one: positions from one to the next along it, how many
  // there are, and how far their blocks' numbers are apart.
  struct Axis {
    std::int64_t stride, size, numbers;
  };
  std::vector<Axis> axes_;
  std::vector<std::int64_t> axis_offsets_;
  bool contiguous_ = true;
};

/// Whether two specs over two meshes give every device the same block of every array: axes of one
/// device cut nothing, and neighbouring axes are as good as one. Both meshes have their devices in
/// the same order, else they do not.
bool same_cut(const DeviceMesh& mesh, const Spec& spec, const DeviceMesh& other,
              const Spec& other_spec);
/// The spec without the axes of one device, which cut nothing.
Spec without_lone_axes(const MeshShape& mesh, const Spec& spec);

/// The spec over another mesh that gives every device the same block of every array, where the axes
/// there can say it. Both meshes have their devices in the same order, else there is none.
std::optional<Spec> same_cut_over(const DeviceMesh& other, const DeviceMesh& mesh,
                                  const Spec& spec);

}  // namespace tessera::inline v0::spmd

// Maps between the memory of two boxes of one array.
#pragma once

#include <tessera/shape.h>

#include <cstdint>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// A byte range that is contiguous in both boxes.
struct Run {
  std::uint64_t from = 0, to = 0, bytes = 0;
};

/// The overlap of two boxes of an array, each dense and row-major.
class Overlap {
 public:
  Overlap(const Shape& from_start, const Shape& from_shape, const Shape& to_start,
          const Shape& to_shape, std::uint64_t element);
  bool empty() const { return bytes_ == 0; }
  /// Appends the runs of the overlap within bytes `begin` to `end` of the first box.
  void runs(std::uint64_t begin, std::uint64_t end, std::vector<Run>& out) const;

 private:
  // A row consists of the trailing dimensions that both boxes cover completely, together with the
  // next dimension.
  Shape grid_;        // of the first box's rows
  Shape low_, high_;  // range of this grid that the second box covers
  Shape to_grid_;     // of the second box's rows
  Shape shift_;       // from the first grid to the second
  std::uint64_t row_ = 0, to_row_ = 0, at_ = 0, to_at_ = 0, bytes_ = 0;  // in bytes, per row
};

}  // namespace tessera::inline v0::checkpoints

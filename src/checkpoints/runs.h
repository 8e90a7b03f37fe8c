// Where the elements of two boxes of one array lie, in the memory of each.
#pragma once

#include <tessera/shape.h>

#include <cstdint>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// Bytes that lie in one piece in both.
struct Run {
  std::uint64_t from = 0, to = 0, bytes = 0;
};

/// Two boxes of an array, dense and row-major each.
class Overlap {
 public:
  Overlap(const Shape& from_start, const Shape& from_shape, const Shape& to_start,
          const Shape& to_shape, std::uint64_t element);
  bool empty() const { return bytes_ == 0; }
  /// What bytes `begin` to `end` of the first box have for the second.
  void runs(std::uint64_t begin, std::uint64_t end, std::vector<Run>& out) const;

 private:
  // Rows: the dimension behind which both boxes are whole, with all that is behind it.
  Shape grid_;        // of the first box's rows
  Shape low_, high_;  // those that the second has, of this grid
  Shape to_grid_;     // of the second's rows
  Shape shift_;       // from the first's to the second's
  std::uint64_t row_ = 0, to_row_ = 0, at_ = 0, to_at_ = 0, bytes_ = 0;  // in bytes, of each row
};

}  // namespace tessera::inline v0::checkpoints

#include "checkpoints/runs.h"

#include <algorithm>

namespace tessera::inline v0::checkpoints {

Overlap::Overlap(const Shape& from_start, const Shape& from_shape, const Shape& to_start,
                 const Shape& to_shape, std::uint64_t element) {
  const int rank = from_shape.rank();
  std::vector<std::int64_t> low, high;
  for (int d = 0; d < rank; ++d) {
    low.push_back(std::max(from_start[d], to_start[d]));
    high.push_back(std::min(from_start[d] + from_shape[d], to_start[d] + to_shape[d]));
    if (low.back() >= high.back()) return;
  }
  std::uint64_t inner = element;
  int d = rank - 1;
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  while (d >= 0 && low[at(d)] == from_start[d] && low[at(d)] == to_start[d] &&
         high[at(d)] - low[at(d)] == from_shape[d] && high[at(d)] - low[at(d)] == to_shape[d]) {
    inner *= static_cast<std::uint64_t>(from_shape[d]);
    --d;
  }
  if (d < 0) {
    row_ = to_row_ = bytes_ = inner;
    return;
  }
  const auto bytes = [&](std::int64_t n) { return static_cast<std::uint64_t>(n) * inner; };
  row_ = bytes(from_shape[d]);
  to_row_ = bytes(to_shape[d]);
  at_ = bytes(low[at(d)] - from_start[d]);
  to_at_ = bytes(low[at(d)] - to_start[d]);
  bytes_ = bytes(high[at(d)] - low[at(d)]);
  for (int i = 0; i < d; ++i) {
    grid_.push_back(from_shape[i]);
    to_grid_.push_back(to_shape[i]);
    low_.push_back(low[at(i)] - from_start[i]);
    high_.push_back(high[at(i)] - from_start[i]);
    shift_.push_back(from_start[i] - to_start[i]);
  }
}

void Overlap::runs(std::uint64_t begin, std::uint64_t end, std::vector<Run>& out) const {
  if (empty() || begin >= end) return;
  for (std::uint64_t row = begin / row_; row * row_ < end; ++row) {
    // The row's index along each dimension, last one first, and its number in the other box.
    std::uint64_t rest = row, number = 0, stride = 1;
    bool inside = true;
    for (int d = grid_.rank(); d-- > 0 && inside;) {
      const auto extent = static_cast<std::uint64_t>(grid_[d]);
      const auto i = static_cast<std::int64_t>(rest % extent);
      rest /= extent;
      inside = i >= low_[d] && i < high_[d];
      number += static_cast<std::uint64_t>(i + shift_[d]) * stride;
      stride *= static_cast<std::uint64_t>(to_grid_[d]);
    }
    if (!inside) continue;
    const std::uint64_t first = row * row_ + at_, from = std::max(first, begin),
                        until = std::min(first + bytes_, end);
    if (from >= until) continue;
    const std::uint64_t to = number * to_row_ + to_at_ + (from - first);
    if (!out.empty() && out.back().from + out.back().bytes == from &&
        out.back().to + out.back().bytes == to)
      out.back().bytes += until - from;
    else
      out.push_back({from, to, until - from});
  }
}

}  // namespace tessera::inline v0::checkpoints

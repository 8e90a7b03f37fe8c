// Memory of one process that others of its machine read.
//
// It has no name that would outlive a process that is killed, and whoever owns it makes it larger or
// smaller alone: others find it by its descriptor, among those of the process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::inline v0::processes {

/// Where another process finds it.
struct SegmentPlace {
  std::int32_t descriptor;
  std::uint32_t generation;  // of those of one process; from 1
  std::uint64_t size;        // bytes of a half
};

/// Two halves. Moves only.
class Segment {
 public:
  static constexpr std::size_t kLeast = std::size_t{1} << 16;

  Segment() = default;
  /// Halves of `size` bytes, zero. Throws CollectiveError where the system refuses.
  explicit Segment(std::size_t size);
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  std::byte* half(std::size_t which) const { return base_ + which * size(); }
  std::size_t size() const { return static_cast<std::size_t>(place_.size); }
  const SegmentPlace& place() const { return place_; }
  /// The size of halves for a round that needs so many bytes: a power of two, that of these where
  /// they fit. What is far too large, and was for many rounds, is not kept.
  std::size_t fit(std::size_t bytes);

 private:
  std::byte* base_ = nullptr;
  SegmentPlace place_{-1, 0, 0};
  std::size_t most_ = 0;  // of the last rounds
  int rounds_ = 0;
};

/// Another process's.
class SegmentView {
 public:
  SegmentView() = default;
  SegmentView(SegmentView&& other) noexcept;
  SegmentView& operator=(SegmentView&&) = delete;
  ~SegmentView();

  /// A half of the segment that process `pid` has there; what was read of an earlier one is gone.
  /// Null where this process may not see it.
  const std::byte* at(std::int32_t pid, const SegmentPlace& place, std::size_t half);

 private:
  void close();

  const std::byte* base_ = nullptr;
  std::uint32_t generation_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tessera::inline v0::processes

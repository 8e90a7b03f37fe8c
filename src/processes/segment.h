// Memory of one process that other processes of its machine read.
//
// It has no name in the file system that would outlive a killed process, and its owner can resize
// it without the others. They find it through its file descriptor, in the owner's /proc entry.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::inline v0::processes {

/// Tells another process where to find a segment.
struct SegmentPlace {
  std::int32_t descriptor;
  std::uint32_t generation;  // counts the segments of one process, from 1
  std::uint64_t size;        // bytes per half
};

/// Memory in two halves. Move-only.
class Segment {
 public:
  static constexpr std::size_t kLeast = std::size_t{1} << 16;

  Segment() = default;
  /// Allocates two zeroed halves of `size` bytes. Throws CollectiveError if the system refuses.
  explicit Segment(std::size_t size);
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  std::byte* half(std::size_t which) const { return base_ + which * size(); }
  std::size_t size() const { return static_cast<std::size_t>(place_.size); }
  const SegmentPlace& place() const { return place_; }
  /// The half size for a round that needs `bytes`: the current size if the round fits, else the
  /// next power of two. Shrinks after many rounds that needed far less.
  std::size_t fit(std::size_t bytes);

 private:
  std::byte* base_ = nullptr;
  SegmentPlace place_{-1, 0, 0};
  std::size_t most_ = 0;  // the largest need of the last rounds
  int rounds_ = 0;
};

/// A mapping of another process's segment.
class SegmentView {
 public:
  SegmentView() = default;
  SegmentView(SegmentView&& other) noexcept;
  SegmentView& operator=(SegmentView&&) = delete;
  ~SegmentView();

  /// Maps a half of the segment of process `pid`; the mapping of an earlier segment is released.
  /// Null if this process has no access.
  const std::byte* at(std::int32_t pid, const SegmentPlace& place, std::size_t half);

 private:
  void close();

  const std::byte* base_ = nullptr;
  std::uint32_t generation_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tessera::inline v0::processes

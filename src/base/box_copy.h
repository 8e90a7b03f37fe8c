// Strided copies between blocks of memory.
#pragma once

#include <tessera/shape.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::inline v0 {

/// Copies an n-dimensional box; strides are in bytes. Constructed once and run often: dimensions
/// that are contiguous in both blocks are merged.
class BoxCopy {
 public:
  BoxCopy() = default;
  BoxCopy(const Shape& extents, const Shape& from_strides, const Shape& to_strides,
          std::int64_t element_bytes);
  void run(const std::byte* from, std::byte* to) const;
  std::int64_t bytes() const { return total_; }
  bool operator==(const BoxCopy&) const = default;

  /// The box is copied line by line; a line is a run of bytes that is contiguous in both blocks.
  std::int64_t lines() const { return run_ ? total_ / run_ : 0; }
  std::int64_t line_bytes() const { return run_; }
  /// Whether consecutive lines have gaps between them in the source, or in the destination.
  bool reads_apart() const { return !dims_.empty() && dims_.back().from != run_; }
  bool writes_apart() const { return !dims_.empty() && dims_.back().to != run_; }

  /// One source and destination for the box.
  struct Way {
    const std::byte* from;
    std::byte* to;
  };
  enum class Stores { cached, past_caches };
  /// Copies the lines [begin, end) of the same box for several sources and destinations: first this
  /// line of every box, then the next line of every box, so that adjacent boxes are read, or
  /// written, in memory order.
  void run(std::span<const Way> ways, std::int64_t begin, std::int64_t end, Stores stores) const;

 private:
  struct Dim {
    std::int64_t n, from, to;
    bool operator==(const Dim&) const = default;
  };
  template <class F>
  void segments(std::int64_t begin, std::int64_t end, F&& f) const;

  std::vector<Dim> dims_;  // outer to inner
  std::int64_t run_ = 0;   // contiguous bytes
  std::int64_t total_ = 0;
};

/// Row-major strides of `shape` in bytes.
Shape byte_strides(const Shape& shape, std::int64_t element_bytes);

}  // namespace tessera::inline v0

// Strided copies between blocks of memory.
#pragma once

#include <tessera/shape.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::inline v0 {

/// Copies an n-dimensional box; strides are in bytes. Made once, run often: dims that are
/// contiguous in both are merged.
class BoxCopy {
 public:
  BoxCopy() = default;
  BoxCopy(const Shape& extents, const Shape& from_strides, const Shape& to_strides,
          std::int64_t element_bytes);
  void run(const std::byte* from, std::byte* to) const;
  std::int64_t bytes() const { return total_; }

 private:
  struct Dim {
    std::int64_t n, from, to;
  };
  std::vector<Dim> dims_;  // outer to inner
  std::int64_t run_ = 0;   // contiguous bytes
  std::int64_t total_ = 0;
};

/// Row-major strides of `shape` in bytes.
Shape byte_strides(const Shape& shape, std::int64_t element_bytes);

}  // namespace tessera::inline v0

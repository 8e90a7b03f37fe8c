#include "base/box_copy.h"

#include <cstring>

namespace tessera::inline v0 {

Shape byte_strides(const Shape& shape, std::int64_t element_bytes) {
  Shape s;
  s.resize(shape.size());
  std::int64_t n = element_bytes;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    s[d] = n;
    n *= shape[d];
  }
  return s;
}

BoxCopy::BoxCopy(const Shape& extents, const Shape& from, const Shape& to,
                 std::int64_t element_bytes)
    : run_(element_bytes), total_(extents.count() * element_bytes) {
  for (int d = 0; d < extents.rank(); ++d) {
    if (extents[d] == 1) continue;
    if (!dims_.empty() && dims_.back().from == extents[d] * from[d] &&
        dims_.back().to == extents[d] * to[d]) {
      dims_.back() = {dims_.back().n * extents[d], from[d], to[d]};
      continue;
    }
    dims_.push_back({extents[d], from[d], to[d]});
  }
  if (!dims_.empty() && dims_.back().from == run_ && dims_.back().to == run_) {
    run_ *= dims_.back().n;
    dims_.pop_back();
  }
}

namespace {
template <class T>
void copy_line(const std::byte* from, std::byte* to, std::int64_t n, std::int64_t from_stride,
               std::int64_t to_stride) {
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(to + i * to_stride, from + i * from_stride, sizeof(T));
}
}  // namespace

void BoxCopy::run(const std::byte* from, std::byte* to) const {
  if (total_ == 0) return;
  if (dims_.empty()) {
    std::memcpy(to, from, static_cast<std::size_t>(run_));
    return;
  }
  const std::size_t outer = dims_.size() - 1;
  const Dim inner = dims_.back();
  InlineVector<std::int64_t, 8> at(outer, 0);
  for (;;) {
    if (run_ == 4)
      copy_line<std::uint32_t>(from, to, inner.n, inner.from, inner.to);
    else if (run_ == 8)
      copy_line<std::uint64_t>(from, to, inner.n, inner.from, inner.to);
    else if (run_ == 2)
      copy_line<std::uint16_t>(from, to, inner.n, inner.from, inner.to);
    else if (run_ == 1)
      copy_line<std::uint8_t>(from, to, inner.n, inner.from, inner.to);
    else
      for (std::int64_t i = 0; i < inner.n; ++i)
        std::memcpy(to + i * inner.to, from + i * inner.from, static_cast<std::size_t>(run_));
    std::size_t d = outer;
    for (;;) {
      if (d == 0) return;
      --d;
      from += dims_[d].from;
      to += dims_[d].to;
      if (++at[d] < dims_[d].n) break;
      from -= dims_[d].n * dims_[d].from;
      to -= dims_[d].n * dims_[d].to;
      at[d] = 0;
    }
  }
}

}  // namespace tessera::inline v0

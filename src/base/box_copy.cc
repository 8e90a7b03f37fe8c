#include "base/box_copy.h"

#include "base/past_caches.h"

#include <algorithm>
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

// Calls f(from, to, n, from_stride, to_stride) for runs of n lines along the innermost dimension,
// which start at these offsets.
template <class F>
void BoxCopy::segments(std::int64_t begin, std::int64_t end, F&& f) const {
  if (begin >= end) return;
  const Dim inner = dims_.empty() ? Dim{1, 0, 0} : dims_.back();
  const std::size_t outer = dims_.empty() ? 0 : dims_.size() - 1;
  InlineVector<std::int64_t, 8> at(outer, 0);
  std::int64_t from = 0, to = 0, i = begin % inner.n;
  std::int64_t row = begin / inner.n;
  for (std::size_t d = outer; d-- > 0; row /= dims_[d].n) {
    at[d] = row % dims_[d].n;
    from += at[d] * dims_[d].from;
    to += at[d] * dims_[d].to;
  }
  while (begin < end) {
    const std::int64_t n = std::min(inner.n - i, end - begin);
    f(from + i * inner.from, to + i * inner.to, n, inner.from, inner.to);
    begin += n;
    i = 0;
    for (std::size_t d = outer; d-- > 0;) {
      from += dims_[d].from;
      to += dims_[d].to;
      if (++at[d] < dims_[d].n) break;
      from -= dims_[d].n * dims_[d].from;
      to -= dims_[d].n * dims_[d].to;
      at[d] = 0;
    }
  }
}

namespace {

template <class T>
void copy_elements(const std::byte* from, std::byte* to, std::int64_t n, std::int64_t from_stride,
                   std::int64_t to_stride) {
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(to + i * to_stride, from + i * from_stride, sizeof(T));
}
void copy_lines(std::int64_t bytes, const std::byte* from, std::byte* to, std::int64_t n,
                std::int64_t from_stride, std::int64_t to_stride) {
  switch (bytes) {
    case 1: return copy_elements<std::uint8_t>(from, to, n, from_stride, to_stride);
    case 2: return copy_elements<std::uint16_t>(from, to, n, from_stride, to_stride);
    case 4: return copy_elements<std::uint32_t>(from, to, n, from_stride, to_stride);
    case 8: return copy_elements<std::uint64_t>(from, to, n, from_stride, to_stride);
    default:
      for (std::int64_t i = 0; i < n; ++i)
        std::memcpy(to + i * to_stride, from + i * from_stride, static_cast<std::size_t>(bytes));
  }
}

// Shorter lines are copied box by box, because switching between boxes would cost more than the
// copy.
constexpr std::int64_t kLongLine = 512;

}  // namespace

void BoxCopy::run(const std::byte* from, std::byte* to) const {
  segments(0, lines(),
           [&](std::int64_t f, std::int64_t t, std::int64_t n, std::int64_t from_stride,
               std::int64_t to_stride) {
             copy_lines(run_, from + f, to + t, n, from_stride, to_stride);
           });
}

void BoxCopy::run(std::span<const Way> ways, std::int64_t begin, std::int64_t end,
                  Stores stores) const {
  if (run_ < kLongLine) {
    for (const Way& way : ways)
      segments(begin, end,
               [&](std::int64_t from, std::int64_t to, std::int64_t n, std::int64_t from_stride,
                   std::int64_t to_stride) {
                 copy_lines(run_, way.from + from, way.to + to, n, from_stride, to_stride);
               });
    return;
  }
  const auto bytes = static_cast<std::size_t>(run_);
  segments(begin, end,
           [&](std::int64_t from, std::int64_t to, std::int64_t n, std::int64_t from_stride,
               std::int64_t to_stride) {
             for (std::int64_t i = 0; i < n; ++i, from += from_stride, to += to_stride)
               for (const Way& way : ways)
                 stores == Stores::past_caches
                     ? copy_past_caches(way.to + to, way.from + from, bytes)
                     : void(std::memcpy(way.to + to, way.from + from, bytes));
           });
  if (stores == Stores::past_caches) past_caches_done();
}

}  // namespace tessera::inline v0

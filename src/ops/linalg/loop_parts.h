// Parts of the bodies of loops over the columns of matrices, which are the last two dimensions.
#pragma once

#include "ops/build.h"

#include <algorithm>
#include <numeric>

namespace tessera::inline v0::ops {

/// int64 arrays of the shape of `like` that number its rows, or its columns.
inline Value row_numbers(Value like) {
  return iota(*like.builder, DType::int64, like.shape(), like.rank() - 2);
}
inline Value column_numbers(Value like) {
  return iota(*like.builder, DType::int64, like.shape(), like.rank() - 1);
}
/// Broadcasts a scalar.
inline Value spread(Value scalar, const Shape& shape) {
  return broadcast_in_dim(scalar, shape, {});
}
/// Broadcasts one number per matrix over the matrix's elements, or one number per vector over the
/// vector's.
inline Value over_matrix(Value v, const Shape& shape) {
  Ints dims(static_cast<std::size_t>(v.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  return broadcast_in_dim(v, shape, dims);
}
/// The elements [first, last) of the last dimension.
inline Value elements(Value v, std::int64_t first, std::int64_t last) {
  Ints start(static_cast<std::size_t>(v.rank()), 0), limit = v.shape().to_vector(),
                                                     strides(static_cast<std::size_t>(v.rank()), 1);
  start.back() = first, limit.back() = last;
  return slice(v, start, limit, strides);
}
/// Moves the last dimension to the front, where a scan takes its slices.
inline Value last_first(Value x) {
  Ints order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin() + 1, order.end(), 0);
  order[0] = x.rank() - 1;
  return transpose(x, order);
}
/// Moves the first dimension, along which a scan stacks its slices, to the end.
inline Value first_last(Value x) {
  Ints order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end() - 1, 1);
  order.back() = 0;
  return transpose(x, order);
}

}  // namespace tessera::inline v0::ops

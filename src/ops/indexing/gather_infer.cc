// Checks of gather's dimension numbers, in the order of StableHLO's specification, and batching.
#include "ops/indexing/gather_rules.h"
#include "ops/indexing/indexing.h"

#include <algorithm>

namespace tessera::inline v0::ops {

std::vector<Type> gather_infer(const InferArgs& a) {
  const Shape &x = a.inputs[0].shape, &indices = a.inputs[1].shape;
  GatherDims dims = gather_dims(a.attrs);
  const Ints& sizes = a.attrs.ints("slice_sizes");
  const std::string& mode = a.attrs.str("mode");
  check_index_dtype(a, a.inputs[1].dtype, "the indices");
  check_one_a_dim(a, "slice_sizes", sizes, x);
  check_vector_dim(a, dims.index_vector_dim);
  check_dims(a, "start_index_map", dims.start_index_map, x);
  check_dims(a, "collapsed_slice_dims", dims.collapsed_slice_dims, x);
  check_dims(a, "operand_batching_dims", dims.operand_batching_dims, x);
  check_dims(a, "start_indices_batching_dims", dims.start_indices_batching_dims, indices);
  check_sorted(a, "offset_dims", dims.offset_dims);
  check_sorted(a, "collapsed_slice_dims", dims.collapsed_slice_dims);
  check_sorted(a, "operand_batching_dims", dims.operand_batching_dims);
  if (mode != "clip" && mode != "fill" && mode != "zero")
    fail_index(a, "mode \"" + mode + "\"", "\"clip\", \"fill\" or \"zero\"", "use \"clip\"");
  check_index_vectors(a,
                      {dims.index_vector_dim, "start_index_map", dims.start_index_map,
                       dims.operand_batching_dims, "start_indices_batching_dims",
                       dims.start_indices_batching_dims, "a collapsed", dims.collapsed_slice_dims});
  for (std::size_t d = 0; d < x.size(); ++d) {
    bool one = contains(dims.collapsed_slice_dims, static_cast<std::int64_t>(d)) ||
               contains(dims.operand_batching_dims, static_cast<std::int64_t>(d));
    if (sizes[d] < 0 || sizes[d] > x[d] || (one && sizes[d] > 1))
      fail_index(
          a,
          "slice_sizes " + to_string(sizes) + " do not fit shape " + tessera::to_string(x) +
              " in dimension " + std::to_string(d),
          one ? "a collapsed or batching dimension has slice size 1" : "0 <= slice size <= extent",
          "make the slice smaller");
  }
  std::size_t window =
      sizes.size() - dims.collapsed_slice_dims.size() - dims.operand_batching_dims.size();
  if (dims.offset_dims.size() != window)
    fail_index(a,
               "offset_dims " + to_string(dims.offset_dims) + " has " +
                   std::to_string(dims.offset_dims.size()) + " dimensions",
               "one for each operand dimension that is not collapsed or batching: " +
                   std::to_string(sizes.size()) + " - " +
                   std::to_string(dims.collapsed_slice_dims.size()) + " - " +
                   std::to_string(dims.operand_batching_dims.size()) + " = " +
                   std::to_string(window),
               "collapse the dimensions that the result shall lack");
  Shape out;
  out.resize(indices.size() - (dims.index_vector_dim < indices.rank()) + window);
  check_dims(a, "offset_dims", dims.offset_dims, out);
  WindowDimsOf w = window_dims_of(dims, out.rank(), x.rank(), indices.rank());
  for (std::size_t k = 0; k < w.window.size(); ++k)
    out[static_cast<std::size_t>(w.window[k])] =
        sizes[static_cast<std::size_t>(w.operand_window[k])];
  for (std::size_t k = 0; k < w.batch.size(); ++k)
    out[static_cast<std::size_t>(w.batch[k])] =
        indices[static_cast<std::size_t>(w.indices_batch[k])];
  // No element can be taken from an empty dimension, which is an error only if the result has
  // elements.
  for (std::size_t d = 0; d < x.size() && out.count() > 0; ++d)
    if (sizes[d] == 0)
      fail_index(a,
                 "slice_sizes " + to_string(sizes) + " take no element along dimension " +
                     std::to_string(d) + ", and the result has shape " + tessera::to_string(out),
                 "a collapsed or batching dimension has slice size 1",
                 x[d] == 0 ? "take from an axis that has elements" : "make the slice size 1");
  return {with_shape(a.inputs[0], out)};
}

/// If only the operand is stacked, its stacked dimension becomes a window dimension. If only the
/// indices are stacked, theirs becomes the result's first dimension. If both are, the two become
/// batching dimensions.
BatchResult gather_batch(const BatchArgs& a) {
  GatherDims dims = gather_dims(a.attrs);
  Ints sizes = a.attrs.ints("slice_sizes");
  const std::string& mode = a.attrs.str("mode");
  int x_dim = a.dims[0];
  auto operand_shifted = [&] {
    dims.collapsed_slice_dims = shifted_dims(dims.collapsed_slice_dims, x_dim);
    dims.operand_batching_dims = shifted_dims(dims.operand_batching_dims, x_dim);
    dims.start_index_map = shifted_dims(dims.start_index_map, x_dim);
  };
  if (a.dims[1] == kUnbatched) {
    operand_shifted();
    std::size_t before = 0;  // window dimensions before the stacked one
    for (int d = 0; d < x_dim; ++d)
      before += !contains(dims.collapsed_slice_dims, d) && !contains(dims.operand_batching_dims, d);
    int rank = a.inputs[1].rank() - (dims.index_vector_dim < a.inputs[1].rank()) +
               static_cast<int>(dims.offset_dims.size());
    int at = before < dims.offset_dims.size() ? static_cast<int>(dims.offset_dims[before]) : rank;
    dims.offset_dims = shifted_dims(dims.offset_dims, at);
    dims.offset_dims.insert(dims.offset_dims.begin() + static_cast<std::ptrdiff_t>(before), at);
    return {{gather(a.inputs[0], a.inputs[1], dims, inserted(sizes, x_dim, a.size), mode)}, {at}};
  }
  Value indices = move_dim(a.inputs[1], a.dims[1], 0);
  for (std::int64_t& d : dims.offset_dims) ++d;
  for (std::int64_t& d : dims.start_indices_batching_dims) ++d;
  ++dims.index_vector_dim;
  if (x_dim == kUnbatched) return {{gather(a.inputs[0], indices, dims, sizes, mode)}, {0}};
  operand_shifted();
  auto at = std::lower_bound(dims.operand_batching_dims.begin(), dims.operand_batching_dims.end(),
                             x_dim) -
            dims.operand_batching_dims.begin();
  dims.operand_batching_dims.insert(dims.operand_batching_dims.begin() + at, x_dim);
  dims.start_indices_batching_dims.insert(dims.start_indices_batching_dims.begin() + at, 0);
  return {{gather(a.inputs[0], indices, dims, inserted(sizes, x_dim, 1), mode)}, {0}};
}

std::vector<OpExample> gather_examples() {
  auto example = [](Type x, Type indices, const GatherDims& d, Ints sizes, const char* mode,
                    std::int64_t hi) {
    OpExample e{{std::move(x), std::move(indices)},
                {{"offset_dims", d.offset_dims},
                 {"collapsed_slice_dims", d.collapsed_slice_dims},
                 {"operand_batching_dims", d.operand_batching_dims},
                 {"start_indices_batching_dims", d.start_indices_batching_dims},
                 {"start_index_map", d.start_index_map},
                 {"index_vector_dim", d.index_vector_dim},
                 {"slice_sizes", std::move(sizes)},
                 {"mode", std::string(mode)}}};
    e.int_lo = -1;
    e.int_hi = hi;
    return e;
  };
  Type i2(DType::int32, {3, 1});
  return {example(Type(DType::float32, {4, 3}), i2, {{1}, {0}, {}, {}, {0}, 1}, {1, 3}, "clip", 4),
          example(Type(DType::float64, {4, 3}), i2, {{1}, {0}, {}, {}, {0}, 1}, {1, 2}, "zero", 4),
          example(Type(DType::float32, {5, 4}), Type(DType::int64, {2, 3, 2}),
                  {{0, 2}, {}, {}, {}, {1, 0}, 2}, {2, 3}, "clip", 4),
          example(Type(DType::float32, {3, 4}), Type(DType::int32, {3, 2, 1}),
                  {{}, {1}, {0}, {0}, {1}, 2}, {1, 1}, "clip", 4),
          example(Type(DType::int32, {4}), Type(DType::int8, {5}), {{}, {0}, {}, {}, {0}, 1}, {1},
                  "fill", 4),
          example(Type(DType::boolean, {4}), Type(DType::uint8, {5}), {{}, {0}, {}, {}, {0}, 1},
                  {1}, "fill", 5)};
}

}  // namespace tessera::inline v0::ops

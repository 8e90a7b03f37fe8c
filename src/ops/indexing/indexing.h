// Shared by ops whose indices are data: dynamic slices, gather and scatter.
#pragma once

#include "ops/movement/movement.h"

namespace tessera::inline v0::ops {

/// Element `flat` of an integer array, saturated to int64.
std::int64_t read_index(const HostArray& a, std::int64_t flat);

/// The dimensions of the window of a gather or scatter, and the operand dimensions that they
/// correspond to. "Window" dimensions are gather's offset dimensions and scatter's update window
/// dimensions. "Batch" dimensions are the others of gather's result and scatter's updates: the
/// dimensions of the indices, in order, without the index vector dimension.
struct WindowDimsOf {
  Ints window;               // dimensions of the result (updates) that span a slice
  Ints operand_window;       // the operand dimension of each
  Ints batch;                // the other dimensions of the result (updates)
  Ints indices_batch;        // the dimension of the indices for each
  Ints operand_batching;     // operand dimensions paired with dimensions of the indices
  Ints operand_batching_at;  // for each, the position in `batch`
  Ints index_map;            // operand dimension for each component of the index vector
  int vector_dim = 0;        // of the indices; their rank if the vector is implied

  /// The position of component `k` of the index vector in the indices, for position `at` of the
  /// result (updates).
  template <class I, class Make>
  std::vector<I> index_position(std::span<const I> at, std::size_t k, int indices_rank,
                                Make&& make) const {
    std::vector<I> out(static_cast<std::size_t>(indices_rank), make(0));
    for (std::size_t b = 0; b < batch.size(); ++b)
      out[static_cast<std::size_t>(indices_batch[b])] = at[static_cast<std::size_t>(batch[b])];
    if (vector_dim < indices_rank)
      out[static_cast<std::size_t>(vector_dim)] = make(static_cast<std::int64_t>(k));
    return out;
  }
};
WindowDimsOf window_dims_of(const GatherDims& dims, int result_rank, int operand_rank,
                            int indices_rank);
WindowDimsOf window_dims_of(const ScatterDims& dims, int updates_rank, int operand_rank,
                            int indices_rank);

/// The elements of the operand that evaluators of gather and scatter read or write.
class WindowElements {
 public:
  /// `window`: the extents of a window in each dimension of the operand. `indices` must outlive
  /// this object.
  WindowElements(WindowDimsOf dims, const HostArray& indices, const Shape& operand, Shape window);

  struct Element {
    Shape at;
    bool inside = true;  // whether the window lies inside without being moved there
  };
  /// The element for a position of the result (updates), in a window that is moved inside.
  Element of(const Shape& at) const;

 private:
  WindowDimsOf dims_;
  const HostArray& indices_;
  Shape index_strides_, operand_, window_;
};

/// Whether the start `number` is in [0, last], as a boolean lane.
Lane start_in_bounds(Emitter& e, Lane number, std::int64_t last);

GatherDims gather_dims(const Attrs& attrs);
ScatterDims scatter_dims(const Attrs& attrs);
/// The scatter that writes where the gather reads, and vice versa.
ScatterDims as_scatter(const GatherDims& dims);
GatherDims as_gather(const ScatterDims& dims);

/// Throws unless the start operands of a dynamic slice are one integer scalar per dimension, all of
/// one dtype.
void check_starts(const InferArgs& a, std::size_t first, const Shape& operand);
/// Throws unless the dtype is an integer dtype.
void check_index_dtype(const InferArgs& a, DType dtype, const char* what);

[[noreturn]] void fail_index(const InferArgs& a, std::string problem, std::string rule,
                             std::string advice);
/// Throws unless `dims` is ascending.
void check_sorted(const InferArgs& a, const char* attr, const Ints& dims);

/// Throws unless `dim` is a dimension of the indices or their rank.
void check_vector_dim(const InferArgs& a, std::int64_t dim);

/// The index dimensions of a gather or scatter and the names of their attributes.
struct IndexDims {
  std::int64_t vector_dim;
  const char* map_name;
  const Ints& map;  // the operand dimension for each component
  const Ints& operand_batching;
  const char* indices_batching_name;
  const Ints& indices_batching;
  const char* alone_name;  // "a collapsed", "an inserted"
  const Ints& alone;       // operand dimensions that the window lacks
};
/// Throws unless the index vectors have as many components as the map, and the batching dimensions
/// of operand and indices match.
void check_index_vectors(const InferArgs& a, const IndexDims& dims);

/// The routine of a dynamic_update_slice that overwrites its operand; dynamic_update_slice_call.cc.
std::shared_ptr<const Routine> update_call(const CallArgs& a);

/// The flat position in operand 0 at which the box of a dynamic slice begins. Its starts are the
/// operands from `first` on, moved so that the box lies inside.
std::int64_t box_origin(const EvalArgs& a, std::size_t first, const Shape& box);
/// The starts for an operand that is stacked along `dim` and taken whole there.
Values starts_of_stacked(Builder& b, std::span<const Value> starts, int dim);
/// Examples of dynamic slices: `make` gives the operands before the starts, and the attributes.
std::vector<OpExample> box_examples(OpExample (*make)(DType dtype, const Shape& shape,
                                                      const Shape& box));

/// Stacks scalars into an index vector: [size, n] if any is batched, else [n].
Value stack_starts(std::span<const Value> starts, std::span<const int> dims, std::int64_t size);

}  // namespace tessera::inline v0::ops

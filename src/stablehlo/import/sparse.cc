// Products of sparse matrices, as JAX writes them for CPUs.
#include "stablehlo/import/rules.h"

namespace tessera::inline v0::stablehlo::rules {

namespace {

// The row of each stored element, given where the rows start: how many rows start at or before it,
// less one. Elements before the first row have -1, and those after the last row have the number of
// rows.
Value rows_of_stored(Value starts, std::int64_t stored) {
  Builder& b = *starts.builder;
  const DType dtype = starts.dtype();
  ops::ScatterDims each;
  each.inserted_window_dims = each.scatter_dims_to_operand_dims = {0};
  each.index_vector_dim = 1;
  const Value begun = ops::scatter("scatter_add", ops::zeros(b, Type(dtype, Shape{stored})), starts,
                                   ops::full_like(starts, 1), each);
  const Value count = ops::cumsum(begun, 0);
  return ops::sub(count, ops::full_like(count, 1));
}

}  // namespace

// A matrix in compressed rows times a dense matrix or vector: the operands are the stored elements,
// where the rows start (and the last one ends), the columns of the elements, and the dense operand.
Values csr_times_dense(Reading& r) {
  r.need_operands(4);
  const Value data = r.in[0], starts = r.in[1], columns = r.in[2], dense = r.in[3];
  const Type result = r.result();
  const auto is_list = [](Value v) { return v.rank() == 1 && is_integer(v.dtype()); };
  const bool fits = data.rank() == 1 && is_list(starts) && is_list(columns) &&
                    columns.shape() == data.shape() && starts.dtype() == columns.dtype() &&
                    (dense.rank() == 1 || dense.rank() == 2) && dense.dtype() == data.dtype() &&
                    result.dtype == data.dtype() && result.shape.rank() == dense.rank() &&
                    result.shape[0] + 1 == starts.shape()[0] &&
                    (dense.rank() == 1 || result.shape[1] == dense.shape()[1]);
  if (!fits)
    r.refuse("it takes " + to_string(data.type()) + ", " + to_string(starts.type()) + ", " +
                 to_string(columns.type()) + " and " + to_string(dense.type()),
             "it takes a list of elements, where rows start, the elements' columns, and a dense "
             "matrix or vector");
  if (data.shape()[0] == 0 || result.shape.count() == 0 || dense.shape()[0] == 0)
    return {ops::zeros(r.b, result)};
  ops::GatherDims rows;
  rows.collapsed_slice_dims = rows.start_index_map = {0};
  rows.index_vector_dim = 1;
  ops::ScatterDims sums;
  sums.inserted_window_dims = sums.scatter_dims_to_operand_dims = {0};
  sums.index_vector_dim = 1;
  Ints window{1};
  if (dense.rank() == 2) {
    rows.offset_dims = sums.update_window_dims = {1};
    window.push_back(dense.shape()[1]);
  }
  const Value taken = ops::gather(dense, columns, rows, window);
  const Value terms = ops::mul(ops::broadcast_in_dim(data, taken.shape(), {0}), taken);
  return {ops::scatter("scatter_add", ops::zeros(r.b, result),
                       rows_of_stored(starts, data.shape()[0]), terms, sums)};
}

}  // namespace tessera::inline v0::stablehlo::rules

// Gathers and scatters.
#include "ops/indexing/indexing.h"
#include "stablehlo/emit/combining.h"
#include "stablehlo/emit/rules.h"

#include <numeric>

namespace tessera::inline v0::stablehlo::write {

namespace {

// "a = [0], b = [1]"; empty lists are left out.
std::string fields(std::initializer_list<std::pair<const char*, const Ints*>> lists,
                   std::int64_t vector_dim) {
  std::string s;
  for (const auto& [name, list] : lists)
    if (!list->empty()) s += std::string(name) + " = " + list_text(*list) + ", ";
  return s + "index_vector_dim = " + std::to_string(vector_dim);
}

std::string scatter_attributes(const ops::ScatterDims& d, bool unique) {
  return "indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<" +
         fields({{"update_window_dims", &d.update_window_dims},
                 {"inserted_window_dims", &d.inserted_window_dims},
                 {"input_batching_dims", &d.operand_batching_dims},
                 {"scatter_indices_batching_dims", &d.scatter_indices_batching_dims},
                 {"scatter_dims_to_operand_dims", &d.scatter_dims_to_operand_dims}},
                d.index_vector_dim) +
         ">, unique_indices = " + (unique ? "true" : "false");
}

}  // namespace

Names gather(Writing& w) {
  const ops::GatherDims d = ops::gather_dims(w.attrs);
  return w.block.generic(
      "stablehlo.gather", w.in,
      "dimension_numbers = #stablehlo.gather<" +
          fields({{"offset_dims", &d.offset_dims},
                  {"collapsed_slice_dims", &d.collapsed_slice_dims},
                  {"operand_batching_dims", &d.operand_batching_dims},
                  {"start_indices_batching_dims", &d.start_indices_batching_dims},
                  {"start_index_map", &d.start_index_map}},
                 d.index_vector_dim) +
          ">, indices_are_sorted = false, slice_sizes = " + array_text(w.attrs.ints("slice_sizes")),
      w.in_types, w.out_types);
}

Names scatter(Writing& w) {
  return w.block.generic("stablehlo.scatter", w.in,
                         scatter_attributes(ops::scatter_dims(w.attrs), w.attrs.flag("unique")),
                         w.in_types, w.out_types,
                         {combining_region(w.op.combiner, w.type().dtype)});
}

// The leading dimensions are batching dimensions; each position addresses one element of a row.
Names combine_at(Writing& w) {
  const std::size_t n = w.out_types.size();
  const std::int64_t rank = w.type().shape.rank();
  ops::ScatterDims d;
  d.operand_batching_dims.resize(static_cast<std::size_t>(rank) - 1);
  std::iota(d.operand_batching_dims.begin(), d.operand_batching_dims.end(), 0);
  d.scatter_indices_batching_dims = d.operand_batching_dims;
  d.inserted_window_dims = d.scatter_dims_to_operand_dims = {rank - 1};
  d.index_vector_dim = w.in_types[n].shape.rank();
  return w.block.generic("stablehlo.scatter", w.in, scatter_attributes(d, false), w.in_types,
                         w.out_types, {Block::region(w.attrs.program("body"))});
}

}  // namespace tessera::inline v0::stablehlo::write

// Gathers and scatters.
#include "ops/indexing/combine_at.h"
#include "stablehlo/import/rules.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::rules {

namespace {

std::int64_t vector_dim_of(Reading& r, const AttributeSyntax& fields) {
  const Ints d = r.field(fields, "index_vector_dim");
  return d.empty() ? 0 : d[0];
}
void check_vector_dim(Reading& r, std::int64_t d, int indices) {
  if (d < 0 || d > indices)
    r.refuse("index_vector_dim is " + std::to_string(d) + ", and the indices have " +
             std::to_string(indices) + " dimensions");
}

ops::ScatterDims scatter_dims(Reading& r) {
  const AttributeSyntax& a = r.need("scatter_dimension_numbers");
  ops::ScatterDims d;
  d.update_window_dims = r.field(a, "update_window_dims");
  d.inserted_window_dims = r.field(a, "inserted_window_dims");
  d.operand_batching_dims = r.field(a, "input_batching_dims");
  d.scatter_indices_batching_dims = r.field(a, "scatter_indices_batching_dims");
  d.scatter_dims_to_operand_dims = r.field(a, "scatter_dims_to_operand_dims");
  d.index_vector_dim = vector_dim_of(r, a);
  const int rank = r.in[0].rank(), indices = r.in[r.in.size() / 2].rank();
  check_vector_dim(r, d.index_vector_dim, indices);
  r.check_dims(d.update_window_dims, r.in.back().rank(), "update_window_dims");
  r.check_dims(d.inserted_window_dims, rank, "inserted_window_dims");
  r.check_dims(d.operand_batching_dims, rank, "input_batching_dims");
  r.check_dims(d.scatter_dims_to_operand_dims, rank, "scatter_dims_to_operand_dims");
  r.check_dims(d.scatter_indices_batching_dims, indices, "scatter_indices_batching_dims");
  return d;
}

// Our scatter that combines the old element and the update like the region; null if there is none.
const char* scatter_of(const RegionSyntax& region, DType dtype) {
  struct Row {
    const char *region, *ours, *of_booleans;
  };
  static constexpr Row kRows[] = {{"stablehlo.add", "scatter_add", "scatter_max"},
                                  {"stablehlo.multiply", "scatter_mul", "scatter_min"},
                                  {"stablehlo.minimum", "scatter_min", "scatter_min"},
                                  {"stablehlo.maximum", "scatter_max", "scatter_max"},
                                  {"stablehlo.and", nullptr, "scatter_min"},
                                  {"stablehlo.or", nullptr, "scatter_max"}};
  if (gives_argument(region, 1)) return "scatter";
  for (const Row& row : kRows)
    if (applied(region) == row.region) return dtype == DType::boolean ? row.of_booleans : row.ours;
  return nullptr;
}

}  // namespace

Values gather(Reading& r) {
  if (r.in.size() < 2) r.refuse("it takes an operand and indices");
  const AttributeSyntax& a = r.need("dimension_numbers");
  ops::GatherDims d;
  d.offset_dims = r.field(a, "offset_dims");
  d.collapsed_slice_dims = r.field(a, "collapsed_slice_dims");
  d.operand_batching_dims = r.field(a, "operand_batching_dims");
  d.start_indices_batching_dims = r.field(a, "start_indices_batching_dims");
  d.start_index_map = r.field(a, "start_index_map");
  d.index_vector_dim = vector_dim_of(r, a);
  const int rank = r.in[0].rank(), indices = r.in[1].rank();
  check_vector_dim(r, d.index_vector_dim, indices);
  if (r.op.result_types.empty()) r.refuse("the type of result 0 is not declared");
  r.check_dims(d.offset_dims, r.importer.declared(r.op.result_types[0]).shape.rank(),
               "offset_dims");
  r.check_dims(d.collapsed_slice_dims, rank, "collapsed_slice_dims");
  r.check_dims(d.operand_batching_dims, rank, "operand_batching_dims");
  r.check_dims(d.start_index_map, rank, "start_index_map");
  r.check_dims(d.start_indices_batching_dims, indices, "start_indices_batching_dims");
  Ints sizes;
  if (r.in.size() == 3) {  // dynamic_gather
    sizes = r.settled(2);
  } else {
    sizes = r.ints("slice_sizes");
  }
  if (sizes.size() != static_cast<std::size_t>(rank))
    r.refuse("it has " + std::to_string(sizes.size()) + " slice sizes for an operand of " +
             std::to_string(rank) + " dimensions");
  return {ops::gather(r.in[0], r.in[1], d, sizes)};
}

Values scatter(Reading& r) {
  r.need_regions(1);
  const std::size_t n = r.in.size() / 2;
  const RegionSyntax& region = r.op.regions[0];
  if (n == 0 || r.in.size() != 2 * n + 1 || region.arguments.size() != 2 * n)
    r.refuse(
        "it takes inputs, indices, as many updates, and a region with two arguments for each "
        "input");
  const ops::ScatterDims d = scatter_dims(r);
  const bool unique = r.flag_or("unique_indices", false);
  const bool plain = r.importer.type(region.arguments[0].type).dtype == r.in[0].dtype();
  if (const char* ours = n == 1 && plain ? scatter_of(region, r.in[0].dtype()) : nullptr)
    return {ops::scatter(ours, r.in[0], r.in[1], r.in[2], d, "drop", unique)};
  for (std::size_t i = 0; i < n; ++i)
    if (r.in[i].shape() != r.in[0].shape() || r.in[n + 1 + i].shape() != r.in[n + 1].shape())
      r.refuse("its inputs, or its updates, have different shapes");
  const ProgramPtr p = r.importer.closed_region(r, region);
  bool fits = p->outputs.size() == n;
  for (std::size_t i = 0; fits && i < n; ++i)
    fits = p->output_types()[i] == Type(r.in[i].dtype(), {}) &&
           p->input_types()[i] == Type(r.in[i].dtype(), {}) &&
           p->input_types()[n + i] == Type(r.in[n + 1 + i].dtype(), {});
  if (!fits) r.refuse("its region does not take and give scalars of its inputs' dtypes");
  const std::span<const Value> in(r.in);
  return ops::scatter_by(in.first(n), r.in[n], in.subspan(n + 1), d, p);
}

}  // namespace tessera::inline v0::stablehlo::rules

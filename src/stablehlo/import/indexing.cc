// Gathers and scatters.
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

// Our scatter for what a region does with the old element and the update; null where there is none.
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

// A scatter by any region: one window after the other, in a loop.
class WindowLoop {
 public:
  WindowLoop(Reading& r, const ops::ScatterDims& d, std::size_t n)
      : r_(r),
        d_(d),
        n_(n),
        operand_(r.in[0].shape()),
        indices_(r.in[n].shape()),
        updates_(r.in[n + 1].shape()) {
    // What our own scatter asks of the dimensions holds for this one too.
    if (n == 1)
      ops::scatter("scatter", r.in[0], r.in[1], r.in[2], d);
    else
      check();
    for (int i = 0; i < updates_.rank(); ++i)
      (contains(d.update_window_dims, i) ? window_ : batch_).push_back(i);
    std::size_t next = 0;
    for (int i = 0; i < operand_.rank(); ++i) {
      const bool alone =
          contains(d.inserted_window_dims, i) || contains(d.operand_batching_dims, i);
      box_.push_back(alone ? 1 : updates_[static_cast<std::size_t>(window_[next++])]);
    }
    for (std::int64_t i : batch_) count_ *= updates_[static_cast<std::size_t>(i)];
  }

  Values run(const ProgramPtr& region) {
    Values xs{starts()};
    Ints order = batch_;
    order.insert(order.end(), window_.begin(), window_.end());
    Shape rows{count_};
    for (std::int64_t e : box_) rows.push_back(e);
    for (std::size_t i = 0; i < n_; ++i)
      xs.push_back(ops::reshape(ops::transpose(r_.in[n_ + 1 + i], order), rows));
    const Values carry(r_.in.begin(), r_.in.begin() + static_cast<std::ptrdiff_t>(n_));
    return ops::scan(body(region, carry, xs), {}, carry, xs, count_, false, r_.b);
  }

 private:
  static bool contains(const Ints& v, std::int64_t x) {
    return std::find(v.begin(), v.end(), x) != v.end();
  }

  void check() const {
    for (std::size_t i = 0; i < n_; ++i)
      ops::scatter("scatter", r_.in[i], r_.in[n_], r_.in[n_ + 1 + i], d_);
  }

  // (windows, operand dimensions): where each window begins.
  Value starts() const {
    Shape batch;
    for (std::int64_t i : batch_) batch.push_back(updates_[static_cast<std::size_t>(i)]);
    const int vector_dim = static_cast<int>(d_.index_vector_dim);
    Value indices = ops::convert(r_.in[n_], DType::int64);
    if (vector_dim == indices_.rank()) {
      Shape one = indices_;
      one.push_back(1);
      indices = ops::reshape(indices, one);
    }
    Ints order;
    for (int i = 0; i < indices.rank(); ++i)
      if (i != vector_dim) order.push_back(i);
    order.push_back(vector_dim);
    indices = ops::transpose(indices, order);
    const auto components = static_cast<std::int64_t>(d_.scatter_dims_to_operand_dims.size());
    indices = ops::reshape(indices, Shape{count_, components});
    Values columns;
    for (int i = 0; i < operand_.rank(); ++i) columns.push_back(column(i, indices, batch));
    return columns.empty() ? ops::zeros(r_.b, Type(DType::int64, Shape{count_, 0}))
                           : ops::concatenate(columns, 1);
  }

  Value column(int dim, Value indices, const Shape& batch) const {
    const Shape one{count_, 1};
    const auto position = [&](const Ints& v) {
      return std::find(v.begin(), v.end(), dim) - v.begin();
    };
    const auto k = position(d_.scatter_dims_to_operand_dims);
    if (k < static_cast<std::ptrdiff_t>(d_.scatter_dims_to_operand_dims.size()))
      return ops::slice(indices, {0, k}, {count_, k + 1}, {1, 1});
    const auto together = position(d_.operand_batching_dims);
    if (together == static_cast<std::ptrdiff_t>(d_.operand_batching_dims.size()))
      return ops::zeros(r_.b, Type(DType::int64, one));
    std::int64_t along = d_.scatter_indices_batching_dims[static_cast<std::size_t>(together)];
    if (along > d_.index_vector_dim) --along;
    return ops::reshape(ops::iota(r_.b, DType::int64, batch, static_cast<int>(along)), one);
  }

  // (operands, start, updates) -> operands. A window that does not lie inside changes nothing.
  ProgramPtr body(const ProgramPtr& region, const Values& carry, const Values& xs) const {
    Builder b;
    Values operands, starts, old, fresh;
    for (const Value& v : carry) operands.push_back(b.input(Type(v.dtype(), v.shape())));
    const auto row = [&](Value x) {
      return b.input(Type(x.dtype(), Shape(x.shape().begin() + 1, x.shape().end())));
    };
    const Value start = row(xs[0]);
    Value inside = ops::constant(b, scalar_literal(DType::boolean, std::int64_t{1}));
    for (int i = 0; i < operand_.rank(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      starts.push_back(ops::reshape(ops::slice(start, {i}, {i + 1}, {1}), Shape{}));
      const Value last = ops::constant(b, scalar_literal(DType::int64, operand_[k] - box_[k]));
      const Value zero = ops::constant(b, scalar_literal(DType::int64, std::int64_t{0}));
      inside =
          ops::and_(inside, ops::and_(ops::ge(starts.back(), zero), ops::le(starts.back(), last)));
    }
    for (const Value& x : operands) old.push_back(ops::dynamic_slice(x, starts, box_));
    fresh = old;
    for (std::size_t i = 1; i < xs.size(); ++i) fresh.push_back(row(xs[i]));
    fresh = elementwise(b, *region, fresh, Shape(box_));
    const Value where = ops::broadcast_in_dim(inside, Shape(box_), {});
    for (std::size_t i = 0; i < operands.size(); ++i)
      fresh[i] =
          ops::dynamic_update_slice(operands[i], ops::select(where, fresh[i], old[i]), starts);
    return b.finish(fresh);
  }

  Reading& r_;
  const ops::ScatterDims& d_;
  std::size_t n_;
  Shape operand_, indices_, updates_;
  Ints window_, batch_, box_;
  std::int64_t count_ = 1;
};

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
  r.check_dims(d.offset_dims, r.result().shape.rank(), "offset_dims");
  r.check_dims(d.collapsed_slice_dims, rank, "collapsed_slice_dims");
  r.check_dims(d.operand_batching_dims, rank, "operand_batching_dims");
  r.check_dims(d.start_index_map, rank, "start_index_map");
  r.check_dims(d.start_indices_batching_dims, indices, "start_indices_batching_dims");
  Ints sizes;
  if (r.in.size() == 3) {  // dynamic_gather
    const std::optional<Ints> known = r.known_integers(r.in[2]);
    if (!known)
      r.refuse("its slice sizes are not known before the program runs", "shapes are static");
    sizes = *known;
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
  return WindowLoop(r, d, n).run(p);
}

}  // namespace tessera::inline v0::stablehlo::rules

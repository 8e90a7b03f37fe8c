#include "ops/indexing/indexing.h"

#include <algorithm>
#include <limits>

namespace tessera::inline v0::ops {

std::int64_t read_index(const HostArray& a, std::int64_t flat) {
  return dispatch(a.dtype, [&](auto tag) -> std::int64_t {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      return static_cast<std::int64_t>(std::min(a.data<T>()[flat], kMax));
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<std::int64_t>(a.data<T>()[flat]);
    } else {
      throw InternalError("an index of a dtype that is no integer");
    }
  });
}

namespace {
WindowDimsOf make_window_dims(const Ints& window, const Ints& collapsed,
                              const Ints& operand_batching, const Ints& indices_batching,
                              const Ints& index_map, std::int64_t vector_dim, int result_rank,
                              int operand_rank, int indices_rank) {
  WindowDimsOf w;
  w.window = window;
  w.operand_batching = operand_batching;
  w.index_map = index_map;
  w.vector_dim = static_cast<int>(vector_dim);
  for (int d = 0; d < operand_rank; ++d)
    if (!contains(collapsed, d) && !contains(operand_batching, d)) w.operand_window.push_back(d);
  for (int d = 0; d < result_rank; ++d)
    if (!contains(window, d)) w.batch.push_back(d);
  for (int d = 0; d < indices_rank; ++d)
    if (d != w.vector_dim) w.indices_batch.push_back(d);
  for (std::int64_t d : indices_batching) w.operand_batching_at.push_back(d - (d > vector_dim));
  return w;
}
}  // namespace

WindowDimsOf window_dims_of(const GatherDims& d, int result_rank, int operand_rank,
                            int indices_rank) {
  return make_window_dims(d.offset_dims, d.collapsed_slice_dims, d.operand_batching_dims,
                          d.start_indices_batching_dims, d.start_index_map, d.index_vector_dim,
                          result_rank, operand_rank, indices_rank);
}
WindowDimsOf window_dims_of(const ScatterDims& d, int updates_rank, int operand_rank,
                            int indices_rank) {
  return make_window_dims(d.update_window_dims, d.inserted_window_dims, d.operand_batching_dims,
                          d.scatter_indices_batching_dims, d.scatter_dims_to_operand_dims,
                          d.index_vector_dim, updates_rank, operand_rank, indices_rank);
}

GatherDims gather_dims(const Attrs& a) {
  return {a.ints("offset_dims"),           a.ints("collapsed_slice_dims"),
          a.ints("operand_batching_dims"), a.ints("start_indices_batching_dims"),
          a.ints("start_index_map"),       a.i("index_vector_dim")};
}
ScatterDims scatter_dims(const Attrs& a) {
  return {a.ints("update_window_dims"),           a.ints("inserted_window_dims"),
          a.ints("operand_batching_dims"),        a.ints("scatter_indices_batching_dims"),
          a.ints("scatter_dims_to_operand_dims"), a.i("index_vector_dim")};
}
ScatterDims as_scatter(const GatherDims& d) {
  return {d.offset_dims,           d.collapsed_slice_dims,
          d.operand_batching_dims, d.start_indices_batching_dims,
          d.start_index_map,       d.index_vector_dim};
}
GatherDims as_gather(const ScatterDims& d) {
  return {d.update_window_dims,           d.inserted_window_dims,
          d.operand_batching_dims,        d.scatter_indices_batching_dims,
          d.scatter_dims_to_operand_dims, d.index_vector_dim};
}

void check_index_dtype(const InferArgs& a, DType dtype, const char* what) {
  if (is_integer(dtype)) return;
  Message(a.op.name)
      .problem(std::string(what) + " are " + std::string(name_of(dtype)))
      .rule("indices are integers")
      .from(a.loc)
      .advice(dtype == DType::boolean ? "turn the mask into a select, or into indices"
                                      : "convert them to int32")
      .raise<DTypeError>();
}

void check_starts(const InferArgs& a, std::size_t first, const Shape& operand) {
  std::size_t found = a.inputs.size() - std::min(first, a.inputs.size());
  Message message(a.op.name);
  bool bad = false;
  for (std::size_t i = first; i < a.inputs.size(); ++i)
    if (!a.inputs[i].shape.empty() || a.inputs[i].dtype != a.inputs[first].dtype) {
      bad = true;
      message.offender("start " + std::to_string(i - first) + ": " +
                       tessera::to_string(a.inputs[i]));
    }
  if (found != operand.size() || bad)
    message
        .problem(found != operand.size()
                     ? std::to_string(found) + " starts for an operand of shape " +
                           tessera::to_string(operand)
                     : "the starts are no integer scalars of one dtype")
        .rule("one scalar a dimension, here " + std::to_string(operand.rank()) +
              ", all of one integer dtype")
        .from(a.loc)
        .advice("pass a scalar for every dimension")
        .raise<ShapeError>();
  if (found > 0) check_index_dtype(a, a.inputs[first].dtype, "the starts");
}

Value stack_starts(std::span<const Value> starts, std::span<const int> dims, std::int64_t size) {
  bool any = std::any_of(dims.begin(), dims.end(), [](int d) { return d != kUnbatched; });
  Values parts;
  for (std::size_t i = 0; i < starts.size(); ++i)
    parts.push_back(any ? reshape(stacked_at(starts[i], dims[i], 0, size), {size, 1})
                        : reshape(starts[i], {1}));
  return concatenate(parts, any ? 1 : 0);
}

void fail_index(const InferArgs& a, std::string problem, std::string rule, std::string advice) {
  Message(a.op.name)
      .problem(std::move(problem))
      .rule(std::move(rule))
      .from(a.loc)
      .advice(std::move(advice))
      .raise<ShapeError>();
}

void check_sorted(const InferArgs& a, const char* attr, const Ints& dims) {
  if (!std::is_sorted(dims.begin(), dims.end()))
    fail_index(a, std::string(attr) + " " + to_string(dims) + " is not ascending",
               "dimensions ascend", "sort it");
}

void check_vector_dim(const InferArgs& a, std::int64_t dim) {
  const Shape& indices = a.inputs[1].shape;
  if (dim < 0 || dim > indices.rank())
    fail_index(a,
               "index_vector_dim " + std::to_string(dim) + " for indices of shape " +
                   tessera::to_string(indices),
               "it lies in [0, " + std::to_string(indices.rank()) +
                   "], the last meaning a vector of one component",
               "use the indices' last dimension");
}

void check_index_vectors(const InferArgs& a, const IndexDims& d) {
  const Shape &x = a.inputs[0].shape, &indices = a.inputs[1].shape;
  std::int64_t components =
      d.vector_dim == indices.rank() ? 1 : indices[static_cast<std::size_t>(d.vector_dim)];
  if (components != static_cast<std::int64_t>(d.map.size()))
    fail_index(
        a,
        "index vectors have " + std::to_string(components) + " components, " + d.map_name + " " +
            to_string(d.map) + " has " + std::to_string(d.map.size()),
        "each component has its operand dimension",
        "fit " + std::string(d.map_name) + " to the indices' shape " + tessera::to_string(indices));
  if (d.operand_batching.size() != d.indices_batching.size())
    fail_index(a,
               "operand_batching_dims " + to_string(d.operand_batching) + " and " +
                   d.indices_batching_name + " " + to_string(d.indices_batching) +
                   " differ in length",
               "they pair up", "name a dimension of the indices for each of the operand's");
  for (std::size_t k = 0; k < d.operand_batching.size(); ++k) {
    std::int64_t o = d.operand_batching[k], i = d.indices_batching[k];
    if (contains(d.alone, o) || contains(d.map, o))
      fail_index(a,
                 "operand dimension " + std::to_string(o) + " is a batching dimension and " +
                     d.alone_name + " or indexed one",
                 "a dimension has one part", "take it out of one of the lists");
    if (i == d.vector_dim)
      fail_index(a,
                 "the index vector's dimension " + std::to_string(i) + " is a batching dimension",
                 "it is not", "name another");
    std::int64_t there = x[static_cast<std::size_t>(o)],
                 here = indices[static_cast<std::size_t>(i)];
    if (there != here)
      fail_index(
          a,
          "operand dimension " + std::to_string(o) + " has extent " + std::to_string(there) +
              ", the indices' dimension " + std::to_string(i) + " has " + std::to_string(here),
          "dimensions that batch together have one extent", "slice or broadcast one of them");
  }
}

WindowElements::WindowElements(WindowDimsOf dims, const HostArray& indices, const Shape& operand,
                               Shape window)
    : dims_(std::move(dims)),
      indices_(indices),
      index_strides_(indices.shape.strides()),
      operand_(operand),
      window_(std::move(window)) {}

WindowElements::Element WindowElements::of(const Shape& at) const {
  Element e;
  e.at.resize(operand_.size(), 0);
  for (std::size_t k = 0; k < dims_.index_map.size(); ++k) {
    auto position =
        dims_.index_position<std::int64_t>(std::span(at.data(), at.size()), k,
                                           indices_.shape.rank(), [](std::int64_t c) { return c; });
    std::int64_t start = read_index(indices_, flat_index(Shape(position), index_strides_));
    auto d = static_cast<std::size_t>(dims_.index_map[k]);
    std::int64_t last = operand_[d] - window_[d];
    e.inside = e.inside && start >= 0 && start <= last;
    e.at[d] = std::clamp<std::int64_t>(start, 0, last);
  }
  for (std::size_t k = 0; k < dims_.operand_batching.size(); ++k)
    e.at[static_cast<std::size_t>(dims_.operand_batching[k])] = at[static_cast<std::size_t>(
        dims_.batch[static_cast<std::size_t>(dims_.operand_batching_at[k])])];
  for (std::size_t k = 0; k < dims_.window.size(); ++k)
    e.at[static_cast<std::size_t>(dims_.operand_window[k])] +=
        at[static_cast<std::size_t>(dims_.window[k])];
  return e;
}

std::int64_t box_origin(const EvalArgs& a, std::size_t first, const Shape& box) {
  const Shape& x = a.inputs[0].shape;
  Shape starts;
  for (std::size_t d = 0; d < x.size(); ++d)
    starts.push_back(
        std::clamp<std::int64_t>(read_index(a.inputs[first + d], 0), 0, x[d] - box[d]));
  return flat_index(starts, x.strides());
}

Values starts_of_stacked(Builder& b, std::span<const Value> starts, int dim) {
  Values all(starts.begin(), starts.end());
  all.insert(all.begin() + dim, scalar(b, starts.empty() ? DType::int32 : starts[0].dtype(), 0));
  return all;
}

std::vector<OpExample> box_examples(OpExample (*make)(DType dtype, const Shape& shape,
                                                      const Shape& box)) {
  const auto example = [&](DType dtype, const Shape& shape, const Shape& box, DType index) {
    OpExample e = make(dtype, shape, box);
    for (std::size_t d = 0; d < shape.size(); ++d) e.inputs.push_back(Type(index, {}));
    e.int_lo = -1;
    return e;
  };
  return {example(DType::float32, {5}, {2}, DType::int32),
          example(DType::float64, {4, 3}, {2, 3}, DType::int32),
          example(DType::float32, {4, 3}, {1, 2}, DType::int64),
          example(DType::int32, {3, 3, 2}, {3, 1, 1}, DType::int32)};
}

}  // namespace tessera::inline v0::ops

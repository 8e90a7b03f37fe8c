// Checks of scatter's dimension numbers, its batching, factors and examples.
#include "ops/factors.h"
#include "ops/indexing/indexing.h"
#include "ops/indexing/scatter_rules.h"
#include "ops/order.h"

#include <algorithm>

namespace tessera::inline v0::ops {

std::vector<Type> scatter_infer(const InferArgs& a) {
  const Type &xt = a.inputs[0], &ut = a.inputs[2];
  const Shape &x = xt.shape, &indices = a.inputs[1].shape, &updates = ut.shape;
  ScatterDims dims = scatter_dims(a.attrs);
  const std::string& mode = a.attrs.str("mode");
  check_index_dtype(a, a.inputs[1].dtype, "the indices");
  if (xt.dtype != ut.dtype)
    Message(a.op.name)
        .problem("the operand is " + std::string(name_of(xt.dtype)) + ", the updates are " +
                 std::string(name_of(ut.dtype)))
        .rule("both have one dtype")
        .from(a.loc)
        .advice("convert the updates to " + std::string(name_of(xt.dtype)))
        .raise<DTypeError>();
  if (a.op.combiner == Combiner::max || a.op.combiner == Combiner::min) check_ordered(a, xt);
  if (xt.dtype == DType::boolean && (a.op.name == "scatter_add" || a.op.name == "scatter_mul"))
    Message(a.op.name)
        .problem("bool has no arithmetic")
        .rule("numbers")
        .from(a.loc)
        .advice("use scatter_max for or, scatter_min for and")
        .raise<DTypeError>();
  if (mode != "drop" && mode != "clip")
    fail_index(a, "mode \"" + mode + "\"", "\"drop\" or \"clip\"", "use \"drop\"");
  check_vector_dim(a, dims.index_vector_dim);
  check_dims(a, "scatter_dims_to_operand_dims", dims.scatter_dims_to_operand_dims, x);
  check_dims(a, "inserted_window_dims", dims.inserted_window_dims, x);
  check_dims(a, "operand_batching_dims", dims.operand_batching_dims, x);
  check_dims(a, "scatter_indices_batching_dims", dims.scatter_indices_batching_dims, indices);
  check_dims(a, "update_window_dims", dims.update_window_dims, updates);
  check_sorted(a, "update_window_dims", dims.update_window_dims);
  check_sorted(a, "inserted_window_dims", dims.inserted_window_dims);
  check_sorted(a, "operand_batching_dims", dims.operand_batching_dims);
  check_index_vectors(
      a, {dims.index_vector_dim, "scatter_dims_to_operand_dims", dims.scatter_dims_to_operand_dims,
          dims.operand_batching_dims, "scatter_indices_batching_dims",
          dims.scatter_indices_batching_dims, "an inserted", dims.inserted_window_dims});
  std::size_t window =
      x.size() - dims.inserted_window_dims.size() - dims.operand_batching_dims.size();
  std::size_t places = indices.size() - (dims.index_vector_dim < indices.rank());
  if (dims.update_window_dims.size() != window || updates.size() != window + places)
    fail_index(a,
               "updates of shape " + tessera::to_string(updates) + " with update_window_dims " +
                   to_string(dims.update_window_dims),
               "their rank is that of the indices without the vector and of the window: " +
                   std::to_string(places) + " + " + std::to_string(window) + " = " +
                   std::to_string(places + window),
               "reshape the updates, or insert the operand dimensions that they lack");
  WindowDimsOf w = window_dims_of(dims, updates.rank(), x.rank(), indices.rank());
  for (std::size_t k = 0; k < w.window.size(); ++k) {
    std::int64_t n = updates[static_cast<std::size_t>(w.window[k])],
                 room = x[static_cast<std::size_t>(w.operand_window[k])];
    if (n > room)
      fail_index(a,
                 "windows of extent " + std::to_string(n) + " in update dimension " +
                     std::to_string(w.window[k]) + " for operand dimension " +
                     std::to_string(w.operand_window[k]) + " of extent " + std::to_string(room),
                 "a window is no larger than the operand", "slice the updates");
  }
  for (std::size_t k = 0; k < w.batch.size(); ++k) {
    std::int64_t n = updates[static_cast<std::size_t>(w.batch[k])],
                 expected = indices[static_cast<std::size_t>(w.indices_batch[k])];
    if (n != expected)
      fail_index(a,
                 "update dimension " + std::to_string(w.batch[k]) + " has extent " +
                     std::to_string(n) + ", the indices' dimension " +
                     std::to_string(w.indices_batch[k]) + " has " + std::to_string(expected),
                 "there is a window for each index vector", "make as many updates as indices");
  }
  return {Type(xt.dtype, x, xt.weak && ut.weak)};
}

/// If the indices are unstacked, the stacked dimension becomes a window dimension; otherwise it
/// becomes a batching dimension with the indices.
BatchResult scatter_batch(const BatchArgs& a) {
  ScatterDims dims = scatter_dims(a.attrs);
  int d = a.dims[0] == kUnbatched ? 0 : a.dims[0];
  Value x = stacked_at(a.inputs[0], a.dims[0], d, a.size);
  dims.inserted_window_dims = shifted_dims(dims.inserted_window_dims, d);
  dims.operand_batching_dims = shifted_dims(dims.operand_batching_dims, d);
  dims.scatter_dims_to_operand_dims = shifted_dims(dims.scatter_dims_to_operand_dims, d);
  Value indices = a.inputs[1];
  int updates_at = 0;
  if (a.dims[1] == kUnbatched) {
    std::size_t before = 0;  // window dimensions before the stacked one
    for (int k = 0; k < d; ++k)
      before += !contains(dims.inserted_window_dims, k) && !contains(dims.operand_batching_dims, k);
    int rank = a.inputs[2].rank() - (a.dims[2] != kUnbatched);
    updates_at = before < dims.update_window_dims.size()
                     ? static_cast<int>(dims.update_window_dims[before])
                     : rank;
    dims.update_window_dims = shifted_dims(dims.update_window_dims, updates_at);
    dims.update_window_dims.insert(
        dims.update_window_dims.begin() + static_cast<std::ptrdiff_t>(before), updates_at);
  } else {
    indices = move_dim(indices, a.dims[1], 0);
    for (std::int64_t& k : dims.update_window_dims) ++k;
    for (std::int64_t& k : dims.scatter_indices_batching_dims) ++k;
    ++dims.index_vector_dim;
    auto at =
        std::lower_bound(dims.operand_batching_dims.begin(), dims.operand_batching_dims.end(), d) -
        dims.operand_batching_dims.begin();
    dims.operand_batching_dims.insert(dims.operand_batching_dims.begin() + at, d);
    dims.scatter_indices_batching_dims.insert(dims.scatter_indices_batching_dims.begin() + at, 0);
  }
  Value updates = stacked_at(a.inputs[2], a.dims[2], updates_at, a.size);
  return {
      {scatter(a.op.name, x, indices, updates, dims, a.attrs.str("mode"), a.attrs.flag("unique"))},
      {d}};
}

FactorRule scatter_sharding(const ShardArgs& a, Combiner combiner) {
  const Shape &x = a.inputs[0].shape, &indices = a.inputs[1].shape, &updates = a.inputs[2].shape;
  WindowDimsOf w = window_dims_of(scatter_dims(a.attrs), updates.rank(), x.rank(), indices.rank());
  FactorRule rule;
  std::vector<int> in = rule.factors(x), update(updates.size(), -1), places;
  std::vector<bool> in_update(x.size(), false);
  for (std::size_t k = 0; k < w.operand_batching.size(); ++k) {
    update[static_cast<std::size_t>(w.batch[static_cast<std::size_t>(w.operand_batching_at[k])])] =
        in[static_cast<std::size_t>(w.operand_batching[k])];
    in_update[static_cast<std::size_t>(w.operand_batching[k])] = true;
  }
  auto replicate = [&](int f) {
    rule.mark(FactorRule::Kind::need_repl, f);
    rule.mark(FactorRule::Kind::blocked, f);
  };
  for (std::size_t k = 0; k < w.window.size(); ++k) {
    auto d = static_cast<std::size_t>(w.operand_window[k]),
         u = static_cast<std::size_t>(w.window[k]);
    if (updates[u] == x[d]) {
      update[u] = in[d];
      in_update[d] = true;
    } else {
      update[u] = rule.factor(updates[u]);
      if (updates[u] > 1) replicate(update[u]);
    }
  }
  // A shard of an indexed dimension applies the updates that fall into it.
  for (std::size_t d = 0; d < x.size(); ++d)
    if (!in_update[d] && !contains(w.index_map, static_cast<std::int64_t>(d))) replicate(in[d]);
  for (std::size_t b = 0; b < w.batch.size(); ++b) {
    int& f = update[static_cast<std::size_t>(w.batch[b])];
    if (f >= 0) continue;
    f = rule.factor(updates[static_cast<std::size_t>(w.batch[b])]);
    if (combiner == Combiner::replace)
      rule.mark(FactorRule::Kind::need_repl, f);
    else
      rule.mark(FactorRule::Kind::reduction, f, combiner);
  }
  for (int d = 0, b = 0; d < indices.rank(); ++d)
    if (d == w.vector_dim) {
      places.push_back(rule.factor(indices[static_cast<std::size_t>(d)]));
      rule.mark(FactorRule::Kind::need_repl, places.back());
    } else {
      places.push_back(update[static_cast<std::size_t>(w.batch[static_cast<std::size_t>(b++)])]);
    }
  rule.input(in);
  rule.input(places);
  rule.input(update);
  rule.output(in);
  return rule;
}

std::vector<OpExample> scatter_examples(std::string_view op) {
  bool product = op == "scatter_mul";
  auto example = [](DType dtype, Shape x, Shape indices, Shape updates, const ScatterDims& d,
                    const char* mode, bool unique) {
    OpExample e{{Type(dtype, std::move(x)), Type(DType::int32, std::move(indices)),
                 Type(dtype, std::move(updates))},
                {{"update_window_dims", d.update_window_dims},
                 {"inserted_window_dims", d.inserted_window_dims},
                 {"operand_batching_dims", d.operand_batching_dims},
                 {"scatter_indices_batching_dims", d.scatter_indices_batching_dims},
                 {"scatter_dims_to_operand_dims", d.scatter_dims_to_operand_dims},
                 {"index_vector_dim", d.index_vector_dim},
                 {"mode", std::string(mode)},
                 {"unique", unique}}};
    e.int_lo = -1;
    return e;
  };
  std::vector<OpExample> out;
  // Derivatives of products with respect to the updates need unique positions: one index vector.
  out.push_back(
      example(DType::float64, {4, 3}, {1, 1}, {1, 3}, {{1}, {0}, {}, {}, {0}, 1}, "drop", true));
  out.push_back(
      example(DType::float32, {5, 4}, {2}, {2, 3}, {{0, 1}, {}, {}, {}, {1, 0}, 0}, "clip", true));
  out.push_back(
      example(DType::int32, {3, 4}, {3, 2, 1}, {3, 2}, {{}, {1}, {0}, {0}, {1}, 2}, "drop", false));
  out.push_back(
      example(DType::int32, {4, 3}, {5, 1}, {5, 3}, {{1}, {0}, {}, {}, {0}, 1}, "clip", false));
  if (!product) {
    out.push_back(
        example(DType::float32, {4, 3}, {5, 1}, {5, 3}, {{1}, {0}, {}, {}, {0}, 1}, "drop", false));
    out.push_back(example(DType::float64, {2, 4}, {2, 3}, {2, 3}, {{}, {1}, {0}, {0}, {1}, 2},
                          "drop", false));
  }
  return out;
}

}  // namespace tessera::inline v0::ops

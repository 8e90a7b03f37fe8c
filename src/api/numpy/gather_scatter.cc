#include <tessera/gather_scatter.h>

#include "api/numpy/array_helpers.h"
#include "api/numpy/indexing.h"
#include "api/trace/composite.h"

#include <tessera/at.h>
#include <tessera/operators.h>

#include <algorithm>

namespace tessera::inline v0 {

using detail::composed;
using detail::composed1;
using detail::extent_of;
using detail::rank_of;

namespace {
using Arrays = std::vector<Array>;
using In = std::span<const Array>;

[[noreturn]] void no_mode(const char* name, const std::string& mode, const char* rule,
                          const char* advice, const SourceLoc& loc) {
  Message(name)
      .problem("the mode is \"" + mode + "\"")
      .rule(rule)
      .from(loc)
      .advice(advice)
      .raise<Error>();
}
}  // namespace

Array choose(Operand index, const Arrays& choices, const std::string& mode) {
  if (mode != "clip" && mode != "wrap")
    no_mode("choose", mode, "it is \"clip\" or \"wrap\"",
            "\"clip\" takes the first and the last choice outside", index.loc);
  Arrays all{index.array};
  all.insert(all.end(), choices.begin(), choices.end());
  return composed1("choose", all, index.loc, [&](In in) {
    detail::need_integer("choose", in[0], index.loc);
    detail::need_some("choose", choices, index.loc);
    const Arrays values = detail::promoted({in.begin() + 1, in.end()});
    Shape shape = in[0].shape();
    for (const Array& v : values) shape = broadcast_shapes(shape, v.shape(), "choose", index.loc);
    const auto n = static_cast<std::int64_t>(values.size());
    Array at = astype(in[0], DType::int64);
    at = mode == "wrap" ? remainder(at, n) : clip(at, 0, n - 1);
    Arrays wide;
    for (const Array& v : values) wide.push_back(broadcast_to(v, shape));
    const Array row = broadcast_to(at, shape);
    return squeeze(take_along_axis(stack(wide), expand_dims(row, 0), 0), 0);
  });
}

Array place(Operand x, Operand mask, Operand values) {
  return composed1("place", {x.array, mask.array, values.array}, x.loc, [&](In in) {
    const Array v = ravel(in[2]);
    if (in[1].shape() != in[0].shape() || v.size() == 0)
      Message("place")
          .problem("a mask of shape " + to_string(in[1].shape()) + " and " +
                   std::to_string(v.size()) + " values for an array of shape " +
                   to_string(in[0].shape()))
          .rule("the mask has the array's shape, and there is a value at least")
          .from(x.loc)
          .advice("broadcast_to gives the mask the array's shape")
          .raise<ShapeError>();
    const Array chosen = ravel(not_equal(in[1], 0));
    const Array before = subtract(cumsum(astype(chosen, detail::index_dtype(chosen.size())), 0), 1);
    const Array put = take(astype(v, in[0].dtype()), remainder(before, v.size()));
    return where(chosen, put, ravel(in[0])).reshape(in[0].shape());
  });
}

Array put_along_axis(Operand x, Operand positions, Operand values, std::int64_t axis) {
  return composed1("put_along_axis", {x.array, positions.array, values.array}, x.loc, [&](In in) {
    detail::need_integer("put_along_axis", in[1], x.loc);
    detail::need_rank("put_along_axis", in[1], rank_of(in[0]), x.loc);
    const int rank = rank_of(in[0]), a = normalize_axis(axis, rank, "put_along_axis", x.loc);
    Shape s = in[0].shape();
    s[static_cast<std::size_t>(a)] = extent_of(in[1], a);
    std::vector<AxisIndex> index;
    for (int i = 0; i < rank; ++i)
      index.emplace_back(
          i == a ? broadcast_to(in[1], s)
                 : broadcast_to(detail::along(arange(extent_of(in[0], i)), i, rank), s));
    return At(in[0], index).set(broadcast_to(in[2], s));
  });
}

Arrays unravel_index(Operand positions, const Shape& shape) {
  return composed("unravel_index", {positions.array}, positions.loc, [&](In in) {
    detail::need_integer("unravel_index", in[0], positions.loc);
    const std::int64_t n = std::max<std::int64_t>(shape.count(), 1);
    Array p = astype(in[0], detail::index_dtype(n));
    p = clip(where(less(p, 0), add(p, n), p), 0, n - 1);
    Arrays out;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const std::int64_t extent = std::max<std::int64_t>(shape[i], 1);
      out.insert(out.begin(), remainder(p, extent));
      p = floor_divide(p, extent);
    }
    return out;
  });
}
Array ravel_multi_index(const Arrays& positions, const Shape& shape, std::source_location loc) {
  return composed1("ravel_multi_index", positions, loc, [&](In in) {
    if (in.size() != shape.size() || in.empty())
      Message("ravel_multi_index")
          .problem(detail::counted(in.size(), "array") + " of positions for the shape " +
                   to_string(shape))
          .rule("one for each axis, of which there is one at least")
          .from(loc)
          .advice("unravel_index gives them")
          .raise<ShapeError>();
    const DType d = detail::index_dtype(shape.count());
    Array p = zeros({}, d);
    for (std::size_t i = 0; i < in.size(); ++i) {
      detail::need_integer("ravel_multi_index", in[i], loc);
      p = add(multiply(p, shape[i]),
              clip(astype(in[i], d), 0, std::max<std::int64_t>(shape[i] - 1, 0)));
    }
    return p;
  });
}

namespace {
// One start per axis: `start` along `axis`, 0 along the others.
Arrays starts(const Array& x, int axis, const Array& start) {
  Arrays all(x.shape().size(), Array(0));
  all[static_cast<std::size_t>(axis)] = start;
  return all;
}
Shape with_extent(Shape s, int axis, std::int64_t n) {
  s[static_cast<std::size_t>(axis)] = n;
  return s;
}
Array sliced(const char* name, In in, std::int64_t size, std::int64_t axis, const SourceLoc& loc) {
  const int a = normalize_axis(axis, rank_of(in[0]), name, loc);
  return dynamic_slice(in[0], starts(in[0], a, in[1]), with_extent(in[0].shape(), a, size));
}
}  // namespace

Array dynamic_index_in_dim(Operand x, Operand index, std::int64_t axis, bool keepdims) {
  return composed1("dynamic_index_in_dim", {x.array, index.array}, x.loc, [&](In in) {
    const Array one = sliced("dynamic_index_in_dim", in, 1, axis, x.loc);
    return keepdims ? one : squeeze(one, axis);
  });
}
Array dynamic_slice_in_dim(Operand x, Operand start, std::int64_t size, std::int64_t axis) {
  return composed1("dynamic_slice_in_dim", {x.array, start.array}, x.loc,
                   [&](In in) { return sliced("dynamic_slice_in_dim", in, size, axis, x.loc); });
}
Array dynamic_update_slice_in_dim(Operand x, Operand update, Operand start, std::int64_t axis) {
  return composed1(
      "dynamic_update_slice_in_dim", {x.array, update.array, start.array}, x.loc, [&](In in) {
        const int a = normalize_axis(axis, rank_of(in[0]), "dynamic_update_slice_in_dim", x.loc);
        return dynamic_update_slice(in[0], in[1], starts(in[0], a, in[2]));
      });
}
Array dynamic_update_index_in_dim(Operand x, Operand update, Operand index, std::int64_t axis) {
  return composed1(
      "dynamic_update_index_in_dim", {x.array, update.array, index.array}, x.loc, [&](In in) {
        const int a = normalize_axis(axis, rank_of(in[0]), "dynamic_update_index_in_dim", x.loc);
        const bool row = rank_of(in[1]) == rank_of(in[0]) - 1;
        const Array layer = row ? expand_dims(in[1], a) : in[1];
        return dynamic_update_slice(in[0], layer, starts(in[0], a, in[2]));
      });
}

Array gather(Operand x, Operand indices, const GatherDimensionNumbers& d,
             const std::vector<std::int64_t>& slice_sizes, const std::string& mode) {
  if (mode != "clip" && mode != "fill")
    no_mode("gather", mode, "it is \"clip\" or \"fill\"", "\"clip\" moves slices inside", x.loc);
  return detail::composite1(
      "gather", {x.array, indices.array}, x.loc, [&](Builder&, std::span<const Value> in) {
        const ops::GatherDims dims{d.offset_dims,           d.collapsed_slice_dims,
                                   d.operand_batching_dims, d.start_indices_batching_dims,
                                   d.start_index_map,       in[1].rank() - 1};
        return ops::gather(in[0], in[1], dims, slice_sizes, mode);
      });
}

namespace {
Array scattered(const char* name, const Operand& x, const Operand& indices, const Operand& updates,
                const ScatterDimensionNumbers& d, const std::string& mode) {
  if (mode != "clip" && mode != "drop")
    no_mode(name, mode, "it is \"drop\" or \"clip\"", "\"clip\" moves windows inside", x.loc);
  return detail::composite1(
      name, {x.array, indices.array, updates.array}, x.loc,
      [&](Builder&, std::span<const Value> in) {
        const ops::ScatterDims dims{d.update_window_dims,           d.inserted_window_dims,
                                    d.operand_batching_dims,        d.scatter_indices_batching_dims,
                                    d.scatter_dims_to_operand_dims, in[1].rank() - 1};
        return ops::scatter(name, in[0], in[1],
                            ops::convert(in[2], in[0].dtype(), in[0].type().weak), dims, mode);
      });
}
}  // namespace

Array scatter(Operand x, Operand indices, Operand updates, const ScatterDimensionNumbers& d,
              const std::string& mode) {
  return scattered("scatter", x, indices, updates, d, mode);
}
Array scatter_add(Operand x, Operand indices, Operand updates, const ScatterDimensionNumbers& d,
                  const std::string& mode) {
  return scattered("scatter_add", x, indices, updates, d, mode);
}

}  // namespace tessera::inline v0

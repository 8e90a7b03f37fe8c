#include "api/numpy/indexing.h"

#include "api/numpy/masked_update.h"
#include "api/trace/numbers.h"

#include <tessera/manipulation.h>

#include <algorithm>

namespace tessera::inline v0 {

namespace detail {

namespace {

// The elements of an axis that a range selects, by Python's rules (clamped bounds).
struct Picked {
  std::int64_t start, count, step;
};
Picked resolve(const Range& r, std::int64_t n, const char* name, const SourceLoc& loc) {
  if (r.step == 0)
    Message(name)
        .problem("a range has step 0")
        .rule("the step is positive, or negative to walk backwards")
        .from(loc)
        .advice("use range(start, stop, 1)")
        .raise<ShapeError>();
  auto clamp = [&](std::int64_t v) {
    if (v < 0) v += n;
    return r.step > 0 ? std::clamp<std::int64_t>(v, 0, n) : std::clamp<std::int64_t>(v, -1, n - 1);
  };
  std::int64_t start = r.start ? clamp(*r.start) : (r.step > 0 ? 0 : n - 1);
  std::int64_t stop = r.stop ? clamp(*r.stop) : (r.step > 0 ? n : -1);
  // A step longer than the axis selects one element, so it can be clamped to the axis length.
  const std::int64_t step = std::clamp<std::int64_t>(r.step, -n - 1, n + 1);
  std::int64_t count =
      step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
  return {start, std::max<std::int64_t>(0, count), step};
}

std::int64_t resolve(std::int64_t position, std::int64_t n, int axis, const Shape& shape,
                     const char* name, const SourceLoc& loc) {
  if (position < -n || position >= n)
    Message(name)
        .problem("position " + std::to_string(position) + " is outside axis " +
                 std::to_string(axis) + " of shape " + to_string(shape))
        .rule(n == 0 ? "the axis has no elements"
                     : "positions are at least -" + std::to_string(n) + " and less than " +
                           std::to_string(n))
        .from(loc)
        .advice(n == 0 ? "check the shape first"
                       : "the last position is " + std::to_string(n - 1) +
                             ", or -1; range(start, stop) is cut to the axis")
        .raise<ShapeError>();
  return position < 0 ? position + n : position;
}

void check_rank(const std::vector<AxisIndex>& index, const Shape& shape, const char* name,
                const SourceLoc& loc) {
  std::int64_t taken = std::count_if(index.begin(), index.end(), [](const AxisIndex& i) {
    return i.kind() != AxisIndex::Kind::newaxis;
  });
  if (taken > shape.rank())
    Message(name)
        .problem(std::to_string(taken) + (taken == 1 ? " index" : " indices") +
                 " for an array of shape " + to_string(shape))
        .rule(shape.empty()
                  ? "a scalar has no axis to index"
                  : "there is at most one index for each of its " + std::to_string(shape.rank()) +
                        (shape.rank() == 1 ? " axis" : " axes"))
        .from(loc)
        .advice(shape.empty() ? "read its value with x.item<float>()"
                              : "remove indices, or add axes with newaxis")
        .raise<ShapeError>();
}

// An index resolved against a shape: every axis is sliced first; if the index has arrays, one
// gather follows.
struct Resolved {
  Ints start, limit, step, reversed;
  Shape shape;               // after slicing, without axes at positions and with new axes
  std::vector<int> indexed;  // axes of `shape` that are indexed by arrays
  Values positions;          // one per entry of `indexed`
  bool adjacent = true;      // whether these axes are adjacent in the index
};

// If the index has arrays, positions count as scalar arrays, as in NumPy.
Resolved resolve_index(Builder& b, const Shape& from, const std::vector<AxisIndex>& index,
                       std::span<const Value> arrays, const char* name, const SourceLoc& loc) {
  using Kind = AxisIndex::Kind;
  check_rank(index, from, name, loc);
  bool advanced = !arrays.empty();
  Resolved r;
  std::size_t next_array = 0;
  int axis = 0, last_indexed_entry = -1;
  auto one_axis = [&](std::size_t entry, const AxisIndex* i) {
    std::int64_t n = from[static_cast<std::size_t>(axis)];
    if (!i || i->kind() == Kind::all) {
      r.start.push_back(0), r.limit.push_back(n), r.step.push_back(1), r.shape.push_back(n);
    } else if (i->kind() == Kind::range) {
      Picked p = resolve(i->range(), n, name, loc);
      std::int64_t first = p.step > 0 ? p.start : p.start + (p.count - 1) * p.step;
      if (p.count == 0) first = 0;
      std::int64_t stride = std::abs(p.step);
      r.start.push_back(first);
      r.limit.push_back(p.count ? first + (p.count - 1) * stride + 1 : 0);
      r.step.push_back(stride);
      if (p.step < 0) r.reversed.push_back(axis);
      r.shape.push_back(p.count);
    } else {
      bool is_array = i->kind() == Kind::array;
      std::int64_t p = is_array ? 0 : resolve(i->position(), n, axis, from, name, loc);
      if (advanced) {
        r.start.push_back(0), r.limit.push_back(n), r.step.push_back(1);
        r.indexed.push_back(r.shape.rank());
        r.shape.push_back(n);
        r.positions.push_back(is_array ? wrap_negative(arrays[next_array++], n)
                                       : ops::scalar(b, index_dtype(n), static_cast<double>(p)));
        if (last_indexed_entry >= 0 && last_indexed_entry + 1 != static_cast<int>(entry))
          r.adjacent = false;
        last_indexed_entry = static_cast<int>(entry);
      } else {
        r.start.push_back(p), r.limit.push_back(p + 1), r.step.push_back(1);
      }
    }
    ++axis;
  };
  for (std::size_t k = 0; k < index.size(); ++k) {
    if (index[k].kind() == Kind::newaxis)
      r.shape.push_back(1);
    else
      one_axis(k, &index[k]);
  }
  while (axis < from.rank()) one_axis(index.size(), nullptr);
  return r;
}

// The gather for an index with arrays, which broadcast together. Their shape replaces the indexed
// axes or, if these are not adjacent, comes first.
struct Gather {
  Value starts;
  ops::GatherDims dims;
  Ints sizes;
  Shape result;
};
Gather gather_of(const Resolved& r, const char* name, const SourceLoc& loc) {
  Shape joint;
  for (const Value& p : r.positions) joint = broadcast_shapes(joint, p.shape(), name, loc);
  DType wide = DType::int32;
  for (const Value& p : r.positions)
    if (p.dtype() == DType::int64) wide = DType::int64;
  Shape column = joint;
  column.push_back(1);
  Values columns;
  for (Value p : r.positions)
    columns.push_back(ops::reshape(broadcast_to(ops::convert(p, wide), joint), column));
  Gather g;
  g.starts = ops::concatenate(columns, joint.rank());
  g.sizes = r.shape.to_vector();
  int insert = r.adjacent ? r.indexed[0] : 0;
  for (int a : r.indexed) {
    g.sizes[static_cast<std::size_t>(a)] = 1;
    g.dims.collapsed_slice_dims.push_back(a);
    g.dims.start_index_map.push_back(a);
  }
  g.dims.index_vector_dim = joint.rank();
  int kept = 0;
  auto put_joint = [&] {
    for (std::int64_t e : joint) g.result.push_back(e);
  };
  for (int i = 0; i < r.shape.rank(); ++i) {
    if (std::find(r.indexed.begin(), r.indexed.end(), i) != r.indexed.end()) continue;
    if (kept == insert) put_joint();
    g.dims.offset_dims.push_back(kept < insert ? kept : kept + joint.rank());
    g.result.push_back(r.shape[static_cast<std::size_t>(i)]);
    ++kept;
  }
  if (kept <= insert) put_joint();
  return g;
}

// Whether arrays index an axis without elements; throws unless the arrays are empty, too.
bool nothing_to_pick(const Resolved& r, const Gather& g, const char* name, const SourceLoc& loc) {
  for (int a : r.indexed) {
    if (r.shape[static_cast<std::size_t>(a)] != 0) continue;
    if (g.starts.shape().count() > 0)
      Message(name)
          .problem("positions of shape " + to_string(r.positions[0].shape()) +
                   " pick from an axis without elements")
          .rule("an axis without elements has no positions")
          .from(loc)
          .advice("check the size first")
          .raise<ShapeError>();
    return true;
  }
  return false;
}

}  // namespace

Value get_index(Value x, const std::vector<AxisIndex>& index, std::span<const Value> arrays,
                const char* name, const std::string& mode) {
  Builder& b = *x.builder;
  const SourceLoc loc = b.loc;
  Resolved r = resolve_index(b, x.shape(), index, arrays, name, loc);
  x = ops::slice(x, r.start, r.limit, r.step);
  x = ops::reverse(x, r.reversed);
  x = ops::reshape(x, r.shape);
  if (arrays.empty()) return x;
  Gather g = gather_of(r, name, loc);
  if (nothing_to_pick(r, g, name, loc))
    return ops::zeros(b, Type(x.dtype(), g.result, x.type().weak));
  return ops::gather(x, g.starts, g.dims, g.sizes, mode);
}

namespace {

// The operands of an indexing call: the array, the index arrays, then any values.
std::vector<Array> index_operands(const Array& x, const std::vector<AxisIndex>& index,
                                  const char* name, const SourceLoc& loc) {
  std::vector<Array> all{x};
  for (const AxisIndex& i : index) {
    if (i.kind() != AxisIndex::Kind::array) continue;
    DType d = need(i.array(), name, loc).type.dtype;
    if (d == DType::boolean || is_inexact(d))
      Message(name)
          .problem("an index array has dtype " + std::string(name_of(d)))
          .rule(d == DType::boolean
                    ? "the shape of a mask's result depends on its values, and shapes are static"
                    : "index arrays hold integers")
          .from(loc)
          .advice(
              d == DType::boolean
                  ? "where(mask, x, other) keeps the shape; x.at(mask).set(v) changes what it picks"
                  : "convert with astype(i32)")
          .raise<DTypeError>();
    all.push_back(i.array());
  }
  return all;
}

bool basic_unit(const std::vector<AxisIndex>& index) {
  return std::all_of(index.begin(), index.end(), [](const AxisIndex& i) {
    return i.kind() != AxisIndex::Kind::array &&
           (i.kind() != AxisIndex::Kind::range || i.range().step == 1);
  });
}

// Whether the index slices nothing off and adds no axis.
bool whole(const Resolved& r, const Shape& from) {
  return r.shape == from && r.reversed.empty() &&
         std::all_of(r.step.begin(), r.step.end(), [](std::int64_t s) { return s == 1; });
}

using Combine = Value (*)(Value, Value);

Array update(const char* name, const Array& x, const std::vector<AxisIndex>& index,
             const Operand& values, const char* op, Combine combine) {
  std::vector<Array> all = index_operands(x, index, name, values.loc);
  check_stored(name, x, values);
  std::size_t arrays = all.size() - 1;
  all.push_back(values.array);
  return composite1(name, all, values.loc, [&](Builder& b, std::span<const Value> in) {
    Value base = in[0];
    Value v = ops::convert(in.back(), base.dtype(), base.type().weak);
    // In general, gather the flat positions of the selected elements: the update is scattered
    // there.
    Shape flat_shape{base.shape().count()};
    auto picked_positions = [&] {
      Value flat =
          ops::reshape(ops::iota(b, index_dtype(flat_shape[0]), flat_shape, 0), base.shape());
      return get_index(flat, index, in.subspan(1, arrays), name, "fill");
    };
    if (basic_unit(index)) {
      // A block: slice it out, combine it with the values, and write it back.
      Value old = get_index(base, index, {}, name, "clip");
      Shape joint = broadcast_shapes(old.shape(), v.shape(), name, values.loc);
      if (joint == old.shape()) {
        v = broadcast_to(v, old.shape());
        Shape block;
        Values starts;
        DType start_dtype = DType::int32;
        for (std::int64_t n : base.shape())
          if (n > INT32_MAX) start_dtype = DType::int64;
        int axis = 0;
        auto next = [&](const AxisIndex* i) {
          std::int64_t n = base.shape()[static_cast<std::size_t>(axis)], s = 0, count = n;
          if (i && i->kind() == AxisIndex::Kind::position)
            s = resolve(i->position(), n, axis, base.shape(), name, values.loc), count = 1;
          if (i && i->kind() == AxisIndex::Kind::range) {
            Picked p = resolve(i->range(), n, name, values.loc);
            s = p.start, count = p.count;
          }
          block.push_back(count);
          starts.push_back(ops::scalar(b, start_dtype, static_cast<double>(s)));
          ++axis;
        };
        for (const AxisIndex& i : index)
          if (i.kind() != AxisIndex::Kind::newaxis) next(&i);
        while (axis < base.rank()) next(nullptr);
        if (block.count() == 0) return base;
        return ops::dynamic_update_slice(base, ops::reshape(combine ? combine(old, v) : v, block),
                                         starts);
      }
    }
    auto fitted = [&](const Shape& picked) {
      if (!(broadcast_shapes(picked, v.shape(), name, values.loc) == picked))
        Message(name)
            .problem("values of shape " + to_string(v.shape()) +
                     " do not fit the picked elements of shape " + to_string(picked))
            .rule("the values broadcast to the shape that the index picks")
            .from(values.loc)
            .advice("reshape the values, or pick as many elements")
            .raise<ShapeError>();
      return broadcast_to(v, picked);
    };
    ops::ScatterDims dims;
    if (arrays > 0) {
      Resolved r = resolve_index(b, base.shape(), index, in.subspan(1, arrays), name, values.loc);
      if (whole(r, base.shape())) {  // whole rows or blocks at positions given by the arrays
        Gather g = gather_of(r, name, values.loc);
        if (nothing_to_pick(r, g, name, values.loc)) {
          (void)fitted(g.result);
          return base;
        }
        dims.update_window_dims = g.dims.offset_dims;
        dims.inserted_window_dims = g.dims.collapsed_slice_dims;
        dims.scatter_dims_to_operand_dims = g.dims.start_index_map;
        dims.index_vector_dim = g.dims.index_vector_dim;
        return ops::scatter(op, base, g.starts, fitted(g.result), dims);
      }
    }
    Value p = picked_positions();
    v = ops::reshape(fitted(p.shape()), Shape{p.shape().count()});
    dims.inserted_window_dims = {0};
    dims.scatter_dims_to_operand_dims = {0};
    dims.index_vector_dim = 1;
    Value r = ops::scatter(op, ops::reshape(base, flat_shape),
                           ops::reshape(p, Shape{p.shape().count(), 1}), v, dims, "drop",
                           arrays == 0);  // without arrays, indices are unique
    return ops::reshape(r, base.shape());
  });
}

}  // namespace

}  // namespace detail

Array Array::get(const std::vector<AxisIndex>& index, std::source_location loc) const {
  std::vector<Array> all = detail::index_operands(*this, index, "index", loc);
  return detail::composite1("index", all, loc, [&](Builder&, std::span<const Value> in) {
    return detail::get_index(in[0], index, in.subspan(1), "index", "clip");
  });
}

Array Array::operator[](AxisIndex index) const {
  if (index.kind() == AxisIndex::Kind::position && is_concrete() && impl_->data &&
      !impl_->waits() && !detail::Trace::innermost() && ndim() > 0) {
    // The shard of one device of a stacked array is a view.
    std::int64_t n = shape()[0], i = index.position();
    if (i >= -n && i < n) {
      const detail::Reading read(*this, "index", index.loc());
      if (auto row = runtime::row_view(read.data(), i < 0 ? i + n : i))
        return detail::make_concrete(std::move(row));
      // On another platform a row is computed on the device that holds it.
      if (auto [block, row] = runtime::block_with_row(read.data(), i < 0 ? i + n : i); block) {
        const runtime::DefaultDeviceScope there(*block->layout->backend,
                                                block->layout->devices()[0]);
        return detail::make_concrete(std::move(block)).get({AxisIndex(row)}, index.loc());
      }
    }
  }
  const std::source_location loc = index.loc();
  return get({std::move(index)}, loc);
}

namespace {

// How an update combines elements with values, and the identity of that combination.
struct Update {
  const char* name;
  const char* op;
  Value (*combine)(Value, Value);
  double identity;
};

Array updated(const Array& x, const std::vector<AxisIndex>& index, const Operand& v,
              const Update& u) {
  if (detail::is_mask(index))
    return detail::masked_update(u.name, x, index[0].array(), v, u.identity, u.combine);
  return detail::update(u.name, x, index, v, u.op, u.combine);
}

}  // namespace

Array At::set(Operand v) const {
  return updated(array_, index_, v, {"at().set", "scatter", nullptr, 0});
}
Array At::add(Operand v) const {
  return updated(array_, index_, v, {"at().add", "scatter_add", ops::add, 0});
}
Array At::multiply(Operand v) const {
  return updated(array_, index_, v, {"at().multiply", "scatter_mul", ops::mul, 1});
}
Array At::min(Operand v) const {
  return updated(array_, index_, v, {"at().min", "scatter_min", ops::min, 0});
}
Array At::max(Operand v) const {
  return updated(array_, index_, v, {"at().max", "scatter_max", ops::max, 0});
}

}  // namespace tessera::inline v0

// The derivative of max pooling and its transpose: both recompute the first maximum (or minimum) of
// each window.
#include "ops/reduction/select_window.h"
#include "ops/accumulate.h"
#include "ops/batching.h"
#include "ops/contraction/conv_dims.h"
#include "ops/order.h"

#include <functional>
#include <limits>

namespace tessera::inline v0::ops {
namespace {

std::vector<Type> select_window_infer(const InferArgs& a) {
  const Type &x = a.inputs[0], &other = a.inputs[1];
  bool scatter = a.op.name == "select_and_scatter_add";
  Shape windows = windowed_shape(a, x, window_dims(a.attrs));
  auto fail = [&](std::string problem) {
    return Message(a.op.name).problem(std::move(problem)).from(a.loc);
  };
  check_ordered(a, x);
  if (x.dtype != other.dtype || x.dtype == DType::boolean)
    fail("the operands are " + std::string(name_of(x.dtype)) + " and " +
         std::string(name_of(other.dtype)))
        .rule("both operands have one dtype, integer or floating")
        .advice("convert one of them")
        .raise<DTypeError>();
  if (other.shape != (scatter ? windows : x.shape))
    fail(std::string(scatter ? "source" : "tangent") + " has shape " + to_string(other.shape))
        .rule(scatter ? "the windows of an array of shape " + to_string(x.shape) + " give shape " +
                            to_string(windows)
                      : "tangent has the shape of the array, " + to_string(x.shape))
        .advice("check the window, strides and padding")
        .raise<ShapeError>();
  return {Type(x.dtype, scatter ? x.shape : windows)};
}

Value again(const Op& op, Value x, Value other, const Attrs& attrs) {
  return x.builder->emit(op, std::array{x, other}, attrs).at(0);
}

// The choice of the selected element is constant almost everywhere, so the op is linear in the
// second operand and has derivative zero in the first.
MaybeValues select_window_jvp(const JvpArgs& a) {
  if (!a.tangents[1]) return {std::nullopt};
  return {again(a.op, a.inputs[0], *a.tangents[1], a.attrs)};
}

MaybeValues select_window_transpose(const TransposeArgs& a) {
  if (!a.cotangents[0]) return {std::nullopt, std::nullopt};
  const char* partner =
      a.op.name == "select_and_scatter_add" ? "select_and_gather_add" : "select_and_scatter_add";
  return {std::nullopt, a.b.emit1(partner, {*a.inputs[0], *a.cotangents[0]}, a.attrs)};
}

BatchResult select_window_batch(const BatchArgs& a) {
  int dim = a.dims[0] != kUnbatched ? a.dims[0] : a.dims[1];
  Value x = stacked_at(a.inputs[0], a.dims[0], dim, a.size),
        other = stacked_at(a.inputs[1], a.dims[1], dim, a.size);
  WindowDims d = with_stacked_dim(window_dims(a.attrs), dim);
  return {{again(a.op, x, other, select_attrs(d, x.rank(), selects_max(a.attrs)))}, {dim}};
}

Cost select_window_cost(std::span<const Type> in, std::span<const Type> out, const Attrs& attrs) {
  double compared = static_cast<double>(windowed_shape(in[0].shape, window_dims(attrs)).count());
  for (std::int64_t w : attrs.ints("window")) compared *= static_cast<double>(w);
  return {compared, static_cast<double>(in[0].bytes() + in[1].bytes() + out[0].bytes())};
}

/// Calls `f(flat index of the window, flat index of the selected element or -1)` for every window.
void for_each_selected(const HostArray& x, const Attrs& attrs,
                       const std::function<void(std::int64_t, std::int64_t)>& f) {
  WindowDims d = window_dims(attrs);
  bool max = selects_max(attrs);
  Shape strides = x.shape.strides(), window(d.window);
  dispatch_real(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto value = [&](std::int64_t i) {
      if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
        return static_cast<float>(x.data<T>()[i]);
      else
        return x.data<T>()[i];
    };
    std::int64_t next = 0;
    for_each_index(windowed_shape(x.shape, d), [&](const Shape& o) {
      std::int64_t best = -1;
      for_each_index(window, [&](const Shape& k) {
        std::int64_t at = window_element(x.shape, strides, d, o, k);
        if (at < 0) return;
        if (best < 0) {
          best = at;
          return;
        }
        auto v = value(at), b = value(best);
        if ((max ? v > b : v < b) || (v != v && b == b)) best = at;
      });
      f(next++, best);
    });
  });
}

void select_scatter_evaluate(const EvalArgs& a) {
  HostArray& out = a.outputs[0];
  with_accumulator(out.dtype, out.dtype, [&](auto zero) {
    using A = decltype(zero);
    std::vector<A> source = widen<A>(a.inputs[1]), sums(static_cast<std::size_t>(out.count()));
    for_each_selected(a.inputs[0], a.attrs, [&](std::int64_t window, std::int64_t at) {
      if (at >= 0) sums[at] += source[window];
    });
    narrow(sums, out);
  });
}

void select_gather_evaluate(const EvalArgs& a) {
  dispatch_real(a.outputs[0].dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* tangent = a.inputs[1].data<T>();
    T* out = a.outputs[0].data<T>();
    for_each_selected(a.inputs[0], a.attrs, [&](std::int64_t window, std::int64_t at) {
      out[window] = at < 0 ? T{} : tangent[at];
    });
  });
}

/// Walks a window for its first maximum and keeps the value that `pick` returns at that element.
Lane emit_selected(Emitter& e, const Attrs& attrs, std::span<const Index> window, Lane none,
                   const std::function<Lane(std::span<const Index> at)>& pick) {
  const Type& x = e.operand_type(0);
  WindowWalk walk(x.shape, window_dims(attrs), window);
  Arith beats = selects_max(attrs) ? Arith::gt : Arith::lt;
  Lane no = e.constant(DType::boolean, std::int64_t{0}),
       yes = e.constant(DType::boolean, std::int64_t{1});
  Lane zero = e.constant(x.dtype, std::int64_t{0});
  return e.fold(
      walk.extents(), {no, zero, none}, [&](std::span<const Index> k, std::span<const Lane> s) {
        std::vector<Index> at;
        std::vector<Bound> bounds;
        walk.locate(k, at, bounds);
        auto where_inside = [&](const std::function<Lane()>& inside, Lane outside) {
          return bounds.empty() ? inside() : e.guarded(bounds, inside, outside);
        };
        Lane v = where_inside([&] { return e.operand(0, at); }, zero);
        Lane better = e.binary(Arith::or_, e.unary(Arith::not_, s[0]), e.binary(beats, v, s[1]));
        if (is_floating(x.dtype))
          better = e.binary(
              Arith::or_, better,
              e.binary(Arith::and_, e.binary(Arith::ne, v, v), e.binary(Arith::eq, s[1], s[1])));
        if (!bounds.empty())
          better = e.binary(Arith::and_, better,
                            e.guarded(
                                bounds, [&] { return yes; }, no));
        Lane picked = where_inside([&] { return pick(at); }, none);
        return std::vector<Lane>{e.binary(Arith::or_, s[0], better), e.select(better, v, s[1]),
                                 e.select(better, picked, s[2])};
      })[2];
}

Lane select_gather_emit(Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
  return emit_selected(e, eqn.attrs, at, e.constant(e.result_type().dtype, std::int64_t{0}),
                       [&](std::span<const Index> where) { return e.operand(1, where); });
}

/// The windows that contain an element, in ascending order.
struct Holders {
  std::vector<std::int64_t> extents;
  std::function<void(std::span<const Index> k, std::vector<Index>& window,
                     std::vector<Bound>& bounds)>
      locate;
};

Holders holders(const Shape& x, const WindowDims& d, std::span<const Index> at) {
  Shape out = windowed_shape(x, d);
  Holders h;
  for (int i = 0; i < x.rank(); ++i) {
    bool dense = d.base_dilation[i] == 1 && d.window_dilation[i] == 1;
    h.extents.push_back(dense ? (d.window[i] + d.strides[i] - 1) / d.strides[i] : d.window[i]);
  }
  std::vector<Index> element(at.begin(), at.end());
  h.locate = [=](std::span<const Index> k, std::vector<Index>& window, std::vector<Bound>& bounds) {
    window.clear();
    bounds.clear();
    for (int i = 0; i < x.rank(); ++i) {
      std::int64_t stride = d.strides[i], extent = d.window[i];
      Index p = element[i] * d.base_dilation[i] + Index(d.pad_low[i]), o;
      if (d.base_dilation[i] == 1 && d.window_dilation[i] == 1) {
        // Starts from the first window that ends after the element.
        o = extent <= stride ? floor_div(p, stride)
                             : floor_div(p + Index(stride - extent), stride) + k[i];
        if (extent % stride) bounds.push_back({p - o * stride, 0, extent});
        bool always =
            extent <= stride && d.pad_low[i] >= 0 && (x[i] - 1 + d.pad_low[i]) / stride < out[i];
        if (!always) bounds.push_back({o, 0, out[i]});
      } else {
        Index start = p - (Index(extent - 1) - k[i]) * d.window_dilation[i];
        o = floor_div(start, stride);
        if (stride > 1) bounds.push_back({floor_mod(start, stride), 0, 1});
        bounds.push_back({o, 0, out[i]});
      }
      window.push_back(o);
    }
  };
  return h;
}

Lane select_scatter_emit(Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
  const Shape& x = e.operand_type(0).shape;
  WindowDims d = window_dims(eqn.attrs);
  DType t = e.result_type().dtype, acc = accumulator_of(t, t);
  DType id = x.count() <= std::numeric_limits<std::int32_t>::max() ? DType::int32 : DType::int64;
  Shape strides = x.strides();
  auto number = [&](std::span<const Index> i) {
    Index flat(0);
    for (std::size_t k = 0; k < i.size(); ++k) flat = flat + i[k] * strides[k];
    return e.number(flat, id);
  };
  Lane me = number(at), nobody = e.constant(id, std::int64_t{-1}),
       zero = e.constant(acc, std::int64_t{0});
  Holders h = holders(x, d, at);
  // The contribution of one window to this element: its source value if it selects the element,
  // else zero.
  auto given = [&](std::span<const Index> k) {
    std::vector<Index> window;
    std::vector<Bound> bounds;
    h.locate(k, window, bounds);
    auto inside = [&] {
      Lane selected = emit_selected(e, eqn.attrs, window, nobody, number);
      return e.select(e.binary(Arith::eq, selected, me), e.convert(e.operand(1, window), acc),
                      zero);
    };
    return bounds.empty() ? inside() : e.guarded(bounds, inside, zero);
  };
  std::int64_t windows = 1;
  for (std::int64_t n : h.extents) windows *= n;
  if (windows == 1) return e.convert(given(std::vector<Index>(x.size(), Index(0))), t);
  Lane sum = e.fold(h.extents, {zero}, [&](std::span<const Index> k, std::span<const Lane> s) {
    return std::vector<Lane>{e.binary(Arith::add, s[0], given(k))};
  })[0];
  return e.convert(sum, t);
}

std::vector<OpExample> select_window_examples(bool scatter) {
  auto example = [&](DType t, const Shape& x, const WindowDims& d, bool max = true) {
    Attrs attrs = select_attrs(d, x.rank(), max);
    Shape other = scatter ? windowed_shape(x, window_dims(attrs)) : x;
    return OpExample{.inputs = {Type(t, x), Type(t, other)}, .attrs = attrs, .lo = -100, .hi = 100};
  };
  return {
      example(DType::float32, {2, 4, 4, 2}, {.window = {1, 2, 2, 1}, .strides = {1, 2, 2, 1}}),
      example(DType::float32, {5, 6},
              {.window = {3, 2}, .strides = {2, 1}, .pad_low = {1, 0}, .pad_high = {1, 1}}),
      example(DType::int32, {7}, {.window = {3}, .strides = {2}}, false),
      example(DType::float32, {4}, {.window = {2}, .base_dilation = {2}, .window_dilation = {2}})};
}

void register_one(Registry& r, bool scatter) {
  Op op;
  op.name = scatter ? "select_and_scatter_add" : "select_and_gather_add";
  op.doc = scatter
               ? "Adds each element of `source` to the place in a zero array of the shape of `x` "
                 "where its window has its first "
                 "maximum (`select` \"ge\") or minimum (\"le\"). A NaN is larger, and smaller, "
                 "than any number."
               : "The elements of `tangent` at the first maximum (`select` \"ge\") or minimum "
                 "(\"le\") of each window of `x`; 0 for "
                 "a window that holds padding only. A NaN is larger, and smaller, than any number.";
  op.stablehlo = scatter ? "select_and_scatter" : "";
  op.attrs = window_attr_specs();
  op.attrs.push_back({"select", AttrKind::string, "\"ge\" for maxima, \"le\" for minima"});
  op.inputs = 2;
  op.cheap = false;
  op.infer = select_window_infer;
  op.jvp = select_window_jvp;
  op.linear = [](std::span<const bool> in) { return !in[0]; };
  op.transpose = select_window_transpose;
  op.batch = select_window_batch;
  op.sharding = [scatter](const ShardArgs& a) { return select_window_sharding(a, scatter); };
  op.local = scatter ? select_scatter_local : select_gather_local;
  op.waived["updates"] = "what is gathered from a window is no element of a state";
  op.cost = select_window_cost;
  op.evaluate = scatter ? select_scatter_evaluate : select_gather_evaluate;
  op.emit = scatter ? select_scatter_emit : select_gather_emit;
  op.examples = [scatter] { return select_window_examples(scatter); };
  if (!scatter)
    op.waived["stablehlo"] = "it has no such op: export writes a reduce_window of pairs";
  r.add(std::move(op));
}

}  // namespace

Value select_and_scatter_add(Value x, Value source, const WindowDims& dims, bool max) {
  return x.builder->emit1("select_and_scatter_add", {x, source}, select_attrs(dims, x.rank(), max));
}
Value select_and_gather_add(Value x, Value tangent, const WindowDims& dims, bool max) {
  return x.builder->emit1("select_and_gather_add", {x, tangent}, select_attrs(dims, x.rank(), max));
}

void register_select_window(Registry& r) {
  register_one(r, true);
  register_one(r, false);
}

}  // namespace tessera::inline v0::ops

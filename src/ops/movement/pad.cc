// pad: puts a value around the elements and between them; negative amounts crop.
#include "ops/factors.h"
#include "ops/fetch.h"
#include "ops/movement/movement.h"
#include "ops/updates.h"

#include <algorithm>
#include <optional>

namespace tessera::inline v0::ops {

Value pad(Value x, Value padding, const Ints& low, const Ints& high, const Ints& interior) {
  bool nothing = true;
  for (std::size_t d = 0; nothing && d < low.size(); ++d)
    nothing = low[d] == 0 && high[d] == 0 && (interior[d] == 0 || x.shape()[d] <= 1);
  if (nothing) return x;
  return x.builder->emit1("pad", {x, padding},
                          {{"low", low}, {"high", high}, {"interior", interior}});
}

namespace {

std::int64_t spread_extent(std::int64_t n, std::int64_t interior) {
  return n + std::max<std::int64_t>(n - 1, 0) * interior;
}

// The extent after padding; nullopt if it overflows.
std::optional<std::int64_t> padded_extent(std::int64_t n, std::int64_t low, std::int64_t high,
                                          std::int64_t interior) {
  std::int64_t between = 0;
  if (__builtin_mul_overflow(std::max<std::int64_t>(n - 1, 0), interior, &between) ||
      __builtin_add_overflow(n, between, &n) || __builtin_add_overflow(n, low, &n) ||
      __builtin_add_overflow(n, high, &n))
    return std::nullopt;
  return n;
}

std::vector<Type> pad_infer(const InferArgs& a) {
  const Shape& x = a.inputs[0].shape;
  const Ints &low = a.attrs.ints("low"), &high = a.attrs.ints("high"),
             &interior = a.attrs.ints("interior");
  check_one_a_dim(a, "low", low, x);
  check_one_a_dim(a, "high", high, x);
  check_one_a_dim(a, "interior", interior, x);
  if (!a.inputs[1].shape.empty())
    Message(a.op.name)
        .problem("the padding value has shape " + tessera::to_string(a.inputs[1].shape))
        .rule("it is a scalar")
        .from(a.loc)
        .advice("pad with one value at a time")
        .raise<ShapeError>();
  if (a.inputs[0].dtype != a.inputs[1].dtype)
    Message(a.op.name)
        .problem("the operand is " + std::string(name_of(a.inputs[0].dtype)) +
                 ", the padding value " + std::string(name_of(a.inputs[1].dtype)))
        .rule("both have one dtype")
        .from(a.loc)
        .advice("convert the padding value to " + std::string(name_of(a.inputs[0].dtype)))
        .raise<DTypeError>();
  Message message(a.op.name);
  bool bad = false;
  Shape shape;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const std::optional<std::int64_t> n = padded_extent(x[d], low[d], high[d], interior[d]);
    shape.push_back(n.value_or(-1));
    if (n && *n >= 0 && interior[d] >= 0) continue;
    bad = true;
    message.offender("dimension " + std::to_string(d) + " of extent " + std::to_string(x[d]) +
                     ": low " + std::to_string(low[d]) + ", high " + std::to_string(high[d]) +
                     ", interior " + std::to_string(interior[d]) + " give " +
                     (n ? std::to_string(*n) : "no extent: it is 2^63 or more"));
  }
  if (bad)
    message.problem("padding shape " + tessera::to_string(x) + " leaves no valid shape")
        .rule("low + extent + max(extent - 1, 0) * interior + high >= 0, and interior >= 0")
        .from(a.loc)
        .advice("crop less")
        .raise<ShapeError>();
  Type out = with_shape(a.inputs[0], shape);
  out.weak = a.inputs[0].weak && a.inputs[1].weak;
  return {out};
}

/// True where the result holds an element of x.
Value mask(Builder& b, const Shape& x, const Attrs& attrs) {
  return pad(full(b, DType::boolean, x, 1), scalar(b, DType::boolean, 0), attrs.ints("low"),
             attrs.ints("high"), attrs.ints("interior"));
}

MaybeValues pad_transpose(const TransposeArgs& a) {
  MaybeValues out(2);
  if (!a.cotangents[0]) return out;
  Value ct = *a.cotangents[0];
  const Shape& x = a.types[0].shape;
  if (a.linear[0]) {
    Ints low = a.attrs.ints("low"), high = a.attrs.ints("high"), strides = a.attrs.ints("interior");
    for (std::size_t d = 0; d < low.size(); ++d) {
      low[d] = -low[d];
      high[d] = -high[d];
      ++strides[d];
    }
    Value inner = pad(ct, scalar(a.b, ct.dtype(), 0), low, high, filled(low.size(), 0));
    out[0] = slice(inner, filled(low.size(), 0), to_ints(inner.shape()), strides);
  }
  if (a.linear[1]) {
    // Selects instead of subtracting the operand's share: this is exact, and infinities in the
    // operand's part have no effect.
    Value rest = select(mask(a.b, x, a.attrs), zeros_like(ct), ct);
    out[1] = reduce_sum(rest, iota_ints(ct.rank()));
  }
  return out;
}

BatchResult pad_batch(const BatchArgs& a) {
  int d = a.dims[0];
  Ints low = a.attrs.ints("low"), high = a.attrs.ints("high"), interior = a.attrs.ints("interior");
  if (a.dims[1] == kUnbatched)
    return {{pad(a.inputs[0], a.inputs[1], inserted(low, d, 0), inserted(high, d, 0),
                 inserted(interior, d, 0))},
            {d}};
  Value x = stacked_at(a.inputs[0], d, 0, a.size);
  Attrs wide{{"low", inserted(low, 0, 0)},
             {"high", inserted(high, 0, 0)},
             {"interior", inserted(interior, 0, 0)}};
  Value padded =
      pad(x, scalar(a.b, x.dtype(), 0), wide.ints("low"), wide.ints("high"), wide.ints("interior"));
  Value around = broadcast_in_dim(a.inputs[1], padded.shape(), {0});
  return {{select(mask(a.b, x.shape(), wide), padded, around)}, {0}};
}

Lane pad_emit(Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
  const Ints &low = eqn.attrs.ints("low"), &high = eqn.attrs.ints("high"),
             &interior = eqn.attrs.ints("interior");
  const Shape& x = e.operand_type(0).shape;
  std::vector<Bound> bounds;
  std::vector<Index> from;
  for (std::size_t d = 0; d < x.size(); ++d) {
    Index j = at[d] - Index(low[d]);
    if (low[d] > 0 || high[d] > 0) bounds.push_back({j, 0, spread_extent(x[d], interior[d])});
    if (interior[d] > 0) {
      bounds.push_back({floor_mod(j, interior[d] + 1), 0, 1});
      j = floor_div(j, interior[d] + 1);
    }
    from.push_back(j);
  }
  if (bounds.empty()) return e.operand(0, from);
  return e.guarded(
      bounds, [&] { return e.operand(0, from); }, e.operand(1, std::span<const Index>{}));
}

FactorRule::Window pad_window(const Attrs& attrs, std::size_t d, std::int64_t extent,
                              std::int64_t results) {
  return {.extent = extent,
          .results = results,
          .low = attrs.ints("low")[d],
          .dilation = attrs.ints("interior")[d] + 1,
          .spreads = true,
          .fill = 1};
}
bool is_padded(const Attrs& attrs, std::size_t d, std::int64_t extent, std::int64_t results) {
  return attrs.ints("low")[d] != 0 || attrs.ints("high")[d] != 0 || extent != results;
}

FactorRule pad_sharding(const ShardArgs& a) {
  const Shape &x = a.inputs[0].shape, &y = a.outputs[0].shape;
  FactorRule rule;
  const std::vector<int> dims = rule.factors(y);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!is_padded(a.attrs, d, x[d], y[d])) continue;
    rule.mark(FactorRule::Kind::window, dims[d]);
    FactorRule::Window w = pad_window(a.attrs, d, x[d], y[d]);
    w.factor = dims[d];
    rule.window(w);
  }
  rule.input(dims);
  rule.input({});
  rule.output(dims);
  return rule;
}

// A shard is padded by the distances of its first and last elements from its edges.
Values pad_local(const LocalArgs& a) {
  Value part = a.inputs[0];
  Ints low = a.attrs.ints("low"), high = a.attrs.ints("high"), interior = a.attrs.ints("interior");
  for (std::size_t d = 0; d < low.size(); ++d) {
    const std::int64_t x = a.whole_inputs[0].shape[d], y = a.whole_outputs[0].shape[d];
    if (a.outputs[0][d] == y || !is_padded(a.attrs, d, x, y)) continue;
    const auto dim = static_cast<int>(d);
    const Strings& axes = a.output_specs[0].axes_of(dim);
    const Stretch s = fetch_window(part, dim, pad_window(a.attrs, d, x, y), axes, a.parts(axes),
                                   Around::of(a.inputs[1]));
    low[d] = s.low;
    high[d] = s.high;
    if (s.spread > 1) interior[d] = 0;
  }
  return {pad(part, a.inputs[1], low, high, interior)};
}

}  // namespace

void register_pad(Registry& r) {
  Op op;
  op.name = "pad";
  op.doc =
      "Puts the scalar second operand `low` times before, `high` times after and `interior` times "
      "between the elements of every "
      "dimension of the first. Negative `low` and `high` crop.";
  op.stablehlo = "pad";
  op.attrs = {{"low", AttrKind::ints, "values in front, a dimension; negative crops"},
              {"high", AttrKind::ints, "values behind, a dimension; negative crops"},
              {"interior", AttrKind::ints, "values between neighbours, a dimension"}};
  op.inputs = 2;
  op.fuse = fuses_as(FuseRole::movement);
  op.infer = pad_infer;
  op.jvp = linear_jvp();
  op.transpose = pad_transpose;
  op.batch = pad_batch;
  op.sharding = pad_sharding;
  op.local = pad_local;
  op.updates = updates_of({0});
  op.cost = movement_cost();
  op.evaluate = [](const EvalArgs& a) {
    const HostArray& x = a.inputs[0];
    const Ints &low = a.attrs.ints("low"), &interior = a.attrs.ints("interior");
    Shape strides = x.shape.strides();
    auto n = static_cast<std::size_t>(size_of(x.dtype));
    std::byte* to = a.outputs[0].bytes;
    for_each_index(a.outputs[0].shape, [&](const Shape& index) {
      std::int64_t flat = 0;
      bool inside = true;
      for (std::size_t d = 0; d < index.size() && inside; ++d) {
        std::int64_t j = index[d] - low[d], step = interior[d] + 1;
        inside = j >= 0 && j % step == 0 && j / step < x.shape[d];
        flat += j / step * strides[d];
      }
      std::memcpy(to, inside ? x.bytes + static_cast<std::size_t>(flat) * n : a.inputs[1].bytes, n);
      to += n;
    });
  };
  op.emit = pad_emit;
  op.examples = [] {
    auto example = [](DType dtype, Shape shape, Ints low, Ints high, Ints interior) {
      return OpExample{
          {Type(dtype, std::move(shape)), Type(dtype, {})},
          {{"low", std::move(low)}, {"high", std::move(high)}, {"interior", std::move(interior)}}};
    };
    return std::vector<OpExample>{example(DType::float32, {4}, {1}, {2}, {0}),
                                  example(DType::float64, {3, 2}, {0, 1}, {2, 0}, {1, 2}),
                                  example(DType::float32, {5, 4}, {-1, 2}, {1, -3}, {0, 0}),
                                  example(DType::float32, {6}, {-3}, {-1}, {2}),
                                  example(DType::int32, {0, 2}, {2, 0}, {1, 0}, {3, 0})};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops

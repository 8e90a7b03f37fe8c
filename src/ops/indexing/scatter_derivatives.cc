// Derivatives of the scatter family.
#include "ops/indexing/indexing.h"
#include "ops/indexing/scatter_rules.h"

#include <limits>

namespace tessera::inline v0::ops {

namespace {

std::string gather_mode(const Attrs& attrs) {
  return attrs.str("mode") == "clip" ? "clip" : "zero";
}

/// The elements of x at the position of each update; zero for updates that are dropped.
Value under(Value x, Value indices, const Shape& updates, const Attrs& attrs) {
  if (x.shape().count() == 0) return zeros(*x.builder, Type(x.dtype(), updates));
  ScatterDims dims = scatter_dims(attrs);
  WindowDimsOf w = window_dims_of(dims, updates.rank(), x.rank(), indices.rank());
  Ints sizes = filled(x.shape().size(), 1);
  for (std::size_t k = 0; k < w.window.size(); ++k)
    sizes[static_cast<std::size_t>(w.operand_window[k])] =
        updates[static_cast<std::size_t>(w.window[k])];
  return gather(x, indices, as_gather(dims), sizes, gather_mode(attrs));
}

Value scattered(std::string_view op, Value x, Value indices, Value updates, const Attrs& attrs) {
  return scatter(op, x, indices, updates, scatter_dims(attrs), attrs.str("mode"),
                 attrs.flag("unique"));
}

/// True for the updates that are the last at their position.
Value is_last(Builder& b, const Shape& x, Value indices, const Shape& updates, const Attrs& attrs) {
  DType dtype =
      updates.count() < std::numeric_limits<std::int32_t>::max() ? DType::int32 : DType::int64;
  Value number = reshape(iota(b, dtype, {updates.count()}, 0), updates);
  Value last = scattered("scatter", full(b, dtype, x, -1), indices, number, attrs);
  return eq(under(last, indices, updates, attrs), number);
}

/// For each update, the product of x and the other updates at its position. It is computed from the
/// product of all nonzero updates, divided by the update itself, and is zero if another one is
/// zero.
Value other_factors(Value x, Value indices, Value updates, const Attrs& attrs) {
  const Shape& shape = updates.shape();
  const Value one = full_like(updates, 1), is_zero = eq(updates, zeros_like(updates));
  const Value factors = select(is_zero, one, updates);
  const Value product = scattered("scatter_mul", x, indices, factors, attrs);
  const Value zeros_there = scattered("scatter_add", zeros_like(x), indices,
                                      select(is_zero, one, zeros_like(one)), attrs);
  const Value own = select(is_zero, one, zeros_like(one));
  const Value other_zeros = sub(under(zeros_there, indices, shape, attrs), own);
  const Value how_many = is_complex(other_zeros.dtype()) ? real(other_zeros) : other_zeros;
  const Value others_are_zero = gt(how_many, full_like(how_many, 0.5));
  const Value others = div(under(product, indices, shape, attrs), factors);
  return select(others_are_zero, zeros_like(others), others);
}

}  // namespace

bool windows_apart(const Attrs& attrs, const Shape& indices) {
  const auto components = std::ssize(attrs.ints("scatter_dims_to_operand_dims"));
  return attrs.flag("unique") || indices.count() <= components;
}

MaybeValues scatter_set_transpose(const TransposeArgs& a) {
  MaybeValues out(3);
  if (!a.cotangents[0]) return out;
  Value ct = *a.cotangents[0], indices = *a.inputs[1];
  const Shape& updates = a.types[2].shape;
  if (a.linear[0])
    out[0] = scattered("scatter", ct, indices, zeros(a.b, Type(ct.dtype(), updates)), a.attrs);
  if (a.linear[2]) {
    Value seen = under(ct, indices, updates, a.attrs);
    if (!windows_apart(a.attrs, indices.shape()))
      seen = select(is_last(a.b, ct.shape(), indices, updates, a.attrs), seen, zeros_like(seen));
    out[2] = seen;
  }
  return out;
}

MaybeValues scatter_add_transpose(const TransposeArgs& a) {
  MaybeValues out(3);
  if (!a.cotangents[0]) return out;
  if (a.linear[0]) out[0] = a.cotangents[0];
  if (a.linear[2]) out[2] = under(*a.cotangents[0], *a.inputs[1], a.types[2].shape, a.attrs);
  return out;
}

MaybeValues scatter_mul_transpose(const TransposeArgs& a) {
  MaybeValues out(3);
  if (!a.cotangents[0]) return out;
  if (a.linear[2]) throw InternalError("scatter_mul is not transposed with respect to its updates");
  out[0] = scattered("scatter_mul", *a.cotangents[0], *a.inputs[1], *a.inputs[2], a.attrs);
  return out;
}

MaybeValues scatter_mul_jvp(const JvpArgs& a) {
  Value x = a.inputs[0], indices = a.inputs[1], updates = a.inputs[2];
  MaybeValue out;
  if (a.tangents[0]) out = scattered("scatter_mul", *a.tangents[0], indices, updates, a.attrs);
  if (a.tangents[2]) {
    Value others = windows_apart(a.attrs, indices.shape())
                       ? under(x, indices, updates.shape(), a.attrs)
                       : other_factors(x, indices, updates, a.attrs);
    Value share = mul(*a.tangents[2], others);
    Value base = out ? *out : zeros_like(x);
    out = scattered("scatter_add", base, indices, share, a.attrs);
  }
  return {out};
}

MaybeValues scatter_extremum_jvp(const JvpArgs& a) {
  if (!a.tangents[0] && !a.tangents[2]) return MaybeValues(1);
  Value x = a.inputs[0], indices = a.inputs[1], updates = a.inputs[2], result = a.outputs[0];
  Value x_wins = eq(x, result);
  Value update_wins = eq(updates, under(result, indices, updates.shape(), a.attrs));
  auto kept = [&](Value mask, Value v) { return select(mask, v, zeros_like(v)); };
  Value ones_x = kept(x_wins, full_like(x, 1)),
        ones_updates = kept(update_wins, full_like(updates, 1));
  Value count = scattered("scatter_add", ones_x, indices, ones_updates, a.attrs);
  Value sum = a.tangents[0] ? kept(x_wins, *a.tangents[0]) : zeros_like(x);
  if (a.tangents[2])
    sum = scattered("scatter_add", sum, indices, kept(update_wins, *a.tangents[2]), a.attrs);
  return {div(sum, count)};
}

}  // namespace tessera::inline v0::ops

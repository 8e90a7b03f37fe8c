// Reductions and windows whose initial value or padding must not be combined with the elements:
// each element gets a flag that tells whether it exists.
#include "ops/reduction/general.h"
#include "ops/reduction/window_dims.h"
#include "stablehlo/emit/composed.h"
#include "stablehlo/emit/rules.h"

namespace tessera::inline v0::stablehlo::write {

namespace {

// The body on flagged values: an empty accumulator takes the element unchanged. Padding, and
// initial values that are no identity, thus have no effect until the end.
ProgramPtr flagged_body(const Program& body) {
  Builder b;
  const std::size_t n = body.outputs.size();
  const auto side = [&](std::size_t first) {
    Values v;
    for (std::size_t i = 0; i < n; ++i) {
      const Type& t = body.type(body.inputs[first + i]);
      v.push_back(b.input(Type(t.dtype, {})));
    }
    v.push_back(b.input(Type(DType::boolean, {})));
    return v;
  };
  const Values x = side(0), y = side(n);
  Values both(x.begin(), x.end() - 1);
  both.insert(both.end(), y.begin(), y.end() - 1);
  const Values made = b.inline_program(body, both);
  Values out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(ops::select(x[n], ops::select(y[n], made[i], x[i]), y[i]));
  out.push_back(ops::or_(x[n], y[n]));
  return b.finish(out);
}

struct Flagged {
  Values xs, inits;
};
Flagged flagged(const Values& in) {
  const std::size_t n = in.size() / 2;
  Builder& b = *in[0].builder;
  Flagged f;
  f.xs.assign(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n));
  for (const Value& x : f.xs)
    f.inits.push_back(ops::constant(b, scalar_literal(x.dtype(), std::int64_t{0})));
  f.xs.push_back(whole(b, DType::boolean, f.xs[0].shape(), 1));
  f.inits.push_back(ops::constant(b, scalar_literal(DType::boolean, std::int64_t{0})));
  return f;
}

// Combines the initial values with the result over the elements, if there were any.
Values from_starts(const Program& body, const Values& in, Values met) {
  const Value any = met.back();
  met.pop_back();
  Values starts;
  for (std::size_t i = 0; i < met.size(); ++i) {
    const Value start = in[met.size() + i];
    starts.push_back(start.rank() == 0 ? ops::broadcast_in_dim(start, met[i].shape(), {}) : start);
  }
  Values arguments = starts;
  arguments.insert(arguments.end(), met.begin(), met.end());
  Values out = ops::map_body(*in[0].builder, body, arguments);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = ops::select(any, out[i], starts[i]);
  return out;
}

Values reduce_of_flagged(const Writing& w, const Values& in) {
  const ProgramPtr body = w.attrs.program("body");
  const Flagged f = flagged(in);
  return from_starts(*body, in,
                     ops::reduce(f.xs, f.inits, flagged_body(*body), w.attrs.ints("axes")));
}

// The result of each window, and whether the window has any element: padding and holes are elements
// that do not exist.
Values met_in_windows(const Writing& w, const Program& body, const Values& in) {
  Flagged f = flagged(in);
  ops::WindowDims d = ops::window_dims(w.attrs);
  const Shape windows = ops::windowed_shape(f.xs[0].shape(), d);
  if (windows.count() == 0) {  // cropping may go beyond the array
    Values none;
    for (const Value& x : f.xs) none.push_back(whole(*x.builder, x.dtype(), windows, 0));
    return none;
  }
  Ints holes = d.base_dilation;
  for (std::int64_t& h : holes) --h;
  for (std::size_t i = 0; i < f.xs.size(); ++i)
    f.xs[i] = ops::pad(f.xs[i], f.inits[i], d.pad_low, d.pad_high, holes);
  d.pad_low = d.pad_high = Ints(holes.size(), 0);
  d.base_dilation = Ints(holes.size(), 1);
  return ops::reduce_window(f.xs, f.inits, flagged_body(body), d);
}

Values windows_of_flagged(const Writing& w, const Values& in) {
  const ProgramPtr body = w.attrs.program("body");
  return from_starts(*body, in, met_in_windows(w, *body, in));
}

// Reduces pairs (element, other) to that of the extremum: the first of equals wins, and NaN wins
// over any number.
Values met_beside_extremum(const Writing& w, Value xs, Value beside) {
  Builder b;
  const Type t(xs.dtype(), {}), other(beside.dtype(), {});
  const Value x = b.input(t), dx = b.input(other), y = b.input(t), dy = b.input(other);
  const bool greatest = w.attrs.str("select") == "ge";
  const Value stays = ops::or_(greatest ? ops::ge(x, y) : ops::le(x, y), ops::ne(x, x));
  const ProgramPtr body = b.finish(Values{ops::select(stays, x, y), ops::select(stays, dx, dy)});
  const Value zero = ops::constant(*xs.builder, scalar_literal(t.dtype, std::int64_t{0})),
              none = ops::constant(*xs.builder, scalar_literal(other.dtype, std::int64_t{0}));
  return met_in_windows(w, *body, {xs, beside, zero, none});
}

// For a window without elements the result is the initial value, zero.
Values tangent_of_extremum(const Writing& w, const Values& in) {
  return {met_beside_extremum(w, in[0], in[1])[1]};
}

// Scatters to the positions of the extrema; a window without elements has none.
Values scatter_to_extrema(const Writing& w, const Values& in) {
  Builder& b = *in[0].builder;
  const Shape& shape = in[0].shape();
  const std::int64_t n = shape.count(), windows = in[1].shape().count();
  const Value places = ops::reshape(ops::iota(b, DType::int64, Shape{n}, 0), shape);
  const Values met = met_beside_extremum(w, in[0], places);
  const Value none = whole(b, DType::int64, met[1].shape(), -1);
  const Value at = ops::reshape(ops::select(met[2], met[1], none), Shape{windows});
  ops::ScatterDims d;
  d.inserted_window_dims = d.scatter_dims_to_operand_dims = {0};
  d.index_vector_dim = 1;
  const Value sums = ops::scatter("scatter_add", whole(b, in[1].dtype(), Shape{n}, 0), at,
                                  ops::reshape(in[1], Shape{windows}), d);
  return {ops::reshape(sums, shape)};
}

}  // namespace

Names select_and_gather_add(Writing& w) { return composed(w, tangent_of_extremum); }
Names flagged_reduce(Writing& w) { return composed(w, reduce_of_flagged); }
Names flagged_select_and_scatter(Writing& w) { return composed(w, scatter_to_extrema); }
Names flagged_window(Writing& w) { return composed(w, windows_of_flagged); }

}  // namespace tessera::inline v0::stablehlo::write

// Reductions of whole arrays and over windows.
#include "ops/reduction/window_dims.h"
#include "stablehlo/emit/combining.h"
#include "stablehlo/emit/rules.h"

#include <limits>

namespace tessera::inline v0::stablehlo {

std::string combining_op(Combiner how) {
  switch (how) {
    case Combiner::add: return "stablehlo.add";
    case Combiner::mul: return "stablehlo.multiply";
    case Combiner::min: return "stablehlo.minimum";
    case Combiner::max: return "stablehlo.maximum";
    case Combiner::and_: return "stablehlo.and";
    case Combiner::or_: return "stablehlo.or";
    case Combiner::replace: break;
  }
  return {};
}

RegionText combining_region(Combiner how, DType dtype) {
  const Type t(dtype, {});
  return {{t, t},
          [how, t](Block& b, const Names& a) {
            return how == Combiner::replace ? Names{a[1]} : Names{b.apply(combining_op(how), a, t)};
          },
          {t}};
}

Literal neutral_element(Combiner how, DType dtype) {
  if (how == Combiner::add || how == Combiner::or_) return scalar_literal(dtype, std::int64_t{0});
  if (how == Combiner::mul) return scalar_literal(dtype, std::int64_t{1});
  if (how == Combiner::and_)
    return scalar_literal(dtype, std::int64_t{dtype == DType::boolean ? 1 : -1});
  const bool least = how == Combiner::max;
  if (is_floating(dtype)) {
    const double inf = std::numeric_limits<double>::infinity();
    return scalar_literal(dtype, least ? -inf : inf);
  }
  return dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>)
      return scalar_literal(dtype,
                            static_cast<std::int64_t>(least ? std::numeric_limits<T>::lowest()
                                                            : std::numeric_limits<T>::max()));
    else
      return scalar_literal(dtype, 0.0);  // complex numbers are not ordered
  });
}

namespace write {

namespace {

std::string window_attributes(const Attrs& attrs) {
  const ops::WindowDims d = ops::window_dims(attrs);
  IntLists padding;
  for (std::size_t i = 0; i < d.window.size(); ++i)
    padding.push_back({d.pad_low[i], d.pad_high[i]});
  return "base_dilations = " + array_text(d.base_dilation) +
         ", padding = " + rows_text(padding, 2) +
         ", window_dilations = " + array_text(d.window_dilation) +
         ", window_dimensions = " + array_text(d.window) +
         ", window_strides = " + array_text(d.strides);
}

Names windows_of(Writing& w, Combiner how) {
  const DType d = w.type().dtype;
  const std::string init = w.block.constant(neutral_element(how, d));
  const std::vector<Type> types{w.in_types[0], Type(d, {})};
  return w.block.generic("stablehlo.reduce_window", {w.in[0], init}, window_attributes(w.attrs),
                         types, w.out_types, {combining_region(how, d)});
}

// The region of (accumulators..., elements...), one scalar per operand.
RegionText body_region(const Writing& w) { return Block::region(w.attrs.program("body")); }

}  // namespace

Names reduce_monoid(Writing& w) {
  const DType d = w.type().dtype;
  const std::string init = w.block.constant(neutral_element(w.op.combiner, d));
  return w.block.define("stablehlo.reduce(" + w.in[0] + " init: " + init + ") applies " +
                        combining_op(w.op.combiner) + " across dimensions = " +
                        list_text(w.attrs.ints("axes")) + " : (" + type_text(w.in_types[0]) + ", " +
                        type_text(Type(d, {})) + ") -> " + type_text(w.type()));
}

Names reduce(Writing& w) {
  return w.block.generic("stablehlo.reduce", w.in,
                         "dimensions = " + array_text(w.attrs.ints("axes")), w.in_types,
                         w.out_types, {body_region(w)});
}

Names window_sum(Writing& w) { return windows_of(w, Combiner::add); }
Names window_max(Writing& w) { return windows_of(w, Combiner::max); }
Names window_min(Writing& w) { return windows_of(w, Combiner::min); }

Names reduce_window(Writing& w) {
  return w.block.generic("stablehlo.reduce_window", w.in, window_attributes(w.attrs), w.in_types,
                         w.out_types, {body_region(w)});
}

Names select_and_scatter_add(Writing& w) {
  const DType d = w.type().dtype;
  const Type scalar(d, {}), truth(DType::boolean, {});
  const std::string init = w.block.number(d, 0);
  const bool greatest = w.attrs.str("select") == "ge";
  const RegionText select{{scalar, scalar},
                          [=](Block& b, const Names& a) {
                            return Names{b.compare(greatest ? "GE" : "LE", a[0], a[1], scalar)};
                          },
                          {truth}};
  const ops::WindowDims dims = ops::window_dims(w.attrs);
  IntLists padding;
  for (std::size_t i = 0; i < dims.window.size(); ++i)
    padding.push_back({dims.pad_low[i], dims.pad_high[i]});
  const std::vector<Type> types{w.in_types[0], w.in_types[1], scalar};
  return w.block.generic("stablehlo.select_and_scatter", {w.in[0], w.in[1], init},
                         "padding = " + rows_text(padding, 2) +
                             ", window_dimensions = " + array_text(dims.window) +
                             ", window_strides = " + array_text(dims.strides),
                         types, w.out_types, {select, combining_region(Combiner::add, d)});
}

}  // namespace write

}  // namespace tessera::inline v0::stablehlo

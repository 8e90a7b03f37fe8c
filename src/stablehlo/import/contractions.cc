// Matrix products and convolutions.
#include "stablehlo/import/rules.h"

#include <algorithm>
#include <charconv>

namespace tessera::inline v0::stablehlo::rules {

namespace {

// Operands converted to one dtype, of the kind of the result, since the elements multiplied have
// the result's type. If the conversion to the result loses something (fractions of floats to
// integers, or imaginary parts of complex numbers), the sums are computed before it.
struct Pair {
  Value x, y;
  DType computed;
};
Pair agree(Value x, Value y, DType result) {
  const DType d = x.dtype();
  if (d == y.dtype() &&
      (is_complex(d) ? !is_complex(result) : is_floating(d) && is_integer(result)))
    return {x, y, d};
  const bool same_kind = is_floating(d) == is_floating(result) &&
                         is_complex(d) == is_complex(result) &&
                         (d == DType::boolean) == (result == DType::boolean);
  if (d == y.dtype() && same_kind) return {x, y, result};
  return {ops::convert(x, result), ops::convert(y, result), result};
}

Value as_result(Value x, DType result) {
  return ops::convert(is_complex(x.dtype()) && !is_complex(result) ? ops::real(x) : x, result);
}

// The positions of the dimensions of a convolution's array by their labels: first, second, then the
// spatial ones.
Ints positions(Reading& r, const AttributeSyntax& labels, const char* first, const char* second) {
  Ints out(labels.items.size(), -1);
  if (out.size() < 2) r.refuse("a convolution's arrays have two dimensions at least");
  for (std::size_t i = 0; i < labels.items.size(); ++i) {
    const std::string_view name = labels.items[i].text;
    std::size_t k = name == first ? 0 : name == second ? 1 : out.size();
    std::size_t spatial = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), spatial);
    if (parsed.ec == std::errc() && spatial < out.size()) k = spatial + 2;
    if (k >= out.size() || out[k] >= 0)
      fail(*r.importer.module.source, labels.items[i].at,
           {shown(name) + " is no further dimension of this array",
            std::string("its dimensions are ") + first + ", " + second +
                " and the spatial ones from 0, once each"});
    out[k] = static_cast<std::int64_t>(i);
  }
  return out;
}

// The same from the fields of #stablehlo.conv<raw input_batch_dimension = 0, ...> or a similar
// struct.
Ints raw_positions(Reading& r, const AttributeSyntax& a, const std::string& first,
                   const std::string& second, const std::string& spatial) {
  Ints out;
  for (const std::string& name : {first, second}) {
    const Ints one = r.field(a, name);
    out.push_back(one.size() == 1 ? one[0] : 0);
  }
  for (std::int64_t d : r.field(a, spatial)) out.push_back(d);
  return out;
}

Value reversed_kernel(Reading& r, Value w, const Ints& spec) {
  const Ints reversal = r.ints_or("window_reversal", {});
  Ints dims;
  for (std::size_t i = 0; i < reversal.size() && i + 2 < spec.size(); ++i)
    if (reversal[i]) dims.push_back(spec[i + 2]);
  std::sort(dims.begin(), dims.end());
  r.check_dims(dims, w.rank(), "window_reversal");
  return dims.empty() ? w : ops::reverse(w, dims);
}

}  // namespace

Values dot(Reading& r) {
  r.need_operands(2);
  const DType result = r.result_dtype();
  const auto [x, y, computed] = agree(r.in[0], r.in[1], result);
  if (x.rank() < 1 || x.rank() > 2 || y.rank() < 1 || y.rank() > 2)
    r.refuse("it takes vectors and matrices");
  const Value product = ops::dot_general(x, y, {{x.rank() - 1}, {0}, {}, {}}, computed);
  return {as_result(product, result)};
}

Values dot_general(Reading& r) {
  r.need_operands(2);
  const DType result = r.result_dtype();
  const auto [x, y, computed] = agree(r.in[0], r.in[1], result);
  const AttributeSyntax* fields = r.find("dot_dimension_numbers");
  const auto dims = [&](const char* name) {
    return fields ? r.field(*fields, name) : r.ints_or(name, {});
  };
  const Value product =
      ops::dot_general(x, y,
                       {dims("lhs_contracting_dimensions"), dims("rhs_contracting_dimensions"),
                        dims("lhs_batching_dimensions"), dims("rhs_batching_dimensions")},
                       computed);
  return {as_result(product, result)};
}

Values convolution(Reading& r) {
  if (r.in.size() < 2) r.refuse("it takes two operands");
  const DType result = r.result_dtype();
  auto [x, w, computed] = agree(r.in[0], r.in[1], result);
  if (x.dtype() != computed) x = ops::convert(x, computed), w = ops::convert(w, computed);
  ops::ConvDims d;
  const AttributeSyntax& a = r.need("dimension_numbers");
  if (a.kind == AttributeSyntax::conv && a.items.size() == 3) {
    d.lhs_spec = positions(r, a.items[0], "b", "f");
    d.rhs_spec = positions(r, a.items[1], "o", "i");
    d.out_spec = positions(r, a.items[2], "b", "f");
  } else {
    d.lhs_spec = raw_positions(r, a, "input_batch_dimension", "input_feature_dimension",
                               "input_spatial_dimensions");
    d.rhs_spec = raw_positions(r, a, "kernel_output_feature_dimension",
                               "kernel_input_feature_dimension", "kernel_spatial_dimensions");
    d.out_spec = raw_positions(r, a, "output_batch_dimension", "output_feature_dimension",
                               "output_spatial_dimensions");
  }
  const auto rank = static_cast<std::size_t>(x.rank());
  if (rank < 2 || w.rank() != x.rank() || d.lhs_spec.size() != rank || d.rhs_spec.size() != rank ||
      d.out_spec.size() != rank)
    r.refuse("its dimension numbers do not fit operands " + to_string(x.type()) + " and " +
             to_string(w.type()));
  for (const Ints* spec : {&d.lhs_spec, &d.rhs_spec, &d.out_spec})
    r.check_dims(*spec, x.rank(), "dimension_numbers");
  const std::size_t spatial = rank - 2;
  const auto per_dim = [&](const char* name) {
    const Ints v = r.ints_or(name, Ints(spatial, 1));
    if (v.size() != spatial)
      r.refuse(std::string(name) + " has " + std::to_string(v.size()) + " entries for " +
               std::to_string(spatial) + " spatial dimensions");
    return v;
  };
  d.strides = per_dim("window_strides");
  d.lhs_dilation = per_dim("lhs_dilation");
  d.rhs_dilation = per_dim("rhs_dilation");
  IntLists padding = r.rows_or("padding", IntLists(spatial, Ints{0, 0}));
  if (r.in.size() == 3) {  // dynamic_conv
    const std::optional<Ints> known = r.known_integers(r.in[2]);
    if (!known || known->size() != 2 * spatial)
      r.refuse("its padding is not known before the program runs", "shapes are static");
    for (std::size_t i = 0; i < spatial; ++i) padding[i] = {(*known)[2 * i], (*known)[2 * i + 1]};
  }
  if (padding.size() != spatial)
    r.refuse("padding has " + std::to_string(padding.size()) + " rows for " +
             std::to_string(spatial) + " spatial dimensions");
  for (const Ints& row : padding) {
    d.pad_low.push_back(row[0]);
    d.pad_high.push_back(row[1]);
  }
  d.feature_groups = r.integer_or("feature_group_count", 1);
  d.batch_groups = r.integer_or("batch_group_count", 1);
  return {as_result(ops::convolution(x, reversed_kernel(r, w, d.rhs_spec), d), result)};
}

}  // namespace tessera::inline v0::stablehlo::rules

// Matrix products and convolutions.
#include "ops/contraction/conv_dims.h"
#include "stablehlo/emit/rules.h"

namespace tessera::inline v0::stablehlo::write {

namespace {

// "[b, 0, 1, f]": the labels at the positions that `spec` gives for (first, second, spatial...).
std::string labels(const Ints& spec, const char* first, const char* second) {
  Names out(spec.size());
  for (std::size_t i = 0; i < spec.size(); ++i)
    out[static_cast<std::size_t>(spec[i])] = i == 0   ? first
                                             : i == 1 ? second
                                                      : std::to_string(i - 2);
  return "[" + joined(out) + "]";
}

}  // namespace

Names dot_general(Writing& w) {
  const Ints &lb = w.attrs.ints("lhs_batch"), &rb = w.attrs.ints("rhs_batch");
  const std::string& precision = w.block.module.precision;
  std::string dims;
  if (!lb.empty()) dims = ", batching_dims = " + list_text(lb) + " x " + list_text(rb);
  return w.block.define("stablehlo.dot_general " + joined(w.in) + dims +
                        ", contracting_dims = " + list_text(w.attrs.ints("lhs_contracting")) +
                        " x " + list_text(w.attrs.ints("rhs_contracting")) + ", precision = [" +
                        precision + ", " + precision + "] : " + types_text(w.in_types) + " -> " +
                        type_text(w.type()));
}

Names convolution(Writing& w) {
  const ops::ConvDims d = ops::conv_dims(w.attrs);
  const std::string precision = "#stablehlo<precision " + w.block.module.precision + ">";
  IntLists padding;
  for (std::size_t i = 0; i < d.pad_low.size(); ++i)
    padding.push_back({d.pad_low[i], d.pad_high[i]});
  return w.block.generic(
      "stablehlo.convolution", w.in,
      "batch_group_count = " + std::to_string(d.batch_groups) +
          " : i64, dimension_numbers = #stablehlo.conv<" + labels(d.lhs_spec, "b", "f") + "x" +
          labels(d.rhs_spec, "o", "i") + "->" + labels(d.out_spec, "b", "f") +
          ">, feature_group_count = " + std::to_string(d.feature_groups) +
          " : i64, lhs_dilation = " + array_text(d.lhs_dilation) +
          ", padding = " + rows_text(padding, 2) + ", precision_config = [" + precision + ", " +
          precision + "]" + ", rhs_dilation = " + array_text(d.rhs_dilation) +
          ", window_strides = " + array_text(d.strides),
      w.in_types, w.out_types);
}

}  // namespace tessera::inline v0::stablehlo::write

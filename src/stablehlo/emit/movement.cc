// Ops that move elements without computing.
#include "stablehlo/emit/rules.h"

namespace tessera::inline v0::stablehlo::write {

namespace {

// "stablehlo.x %0, %1, dims = [0] : (A, B) -> C"
Names with_types(Writing& w, const std::string& head) {
  return w.block.define(head + " : " + types_text(w.in_types) + " -> " + type_text(w.type()));
}

}  // namespace

Names constant(Writing& w) { return {w.block.constant(w.attrs.get<Literal>("value"))}; }

Names iota(Writing& w) {
  return w.block.define("stablehlo.iota dim = " + std::to_string(w.attrs.i("dimension")) + " : " +
                        type_text(w.type()));
}

Names broadcast_in_dim(Writing& w) {
  return with_types(
      w, "stablehlo.broadcast_in_dim " + w.in[0] + ", dims = " + list_text(w.attrs.ints("dims")));
}

Names reshape(Writing& w) { return with_types(w, "stablehlo.reshape " + w.in[0]); }
Names bitcast_convert(Writing& w) { return with_types(w, "stablehlo.bitcast_convert " + w.in[0]); }

Names transpose(Writing& w) {
  return with_types(
      w, "stablehlo.transpose " + w.in[0] + ", dims = " + list_text(w.attrs.ints("permutation")));
}

Names reverse(Writing& w) {
  return w.block.define("stablehlo.reverse " + w.in[0] + ", dims = " +
                        list_text(w.attrs.ints("dims")) + " : " + type_text(w.type()));
}

Names concatenate(Writing& w) {
  return with_types(w, "stablehlo.concatenate " + joined(w.in) +
                           ", dim = " + std::to_string(w.attrs.i("dimension")));
}

Names slice(Writing& w) {
  const Ints &start = w.attrs.ints("start"), &limit = w.attrs.ints("limit"),
             &strides = w.attrs.ints("strides");
  Names dims;
  for (std::size_t i = 0; i < start.size(); ++i)
    dims.push_back(std::to_string(start[i]) + ":" + std::to_string(limit[i]) +
                   (strides[i] == 1 ? "" : ":" + std::to_string(strides[i])));
  return with_types(w, "stablehlo.slice " + w.in[0] + " [" + joined(dims) + "]");
}

Names pad(Writing& w) {
  return with_types(w, "stablehlo.pad " + joined(w.in) +
                           ", low = " + list_text(w.attrs.ints("low")) +
                           ", high = " + list_text(w.attrs.ints("high")) +
                           ", interior = " + list_text(w.attrs.ints("interior")));
}

Names dynamic_slice(Writing& w) {
  return with_types(w, "stablehlo.dynamic_slice " + joined(w.in) +
                           ", sizes = " + list_text(w.attrs.ints("sizes")));
}

Names dynamic_update_slice(Writing& w) {
  return with_types(w, "stablehlo.dynamic_update_slice " + joined(w.in));
}

}  // namespace tessera::inline v0::stablehlo::write

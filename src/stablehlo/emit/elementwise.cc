// Elementwise ops.
#include "stablehlo/emit/rules.h"

namespace tessera::inline v0::stablehlo::write {

Names spelled(Writing& w) {
  const std::string name = w.op.stablehlo.find('.') == std::string::npos
                               ? "stablehlo." + w.op.stablehlo
                               : w.op.stablehlo;
  const Type& out = w.type();
  bool same = name.starts_with("stablehlo.");
  for (const Type& t : w.in_types) same = same && t.dtype == out.dtype && t.shape == out.shape;
  if (same) return {w.block.apply(name, w.in, out)};
  return w.block.generic(name, w.in, "", w.in_types, w.out_types);
}

Names compare(Writing& w) {
  std::string direction;
  for (char c : w.op.name) direction += static_cast<char>(c - 'a' + 'A');
  return {w.block.compare(direction.c_str(), w.in[0], w.in[1], w.in_types[0])};
}

Names select(Writing& w) {
  return w.block.define("stablehlo.select " + joined(w.in) + " : " + type_text(w.in_types[0]) +
                        ", " + type_text(w.type()));
}

Names clamp(Writing& w) { return {w.block.apply("stablehlo.clamp", w.in, w.type())}; }

Names convert(Writing& w) {
  const Type &from = w.in_types[0], &to = w.type();
  if (from.dtype == to.dtype) return w.in;
  if (is_complex(from.dtype) && to.dtype == DType::boolean)  // convert would take the real part
    return {w.block.compare("NE", w.in[0], w.block.filled(from.dtype, from.shape, 0), from)};
  return w.block.define("stablehlo.convert " + w.in[0] + " : (" + type_text(from) + ") -> " +
                        type_text(to));
}

Names reduce_precision(Writing& w) {
  return w.block.define("stablehlo.reduce_precision " + w.in[0] + ", format = e" +
                        std::to_string(w.attrs.i("exponent_bits")) + "m" +
                        std::to_string(w.attrs.i("mantissa_bits")) + " : " + type_text(w.type()));
}

Names polygamma(Writing& w) {
  const Type& t = w.type();
  const std::string order = w.block.filled(t.dtype, t.shape, w.attrs.i("order"));
  const std::vector<Type> types{t, t};
  return w.block.generic("chlo.polygamma", {order, w.in[0]}, "", types, w.out_types);
}

Names sign_of_unsigned(Writing& w) {
  const Type& t = w.type();
  return {w.block.apply("stablehlo.minimum", {w.in[0], w.block.filled(t.dtype, t.shape, 1)}, t)};
}

Names parts_are_finite(Writing& w) {
  const Type& from = w.in_types[0];
  const Type part(size_of(from.dtype) == 8 ? DType::float32 : DType::float64, from.shape);
  const std::vector<Type> in{from}, parts{part};
  Names finite;
  for (const char* take : {"stablehlo.real", "stablehlo.imag"})
    finite.push_back(w.block.generic("stablehlo.is_finite",
                                     w.block.generic(take, w.in, "", in, parts), "", parts,
                                     w.out_types)[0]);
  return {w.block.apply("stablehlo.and", finite, w.type())};
}

Names identity(Writing& w) { return {w.in[0]}; }

Names barrier(Writing& w) {
  return {w.block.apply("stablehlo.optimization_barrier", w.in, w.type())};
}

}  // namespace tessera::inline v0::stablehlo::write

#include "api/special/in_float64.h"

namespace tessera::inline v0::detail {

Array in_float64(const char* name, std::initializer_list<Operand> operands,
                 const Float64Function& f) {
  return in_float64(name, operands, [&](std::span<const Array> in, bool) { return f(in); });
}
Array in_float64(const char* name, std::initializer_list<Operand> operands,
                 const Float64FunctionFor& f) {
  return several_in_float64(name, operands, [&](std::span<const Array> in, bool narrow) {
    return std::vector<Array>{f(in, narrow)};
  })[0];
}
std::vector<Array> several_in_float64(const char* name, std::initializer_list<Operand> operands,
                                      const Float64Functions& f) {
  std::vector<Array> given;
  for (const Operand& x : operands) given.push_back(x.array);
  const SourceLoc loc = operands.begin()->loc;
  return composed(name, given, loc, [&](std::span<const Array> in) {
    Promoted p{in[0].dtype(), in[0].weak_type()};
    Shape shape;
    for (const Array& x : in) {
      need_real(name, x, loc);
      p = promote(p.dtype, p.weak, x.dtype(), x.weak_type());
      shape = broadcast_shapes(shape, x.shape(), name, loc);
    }
    const bool wide = !p.weak && (p.dtype == DType::int64 || p.dtype == DType::uint64);
    const DType d = is_inexact(p.dtype) ? p.dtype : wide ? DType::float64 : DType::float32;
    std::vector<Array> doubles;
    for (const Array& x : in) doubles.push_back(broadcast_to(astype(x, DType::float64), shape));
    std::vector<Array> results = f(doubles, d != DType::float64);
    for (Array& r : results) r = astype(r, d);
    return results;
  });
}

Array count_over(const Array& x) { return sum(astype(isnan(x), DType::float64)) * 0; }

Array series(const Array& x, std::span<const double> c) {
  Array r = full_like(x, c.back());
  for (std::size_t k = c.size() - 1; k-- > 0;) r = add(multiply(r, x), c[k]);
  return r;
}

}  // namespace tessera::inline v0::detail

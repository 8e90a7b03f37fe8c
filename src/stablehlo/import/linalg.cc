// Fourier transforms, factorisations and triangular systems.
#include "ops/linalg/fft.h"

#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"
#include "stablehlo/import/rules.h"

namespace tessera::inline v0::stablehlo::rules {

namespace {

// What floats narrower than 32 bits are computed in.
Value widened(Value x) {
  return is_floating(x.dtype()) && size_of(x.dtype()) < 4 ? ops::convert(x, DType::float32) : x;
}

}  // namespace

Values fft(Reading& r) {
  r.need_operands(1);
  const std::string kind = r.word_or("fft_type", "FFT");
  return {ops::fft(r.in[0], kind, r.ints("fft_length"))};
}

Values cholesky(Reading& r) {
  r.need_operands(1);
  const Value a = widened(r.in[0]);
  const bool lower = r.flag_or("lower", false);
  if (a.rank() < 2) r.refuse("its operand has no rows and columns");
  const Value l = ops::cholesky(lower ? a : ops::adjoint(a));
  return {ops::in_dtype(lower ? l : ops::adjoint(l), r.in[0].dtype())};
}

Values triangular_solve(Reading& r) {
  r.need_operands(2);
  ops::TriangularDims dims;
  dims.left_side = r.flag_or("left_side", false);
  dims.lower = r.flag_or("lower", false);
  dims.unit_diagonal = r.flag_or("unit_diagonal", false);
  const std::string transposed = r.word_or("transpose_a", "NO_TRANSPOSE");
  if (transposed == "TRANSPOSE")
    dims.transposed = ops::Transposed::yes;
  else if (transposed == "ADJOINT")
    dims.transposed = ops::Transposed::adjoint;
  else if (transposed != "NO_TRANSPOSE")
    r.refuse("its transpose_a is " + transposed, "it is NO_TRANSPOSE, TRANSPOSE or ADJOINT");
  const Value x = ops::triangular_solve(widened(r.in[0]), widened(r.in[1]), dims);
  return {ops::in_dtype(x, r.in[1].dtype())};
}

}  // namespace tessera::inline v0::stablehlo::rules

// Fourier transforms, factorisations and triangular systems.
#include "ops/linalg/fft.h"

#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"
#include "stablehlo/import/rules.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::rules {

namespace {

// Floats narrower than 32 bits are computed in float32.
Value widened_matrix(Value x) {
  return is_floating(x.dtype()) && size_of(x.dtype()) < 4 ? ops::convert(x, DType::float32) : x;
}

// A transform along an axis without points: an empty sum, 0.
Value of_no_points(Reading& r, const std::string& kind, const Ints& length) {
  const Value x = r.in[0];
  const bool from_real = kind == "RFFT", to_real = kind == "IRFFT";
  if (length.size() > static_cast<std::size_t>(x.rank()))
    r.refuse("it has " + std::to_string(length.size()) + " lengths for the operand " +
             to_string(x.type()));
  if (is_complex(x.dtype()) == from_real)
    r.refuse("the operand of " + kind + " is " + to_string(x.type()));
  Shape shape = x.shape();
  for (std::size_t i = 0; i < length.size(); ++i) {
    const std::size_t d = shape.size() - length.size() + i;
    const std::int64_t half = length[i] / 2 + 1, last = i + 1 == length.size();
    const std::int64_t want = last && to_real ? half : length[i];
    if (length[i] < 0 || shape[d] != want)
      r.refuse("axis " + std::to_string(d) + " of the operand " + to_string(x.type()) + " has " +
                   std::to_string(shape[d]) + " elements",
               kind + " to " + std::to_string(length[i]) + " points takes " + std::to_string(want));
    shape[d] = last && from_real ? half : length[i];
  }
  const DType dtype = from_real ? complex_dtype(x.dtype())
                      : to_real ? real_dtype(x.dtype())
                                : x.dtype();
  return ops::zeros(r.b, Type(dtype, shape));
}

}  // namespace

Values fft(Reading& r) {
  r.need_operands(1);
  const std::string kind = r.word_or("fft_type", "FFT");
  const Ints length = r.ints("fft_length");
  if (std::find(length.begin(), length.end(), 0) != length.end())
    return {of_no_points(r, kind, length)};
  return {ops::fft(r.in[0], kind, length)};
}

Values cholesky(Reading& r) {
  r.need_operands(1);
  const Value a = widened_matrix(r.in[0]);
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
  const Value x = ops::triangular_solve(widened_matrix(r.in[0]), widened_matrix(r.in[1]), dims);
  return {ops::in_dtype(x, r.in[1].dtype())};
}

}  // namespace tessera::inline v0::stablehlo::rules

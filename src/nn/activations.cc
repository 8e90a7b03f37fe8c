#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/nn.h>
#include <tessera/reductions.h>

#include <cmath>

namespace tessera::inline v0::nn {

Array relu(Operand x) {
  // A selection, not maximum(x, 0): at 0 its derivative is 0, where maximum's would be a half.
  return where(Operand(greater(x, 0), x.loc), x, Operand(0, x.loc));
}
Array leaky_relu(Operand x, double slope) {
  return where(Operand(greater(x, 0), x.loc), x, multiply(x, slope));
}

Array gelu(Operand x, bool approximate) {
  if (!approximate) return multiply(multiply(x, 0.5), add(erf(multiply(x, std::sqrt(0.5))), 1.0));
  Array cube = multiply(multiply(x, x), x);
  Array inner = multiply(add(x, multiply(cube, 0.044715)), std::sqrt(2 / M_PI));
  return multiply(multiply(x, 0.5), add(tanh(inner), 1.0));
}
Array silu(Operand x) { return multiply(x, sigmoid(x)); }
Array softplus(Operand x) { return logaddexp(x, 0.0); }

namespace {
// x minus its maximum along the axis, which cancels in both softmaxes and so is no business of
// derivatives.
Array shifted(const Operand& x, std::int64_t axis) {
  return subtract(x, stop_gradient(max(x, axis, true)));
}
}  // namespace

Array softmax(Operand x, std::int64_t axis) {
  Array e = exp(Operand(shifted(x, axis), x.loc));
  return divide(e, sum(e, axis, true));
}
Array log_softmax(Operand x, std::int64_t axis) {
  Array s = shifted(x, axis);
  return subtract(s, log(sum(exp(s), axis, true)));
}

}  // namespace tessera::inline v0::nn

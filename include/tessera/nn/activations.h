// Activation functions under the names of jax.nn. Integers and booleans are converted to floats.
// Elementwise functions keep the shape, and round 16-bit floats once.
#pragma once

#include <tessera/array.h>

#include <optional>

namespace tessera::inline v0::nn {

/// max(x, 0); its derivative at 0 is 0.
TESSERA_API Array relu(Operand x);
/// x for x >= 0, and slope * x otherwise.
TESSERA_API Array leaky_relu(Operand x, double slope = 0.01);
/// x * Phi(x), using tanh (the approximation of Hendrycks and Gimpel 2016) or erf.
TESSERA_API Array gelu(Operand x, bool approximate = true);
/// x * sigmoid(x)
TESSERA_API Array silu(Operand x);
/// x for x > 0, alpha * (exp(x) - 1) otherwise.
TESSERA_API Array elu(Operand x, double alpha = 1.0);
/// log(sigmoid(x)), without overflow.
TESSERA_API Array log_sigmoid(Operand x);
/// log(1 + exp(x))
TESSERA_API Array softplus(Operand x);
/// exp(x) divided by its sum along the axis, without overflow.
TESSERA_API Array softmax(Operand x, std::int64_t axis = -1);
/// The logarithm of softmax along the axis, without overflow.
TESSERA_API Array log_softmax(Operand x, std::int64_t axis = -1);

/// x for x > 0, alpha * (exp(x / alpha) - 1) otherwise (Barron 2017). Throws Error if alpha is 0 or
/// not finite.
TESSERA_API Array celu(Operand x, double alpha = 1.0);
/// 1.0507 * elu(x, 1.6733), with the constants of Klambauer et al. 2017.
TESSERA_API Array selu(Operand x);
/// min(max(x, 0), 6)
TESSERA_API Array relu6(Operand x);
/// x clamped to [-1, 1].
TESSERA_API Array hard_tanh(Operand x);
/// relu6(x + 3) / 6
TESSERA_API Array hard_sigmoid(Operand x);
/// x * hard_sigmoid(x)
TESSERA_API Array hard_silu(Operand x);
/// x * hard_sigmoid(x), the same as hard_silu.
TESSERA_API Array hard_swish(Operand x);
/// x * sigmoid(x), another name for silu.
TESSERA_API Array swish(Operand x);
/// x * tanh(softplus(x)) (Misra 2019).
TESSERA_API Array mish(Operand x);
/// x / (1 + |x|)
TESSERA_API Array soft_sign(Operand x);
/// 0 for x <= -1, x for x >= 1, and (x + 1)^2 / 4 in between.
TESSERA_API Array sparse_plus(Operand x);
/// The derivative of sparse_plus: 0 for x <= -1, 1 for x >= 1, and (x + 1) / 2 in between.
TESSERA_API Array sparse_sigmoid(Operand x);
/// (x + sqrt(x^2 + b)) / 2 (Barron 2021). Throws Error for a negative b.
TESSERA_API Array squareplus(Operand x, double b = 4.0);
/// The first half of x along `axis` times the sigmoid of the second half. Throws ShapeError if the
/// axis has an odd extent.
TESSERA_API Array glu(Operand x, std::int64_t axis = -1);

/// The options of standardize. A given `mean` or `variance` is used instead of being computed.
/// `where` selects the elements that the statistics include.
struct StandardizeOptions {
  AxisList axis = -1;
  std::optional<Array> mean = {}, variance = {};
  double epsilon = 1e-5;
  std::optional<Array> where = {};
};
/// (x - mean) / sqrt(variance + epsilon), with statistics over the axes (all if none are given).
TESSERA_API Array standardize(Operand x, const StandardizeOptions& options = {});

}  // namespace tessera::inline v0::nn

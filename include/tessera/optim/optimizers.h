// Optimisers under the names of Optax; each takes the same steps as its counterpart there.
#pragma once

#include <tessera/optim/optimizer.h>

#include <optional>

namespace tessera::inline v0::optim {

// All optimisers throw Error for a rate that is negative or not finite (schedules are checked where
// they are made), for a decay or momentum outside [0, 1), and for an epsilon, weight decay or bound
// that is negative or NaN.

/// Stochastic gradient descent: -rate * g. With momentum it is -rate * m, where m = momentum * m +
/// g, or with `nesterov` -rate * (g + momentum * m).
TESSERA_API Optimizer sgd(Rate rate, double momentum = 0.0, bool nesterov = false,
                          std::source_location loc = std::source_location::current());
/// The options of adam and its variants. `nesterov` uses Nesterov momentum (Dozat 2016).
struct AdamOptions {
  /// The decay rates of the averages of gradients (b1) and of their squares (b2), and the constants
  /// that are added outside (eps) and inside (eps_root) the square root.
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0.0;
  bool nesterov = false;
};
/// Adam with bias correction (Kingma and Ba 2015): -rate * mhat / (sqrt(vhat + eps_root) + eps).
TESSERA_API Optimizer adam(Rate rate, AdamOptions options = {},
                           std::source_location loc = std::source_location::current());
/// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
TESSERA_API Optimizer adamw(Rate rate, double weight_decay = 1e-4, AdamOptions options = {},
                            std::source_location loc = std::source_location::current());
/// Only the weights selected by the mask decay: adamw(1e-3, 0.1, {}, [](const Array& p) { return
/// p.ndim() > 1; }) excludes biases and scales.
TESSERA_API Optimizer adamw(Rate rate, double weight_decay, AdamOptions options,
                            const Mask& decayed,
                            std::source_location loc = std::source_location::current());
/// -rate * g / sqrt(v + eps), where v is the moving average of g^2 (Tieleman and Hinton 2012).
TESSERA_API Optimizer rmsprop(Rate rate, double decay = 0.9, double eps = 1e-8,
                              std::source_location loc = std::source_location::current());

/// The options of adabelief, with Optax's names and defaults: b1, b2, eps, eps_root.
struct AdaBeliefOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-16, eps_root = 1e-16;
};
/// Adam with the variance of the gradients about their mean (Zhuang et al. 2020).
TESSERA_API Optimizer adabelief(Rate rate, AdaBeliefOptions options = {},
                                std::source_location loc = std::source_location::current());
/// Scales steps to the size of recent ones (Zeiler 2012).
TESSERA_API Optimizer adadelta(Rate rate = 1.0, double rho = 0.9, double eps = 1e-6,
                               double weight_decay = 0.0,
                               std::source_location loc = std::source_location::current());
/// The options of adafactor, with Optax's names and defaults.
struct AdafactorOptions {
  std::int64_t min_dim_size_to_factor = 128;  // applies to the second largest axis
  double decay_rate = 0.8;                    // the average keeps 1 - t^-decay_rate
  bool multiply_by_parameter_scale = true;
  std::optional<double> clipping_threshold = 1.0, momentum = {}, weight_decay_rate = {};
  double eps = 1e-30;
  bool factored = true;
};
/// Keeps second moments of matrices factored into rows and columns (Shazeer and Stern 2018).
/// Without a rate, steps are relative to the parameters alone.
TESSERA_API Optimizer adafactor(std::optional<Rate> rate = {}, AdafactorOptions options = {},
                                std::source_location loc = std::source_location::current());
/// -rate * g / sqrt(sum of squares so far) (Duchi et al. 2011).
TESSERA_API Optimizer adagrad(Rate rate, double initial_accumulator_value = 0.1, double eps = 1e-7,
                              std::source_location loc = std::source_location::current());
/// Adam with a decaying maximum of the gradients instead of the root of squares (Kingma and Ba
/// 2015).
TESSERA_API Optimizer adamax(Rate rate, AdamOptions options = {},
                             std::source_location loc = std::source_location::current());
/// Adam with the largest bias-corrected second moment so far (Reddi et al. 2018).
TESSERA_API Optimizer amsgrad(Rate rate, AdamOptions options = {},
                              std::source_location loc = std::source_location::current());
/// Adam with steps scaled to each parameter's norm (You et al. 2020).
TESSERA_API Optimizer lamb(Rate rate, double weight_decay = 0.0,
                           AdamOptions options = {.eps = 1e-6},
                           std::source_location loc = std::source_location::current());
/// Only the weights selected by the mask decay, here and below.
TESSERA_API Optimizer lamb(Rate rate, double weight_decay, AdamOptions options, const Mask& decayed,
                           std::source_location loc = std::source_location::current());
/// The options of lars, with Optax's names and defaults: weight_decay, trust_coefficient, eps,
/// momentum, nesterov.
struct LarsOptions {
  double weight_decay = 0.0, trust_coefficient = 0.001, eps = 0.0, momentum = 0.9;
  bool nesterov = false;
};
/// Momentum with steps scaled to each parameter's norm (You et al. 2017).
TESSERA_API Optimizer lars(Rate rate, LarsOptions options = {},
                           std::source_location loc = std::source_location::current());
/// Steps by the sign of a moving average of gradients, with decoupled weight decay (Chen et al.
/// 2023).
TESSERA_API Optimizer lion(Rate rate, double b1 = 0.9, double b2 = 0.99, double weight_decay = 1e-3,
                           std::source_location loc = std::source_location::current());
TESSERA_API Optimizer lion(Rate rate, double b1, double b2, double weight_decay,
                           const Mask& decayed,
                           std::source_location loc = std::source_location::current());
/// Adam with Nesterov momentum (Dozat 2016); nadamw adds decoupled weight decay.
TESSERA_API Optimizer nadam(Rate rate, AdamOptions options = {},
                            std::source_location loc = std::source_location::current());
TESSERA_API Optimizer nadamw(Rate rate, double weight_decay = 1e-4, AdamOptions options = {},
                             std::source_location loc = std::source_location::current());
TESSERA_API Optimizer nadamw(Rate rate, double weight_decay, AdamOptions options,
                             const Mask& decayed,
                             std::source_location loc = std::source_location::current());
/// The options of novograd, with Optax's names and defaults: b1, b2, eps, eps_root, weight_decay.
struct NovogradOptions {
  double b1 = 0.9, b2 = 0.25, eps = 1e-6, eps_root = 0.0, weight_decay = 0.0;
};
/// Keeps one second moment per parameter array (Ginsburg et al. 2019).
TESSERA_API Optimizer novograd(Rate rate, NovogradOptions options = {},
                               std::source_location loc = std::source_location::current());
/// Adam that omits the variance while its estimate is unreliable (Liu et al. 2020).
TESSERA_API Optimizer radam(Rate rate, AdamOptions options = {}, double threshold = 5.0,
                            std::source_location loc = std::source_location::current());
/// Adagrad with one accumulator per row, column and so on (Anil et al. 2019).
TESSERA_API Optimizer sm3(double rate, double momentum = 0.9,
                          std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0::optim

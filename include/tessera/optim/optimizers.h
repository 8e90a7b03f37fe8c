// Optimisers, as Optax names them; each takes the steps that Optax takes.
#pragma once

#include <tessera/optim/optimizer.h>

#include <optional>

namespace tessera::inline v0::optim {

// Errors: a rate that is negative or no finite number (a schedule is checked where it is made); a
// decay or a momentum outside [0, 1); an epsilon, a weight decay or a bound that is negative or
// NaN.

/// -rate * g, with momentum m = decay * m + g (Nesterov's variant looks one step ahead).
TESSERA_API Optimizer sgd(Rate rate, double momentum = 0.0, bool nesterov = false,
                          std::source_location loc = std::source_location::current());
/// With `nesterov` the mean looks one step ahead (Dozat 2016).
struct AdamOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0.0;
  bool nesterov = false;
};
/// Kingma and Ba 2015, with bias correction: -rate * mhat / (sqrt(vhat + eps_root) + eps).
TESSERA_API Optimizer adam(Rate rate, AdamOptions options = {},
                           std::source_location loc = std::source_location::current());
/// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
TESSERA_API Optimizer adamw(Rate rate, double weight_decay = 1e-4, AdamOptions options = {},
                            std::source_location loc = std::source_location::current());
/// Weights decay where the mask says so: adamw(1e-3, 0.1, {}, [](const Array& p) { return p.ndim()
/// > 1; }) leaves biases and scales alone.
TESSERA_API Optimizer adamw(Rate rate, double weight_decay, AdamOptions options,
                            const Mask& decayed,
                            std::source_location loc = std::source_location::current());
/// -rate * g / sqrt(v + eps), v the moving average of g^2 (Tieleman and Hinton 2012).
TESSERA_API Optimizer rmsprop(Rate rate, double decay = 0.9, double eps = 1e-8,
                              std::source_location loc = std::source_location::current());

struct AdaBeliefOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-16, eps_root = 1e-16;
};
/// Adam with the variance about the mean of the gradients (Zhuang et al. 2020).
TESSERA_API Optimizer adabelief(Rate rate, AdaBeliefOptions options = {},
                                std::source_location loc = std::source_location::current());
/// Steps as long as those of late (Zeiler 2012).
TESSERA_API Optimizer adadelta(Rate rate = 1.0, double rho = 0.9, double eps = 1e-6,
                               double weight_decay = 0.0,
                               std::source_location loc = std::source_location::current());
struct AdafactorOptions {
  std::int64_t min_dim_size_to_factor = 128;  // of the second largest axis
  double decay_rate = 0.8;                    // the average keeps 1 - t^-decay_rate
  bool multiply_by_parameter_scale = true;
  std::optional<double> clipping_threshold = 1.0, momentum = {}, weight_decay_rate = {};
  double eps = 1e-30;
  bool factored = true;
};
/// Second moments of matrices kept as those of rows and columns (Shazeer and Stern 2018). Without a
/// rate steps are relative to the parameters alone.
TESSERA_API Optimizer adafactor(std::optional<Rate> rate = {}, AdafactorOptions options = {},
                                std::source_location loc = std::source_location::current());
/// -rate * g / sqrt(sum of squares so far) (Duchi et al. 2011).
TESSERA_API Optimizer adagrad(Rate rate, double initial_accumulator_value = 0.1, double eps = 1e-7,
                              std::source_location loc = std::source_location::current());
/// Adam with the largest gradient of late in place of the root of squares (Kingma and Ba 2015).
TESSERA_API Optimizer adamax(Rate rate, AdamOptions options = {},
                             std::source_location loc = std::source_location::current());
/// Adam with the largest second moment so far (Reddi et al. 2018), of corrected moments.
TESSERA_API Optimizer amsgrad(Rate rate, AdamOptions options = {},
                              std::source_location loc = std::source_location::current());
/// Adam with steps as long as a parameter's norm (You et al. 2020).
TESSERA_API Optimizer lamb(Rate rate, double weight_decay = 0.0,
                           AdamOptions options = {.eps = 1e-6},
                           std::source_location loc = std::source_location::current());
/// Weights decay where the mask says so, here and below.
TESSERA_API Optimizer lamb(Rate rate, double weight_decay, AdamOptions options, const Mask& decayed,
                           std::source_location loc = std::source_location::current());
struct LarsOptions {
  double weight_decay = 0.0, trust_coefficient = 0.001, eps = 0.0, momentum = 0.9;
  bool nesterov = false;
};
/// Momentum with steps as long as a parameter's norm (You et al. 2017).
TESSERA_API Optimizer lars(Rate rate, LarsOptions options = {},
                           std::source_location loc = std::source_location::current());
/// The sign of a mean of gradients, with decoupled weight decay (Chen et al. 2023).
TESSERA_API Optimizer lion(Rate rate, double b1 = 0.9, double b2 = 0.99, double weight_decay = 1e-3,
                           std::source_location loc = std::source_location::current());
TESSERA_API Optimizer lion(Rate rate, double b1, double b2, double weight_decay,
                           const Mask& decayed,
                           std::source_location loc = std::source_location::current());
/// Adam with Nesterov's momentum (Dozat 2016), and with decoupled weight decay.
TESSERA_API Optimizer nadam(Rate rate, AdamOptions options = {},
                            std::source_location loc = std::source_location::current());
TESSERA_API Optimizer nadamw(Rate rate, double weight_decay = 1e-4, AdamOptions options = {},
                             std::source_location loc = std::source_location::current());
TESSERA_API Optimizer nadamw(Rate rate, double weight_decay, AdamOptions options,
                             const Mask& decayed,
                             std::source_location loc = std::source_location::current());
struct NovogradOptions {
  double b1 = 0.9, b2 = 0.25, eps = 1e-6, eps_root = 0.0, weight_decay = 0.0;
};
/// One second moment a parameter array (Ginsburg et al. 2019).
TESSERA_API Optimizer novograd(Rate rate, NovogradOptions options = {},
                               std::source_location loc = std::source_location::current());
/// Adam without its variance while that is not known well (Liu et al. 2020).
TESSERA_API Optimizer radam(Rate rate, AdamOptions options = {}, double threshold = 5.0,
                            std::source_location loc = std::source_location::current());
/// Adagrad with an accumulator for each row, column and so on (Anil et al. 2019).
TESSERA_API Optimizer sm3(double rate, double momentum = 0.9,
                          std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0::optim

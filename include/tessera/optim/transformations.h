// Transformations of updates, and optimisers that wrap others, under the names of Optax. They throw
// the errors that optimizers.h lists.
#pragma once

#include <tessera/optim/optimizer.h>
#include <tessera/optim/optimizers.h>
#include <tessera/optim/schedules.h>
#include <functional>

#include <map>
#include <string>
#include <vector>

namespace tessera::inline v0::optim {

/// Clips each element of each update to [-most, most].
TESSERA_API Optimizer clip_by_value(double most,
                                    std::source_location loc = std::source_location::current());
/// Scales all updates together so that their global norm is at most `max_norm`.
TESSERA_API Optimizer
clip_by_global_norm(double max_norm, std::source_location loc = std::source_location::current());
/// Adds decay * parameter to each update.
TESSERA_API Optimizer
add_decayed_weights(double decay, std::source_location loc = std::source_location::current());
/// Adds the decay only to parameters selected by the mask.
TESSERA_API Optimizer add_decayed_weights(
    double decay, const Mask& decayed, std::source_location loc = std::source_location::current());
/// Multiplies updates by a constant.
TESSERA_API Optimizer scale(double factor,
                            std::source_location loc = std::source_location::current());
/// Divides averages of the gradients by the root of averages of their squares, as Adam does,
/// without a rate.
TESSERA_API Optimizer scale_by_adam(AdamOptions options = {},
                                    std::source_location loc = std::source_location::current());
/// Multiplies by -rate.
TESSERA_API Optimizer scale_by_rate(Rate rate);

// --- transformations

/// Momentum: t = g + decay * t (Nesterov's variant returns g + decay * t).
TESSERA_API Optimizer trace(double decay, bool nesterov = false,
                            std::source_location loc = std::source_location::current());
/// The moving average of the updates; `debias` corrects its bias towards zero in the first steps.
TESSERA_API Optimizer ema(double decay, bool debias = true,
                          std::source_location loc = std::source_location::current());
/// Multiplies each update by coefficient * (norm of the parameter) / (norm of the update + eps), or
/// leaves it unchanged if a norm is 0.
TESSERA_API Optimizer
scale_by_trust_ratio(double trust_coefficient = 1.0, double eps = 0.0,
                     std::source_location loc = std::source_location::current());
/// Multiplies by the schedule, without changing the sign.
TESSERA_API Optimizer scale_by_schedule(Schedule schedule,
                                        std::source_location loc = std::source_location::current());
/// Optax's name for scale_by_rate.
TESSERA_API Optimizer scale_by_learning_rate(Rate rate);
/// Optax's name for clip_by_value.
TESSERA_API Optimizer clip(double max_delta,
                           std::source_location loc = std::source_location::current());
/// Adds normal noise of variance eta / count^gamma (Neelakantan et al. 2015), from a key that the
/// state keeps and splits.
TESSERA_API Optimizer add_noise(double eta, double gamma, const Array& key,
                                std::source_location loc = std::source_location::current());
/// Subtracts from each update of two or more axes its mean over all axes but the first (Yong et al.
/// 2020).
TESSERA_API Optimizer centralize();
/// Scales the update of each unit (column of a matrix, filter of a kernel, or a whole vector) to a
/// norm of at most `clipping` times that of its parameters, which is taken to be at least `eps`
/// (Brock et al. 2021).
TESSERA_API Optimizer adaptive_grad_clip(
    double clipping, double eps = 1e-3, std::source_location loc = std::source_location::current());
/// Shortens updates so that no parameter becomes negative.
TESSERA_API Optimizer keep_params_nonnegative();

// --- optimisers that wrap optimisers

/// Computes a label for each leaf from its path and value.
template <class Params, class F>
std::vector<std::string> labels_by_path(const Params& params, F&& f) {
  const std::vector<std::string> paths = tree::paths(params);
  const Leaves leaves = tree::leaves(params);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < leaves.size(); ++i) out.push_back(f(paths[i], leaves[i]));
  return out;
}

/// Applies `inner` to the leaves selected by the mask; the updates of others are unchanged.
TESSERA_API Optimizer masked(const Optimizer& inner, const Mask& mask,
                             std::source_location loc = std::source_location::current());
/// Applies to each leaf the optimiser of its label. Throws Error if a label has none.
TESSERA_API Optimizer multi_transform(const std::map<std::string, Optimizer>& optimizers,
                                      const std::vector<std::string>& labels,
                                      std::source_location loc = std::source_location::current());
/// Applies `inner` if the gradients are finite. Otherwise the updates are zero and the state is
/// unchanged, until there were more than `max_consecutive_errors` such steps in a row.
TESSERA_API Optimizer apply_if_finite(const Optimizer& inner, std::int64_t max_consecutive_errors,
                                      std::source_location loc = std::source_location::current());

/// Accumulates the mean or the sum of the gradients of `every_k` calls and passes it to `inner` at
/// the last one; the updates of the other calls are zero. It is an optimiser like any other.
class MultiSteps : public Optimizer {
 public:
  TESSERA_API MultiSteps(const Optimizer& inner, std::int64_t every_k, bool use_grad_mean = true,
                         std::source_location loc = std::source_location::current());
};

/// Fast and slow parameters, for lookahead.
template <class Params>
struct LookaheadParams {
  /// The parameters that each step changes, and the slow ones that follow them.
  Params fast, slow;
};
template <class Params>
LookaheadParams<Params> init_synced(const Params& params) {
  return {params, params};
}
/// The fast parameters take `sync_period` steps on their own; then the slow ones move a fraction of
/// the way to them, and both continue from there (Zhang et al. 2019). Works on LookaheadParams; the
/// gradients of the fast parameters are used and those of the slow ones ignored. `reset_state`
/// restarts the inner optimiser at each synchronisation. Throws TreeError for other parameters.
TESSERA_API Optimizer lookahead(const Optimizer& fast, std::int64_t sync_period,
                                double slow_step_size, bool reset_state = false,
                                std::source_location loc = std::source_location::current());

/// Rates by name, as passed to the `make` function of inject_hyperparams.
using Hyperparams = std::map<std::string, Schedule>;
/// An optimiser made by `make` with rates that are kept in the state, so that they can be read and
/// set during training: inject_hyperparams([](const Hyperparams& h) { return
/// sgd(h.at("learning_rate")); }, {{"learning_rate", 0.1}}). A schedule is followed; a number stays
/// until it is set. Rates are kept in float64 if a parameter is float64, and otherwise in float32.
TESSERA_API Optimizer
inject_hyperparams(const std::function<Optimizer(const Hyperparams&)>& make,
                   const std::map<std::string, Rate>& values,
                   std::source_location loc = std::source_location::current());
/// The rate of this name in a state of inject_hyperparams, also inside a chain. Throws Error if
/// there is none.
TESSERA_API Array hyperparam(const State& state, const std::string& name,
                             std::source_location loc = std::source_location::current());
/// Returns the state with the named rate replaced by `value`.
TESSERA_API State with_hyperparam(State state, const std::string& name, Operand value);

// --- parameters

/// Returns step_size * fresh + (1 - step_size) * old, a step of a moving average of parameters.
template <class Params>
Params incremental_update(const Params& fresh, const Params& old, double step_size,
                          std::source_location loc = std::source_location::current()) {
  const auto blend = [&](const Array& a, const Array& b) {
    return is_floating(a.dtype()) ? a * step_size + b * (1 - step_size) : a;
  };
  return tree::map({blend, loc}, fresh, old);
}

}  // namespace tessera::inline v0::optim

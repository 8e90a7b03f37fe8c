// Transformations of updates, and optimisers around optimisers, as Optax names them. Errors as in
// optimizers.h.
#pragma once

#include <tessera/optim/optimizer.h>
#include <tessera/optim/optimizers.h>
#include <tessera/optim/schedules.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tessera::inline v0::optim {

/// Cuts each element of each update to [-most, most].
TESSERA_API Optimizer clip_by_value(double most,
                                    std::source_location loc = std::source_location::current());
/// Scales all updates together so that their global norm is at most `max_norm`.
TESSERA_API Optimizer
clip_by_global_norm(double max_norm, std::source_location loc = std::source_location::current());
/// Adds decay * parameter to each update.
TESSERA_API Optimizer
add_decayed_weights(double decay, std::source_location loc = std::source_location::current());
/// Only where the mask says so.
TESSERA_API Optimizer add_decayed_weights(
    double decay, const Mask& decayed, std::source_location loc = std::source_location::current());
TESSERA_API Optimizer scale(double factor,
                            std::source_location loc = std::source_location::current());
TESSERA_API Optimizer scale_by_adam(AdamOptions options = {},
                                    std::source_location loc = std::source_location::current());
/// Multiplies by -rate.
TESSERA_API Optimizer scale_by_rate(Rate rate);

// --- transformations

/// Momentum: t = g + decay * t (Nesterov's variant gives g + decay * t).
TESSERA_API Optimizer trace(double decay, bool nesterov = false,
                            std::source_location loc = std::source_location::current());
/// The moving average of the updates, without the bias of its beginning where `debias` is set.
TESSERA_API Optimizer ema(double decay, bool debias = true,
                          std::source_location loc = std::source_location::current());
/// Multiplies each update by coefficient * (norm of the parameter) / (norm of the update + eps),
/// and leaves it where a norm is 0.
TESSERA_API Optimizer
scale_by_trust_ratio(double trust_coefficient = 1.0, double eps = 0.0,
                     std::source_location loc = std::source_location::current());
/// Multiplies by the schedule, without turning the sign around.
TESSERA_API Optimizer scale_by_schedule(Schedule schedule,
                                        std::source_location loc = std::source_location::current());
/// Optax's names of scale_by_rate and clip_by_value.
TESSERA_API Optimizer scale_by_learning_rate(Rate rate);
TESSERA_API Optimizer clip(double max_delta,
                           std::source_location loc = std::source_location::current());
/// Adds normal noise of variance eta / count^gamma (Neelakantan et al. 2015), of a key that the
/// state keeps and splits.
TESSERA_API Optimizer add_noise(double eta, double gamma, const Array& key,
                                std::source_location loc = std::source_location::current());
/// Takes the mean over all axes but the first off each update of two axes or more (Yong et al.
/// 2020).
TESSERA_API Optimizer centralize();
/// Scales the update of each unit (column of a matrix, filter of a kernel, or a vector as a whole)
/// to at most `clipping` times the norm of its parameters, which count as at least `eps` (Brock et
/// al. 2021).
TESSERA_API Optimizer adaptive_grad_clip(
    double clipping, double eps = 1e-3, std::source_location loc = std::source_location::current());
/// Shortens updates so that no parameter becomes negative.
TESSERA_API Optimizer keep_params_nonnegative();

// --- optimisers around optimisers

/// A label for each leaf, by its path and itself.
template <class Params, class F>
std::vector<std::string> labels_by_path(const Params& params, F&& f) {
  const std::vector<std::string> paths = tree::paths(params);
  const Leaves leaves = tree::leaves(params);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < leaves.size(); ++i) out.push_back(f(paths[i], leaves[i]));
  return out;
}

/// `inner` for the leaves of the mask; updates of others stay as they are.
TESSERA_API Optimizer masked(const Optimizer& inner, const Mask& mask,
                             std::source_location loc = std::source_location::current());
/// For each leaf the optimiser of its label. Error where a label has none.
TESSERA_API Optimizer multi_transform(const std::map<std::string, Optimizer>& optimizers,
                                      const std::vector<std::string>& labels,
                                      std::source_location loc = std::source_location::current());
/// `inner` while gradients are finite; zeros, and nothing learned, otherwise, until there were more
/// than `max_consecutive_errors` such steps one after the other.
TESSERA_API Optimizer apply_if_finite(const Optimizer& inner, std::int64_t max_consecutive_errors,
                                      std::source_location loc = std::source_location::current());

/// Accumulates the gradients of `every_k` calls, their mean or their sum, and lets `inner` see them
/// at the last; the updates of the others are zero. An optimiser like any other.
class MultiSteps : public Optimizer {
 public:
  TESSERA_API MultiSteps(const Optimizer& inner, std::int64_t every_k, bool use_grad_mean = true,
                         std::source_location loc = std::source_location::current());
};

/// Parameters in two speeds, for lookahead.
template <class Params>
struct LookaheadParams {
  Params fast, slow;
};
template <class Params>
LookaheadParams<Params> init_synced(const Params& params) {
  return {params, params};
}
/// The fast parameters go `sync_period` steps by themselves; then the slow ones move a part of the
/// way to them, and both go on from there (Zhang et al. 2019). Works on LookaheadParams, whose
/// gradients are those of the fast ones: those of the slow do not count. `reset_state` begins the
/// inner optimiser anew then. TreeError for other parameters.
TESSERA_API Optimizer lookahead(const Optimizer& fast, std::int64_t sync_period,
                                double slow_step_size, bool reset_state = false,
                                std::source_location loc = std::source_location::current());

/// Rates by name, as `make` of inject_hyperparams gets them.
using Hyperparams = std::map<std::string, Schedule>;
/// The optimiser that `make` gives of rates that the state keeps, so that they can be read and set
/// while training goes on: inject_hyperparams([](const Hyperparams& h) { return
/// sgd(h.at("learning_rate")); }, {{"learning_rate", 0.1}}). A schedule is followed, a number stays
/// until it is set. They are kept in float64 where a parameter is float64, in float32 elsewhere.
TESSERA_API Optimizer
inject_hyperparams(const std::function<Optimizer(const Hyperparams&)>& make,
                   const std::map<std::string, Rate>& values,
                   std::source_location loc = std::source_location::current());
/// The rate of this name in a state of inject_hyperparams, also within a chain. Error where there
/// is none.
TESSERA_API Array hyperparam(const State& state, const std::string& name,
                             std::source_location loc = std::source_location::current());
/// The state with another.
TESSERA_API State with_hyperparam(State state, const std::string& name, Operand value);

// --- parameters

/// step_size * fresh + (1 - step_size) * old: what a moving average of parameters becomes.
template <class Params>
Params incremental_update(const Params& fresh, const Params& old, double step_size,
                          std::source_location loc = std::source_location::current()) {
  const auto blend = [&](const Array& a, const Array& b) {
    return is_floating(a.dtype()) ? a * step_size + b * (1 - step_size) : a;
  };
  return tree::map({blend, loc}, fresh, old);
}

}  // namespace tessera::inline v0::optim

// Schedules of rates under the names of Optax.
#pragma once

#include <tessera/optim/optimizer.h>

#include <map>
#include <vector>

namespace tessera::inline v0::optim {

/// The same rate in each step.
TESSERA_API Schedule constant(double value,
                              std::source_location loc = std::source_location::current());
/// From `start` to `start * alpha` over `steps` along half a cosine (Loshchilov and Hutter 2017).
TESSERA_API Schedule cosine_decay(double start, std::int64_t steps, double alpha = 0.0,
                                  std::source_location loc = std::source_location::current());
/// Linear from `start` to `end` over `steps`, constant afterwards.
TESSERA_API Schedule linear_schedule(double start, double end, std::int64_t steps,
                                     std::source_location loc = std::source_location::current());
/// Linear from `start` to `peak` over `warmup` steps, then cosine to `end` at step `steps`.
TESSERA_API Schedule
warmup_cosine_decay(double start, double peak, std::int64_t warmup, std::int64_t steps,
                    double end = 0.0, std::source_location loc = std::source_location::current());
/// start * rate^(count / steps); with `staircase` the exponent is truncated to an integer.
TESSERA_API Schedule exponential_decay(double start, std::int64_t steps, double rate,
                                       bool staircase = false,
                                       std::source_location loc = std::source_location::current());
/// The linear scaling rule (Goyal et al. 2017): rate * batch / base_batch.
constexpr double scale_rate(double rate, std::int64_t batch, std::int64_t base_batch = 32) {
  return rate * static_cast<double>(batch) / static_cast<double>(base_batch);
}

/// Schedules one after the other: the second starts at step boundaries[0] with count 0, and so on.
/// Throws Error unless there is one boundary fewer than schedules, in ascending order.
TESSERA_API Schedule join_schedules(const std::vector<Schedule>& schedules,
                                    const std::vector<std::int64_t>& boundaries,
                                    std::source_location loc = std::source_location::current());
/// `start`, multiplied by each factor from its step onwards.
TESSERA_API Schedule
piecewise_constant_schedule(double start, const std::map<std::int64_t, double>& factors = {},
                            std::source_location loc = std::source_location::current());
/// (start - end) * (1 - share)^power + end, where share is the fraction of `steps` done, counted
/// from `begin`.
TESSERA_API Schedule polynomial_schedule(
    double start, double end, double power, std::int64_t steps, std::int64_t begin = 0,
    std::source_location loc = std::source_location::current());
/// Linear from `start` to `peak` over `warmup` steps, then constant.
TESSERA_API Schedule
warmup_constant_schedule(double start, double peak, std::int64_t warmup,
                         std::source_location loc = std::source_location::current());
/// Linear from `start` to `peak` over `warmup` steps, then peak * rate^(count / steps).
TESSERA_API Schedule warmup_exponential_decay_schedule(
    double start, double peak, std::int64_t warmup, std::int64_t steps, double rate,
    std::source_location loc = std::source_location::current());
/// Rises to the peak from peak / div_factor over the fraction `pct_start` of the steps, then falls
/// to peak / (div_factor * final_div_factor), each along half a cosine.
TESSERA_API Schedule cosine_onecycle_schedule(
    std::int64_t steps, double peak, double pct_start = 0.3, double div_factor = 25.0,
    double final_div_factor = 1e4, std::source_location loc = std::source_location::current());
/// The linear variant, in three phases: it returns to the start value at the fraction `pct_final`
/// and then falls further.
TESSERA_API Schedule linear_onecycle_schedule(
    std::int64_t steps, double peak, double pct_start = 0.3, double pct_final = 0.85,
    double div_factor = 25.0, double final_div_factor = 1e4,
    std::source_location loc = std::source_location::current());

/// A cycle of warm-up and cosine decay; `steps` includes the warm-up.
struct Cycle {
  double start = 0, peak = 0;
  std::int64_t warmup = 0, steps = 0;
  double end = 0;
};
/// Cycles one after the other (Loshchilov and Hutter 2017).
TESSERA_API Schedule sgdr_schedule(const std::vector<Cycle>& cycles,
                                   std::source_location loc = std::source_location::current());

/// Optax's name for constant.
TESSERA_API Schedule constant_schedule(double value,
                                       std::source_location loc = std::source_location::current());
/// Optax's name for cosine_decay.
TESSERA_API Schedule
cosine_decay_schedule(double start, std::int64_t steps, double alpha = 0.0,
                      std::source_location loc = std::source_location::current());
/// Optax's name for warmup_cosine_decay.
TESSERA_API Schedule warmup_cosine_decay_schedule(
    double start, double peak, std::int64_t warmup, std::int64_t steps, double end = 0.0,
    std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0::optim

#include "optim/checks.h"

#include <tessera/elementwise.h>
#include <tessera/message.h>
#include <tessera/optim/schedules.h>

#include <algorithm>
#include <cmath>

namespace tessera::inline v0::optim {

namespace {
// count / steps as a weak number, which takes the precision of its other operand.
Array share(const Array& count, std::int64_t steps) {
  return count * 1.0 / static_cast<double>(std::max<std::int64_t>(1, steps));
}
// Progress through `steps`: from 0 to 1, then constant.
Array progress(const Array& count, std::int64_t steps) {
  return clip(share(count, steps), 0.0, 1.0);
}

Schedule linear(double start, double end, std::int64_t steps) {
  return [=](const Array& count) { return progress(count, steps) * (end - start) + start; };
}

Schedule cosine(double start, std::int64_t steps, double alpha) {
  return [=](const Array& count) {
    Array c = (cos(progress(count, steps) * M_PI) + 1.0) * 0.5;
    return (c * (1 - alpha) + alpha) * start;
  };
}
}  // namespace

Schedule constant(double value, std::source_location loc) {
  need_rate("constant", "the rate", value, loc);
  return [value](const Array&) { return Array(value); };
}

Array Rate::at(const Array& count) const { return is_constant_ ? Array(value_) : schedule_(count); }

void Rate::check(const char* function) const {
  if (is_constant_) need_rate(function, "the rate", value_, loc_);
  if (!is_constant_ && !schedule_)
    Message(function)
        .problem("the rate is a schedule that is no function: it was default-constructed")
        .rule("a schedule gives the rate of each step")
        .from(loc_)
        .advice("optim::constant(1e-3), or a number")
        .raise<Error>();
}

Schedule linear_schedule(double start, double end, std::int64_t steps, std::source_location loc) {
  need_rate("linear_schedule", "start", start, loc);
  need_rate("linear_schedule", "end", end, loc);
  need_steps("linear_schedule", "steps", steps, 1, loc);
  return linear(start, end, steps);
}

Schedule cosine_decay(double start, std::int64_t steps, double alpha, std::source_location loc) {
  need_rate("cosine_decay", "start", start, loc);
  need_rate("cosine_decay", "alpha", alpha, loc);
  need_steps("cosine_decay", "steps", steps, 1, loc);
  return cosine(start, steps, alpha);
}

Schedule exponential_decay(double start, std::int64_t steps, double rate, bool staircase,
                           std::source_location loc) {
  need_rate("exponential_decay", "start", start, loc);
  need_rate("exponential_decay", "rate", rate, loc);
  need_steps("exponential_decay", "steps", steps, 1, loc);
  return [=](const Array& count) {
    Array t = share(count, steps);
    return power(Array(rate), staircase ? floor(t) : t) * start;
  };
}

Schedule warmup_cosine_decay(double start, double peak, std::int64_t warmup, std::int64_t steps,
                             double end, std::source_location loc) {
  need_rate("warmup_cosine_decay", "start", start, loc);
  need_rate("warmup_cosine_decay", "peak", peak, loc);
  need_rate("warmup_cosine_decay", "end", end, loc);
  need_steps("warmup_cosine_decay", "warmup", warmup, 0, loc);
  if (warmup >= steps)
    Message("warmup_cosine_decay")
        .problem(std::to_string(warmup) + " steps of warm-up of " + std::to_string(steps) +
                 " in all")
        .rule("steps counts the warm-up too, and is more")
        .from(loc)
        .advice("pass the number of all steps fourth")
        .raise<Error>();
  Schedule up = linear(start, peak, warmup);
  Schedule down = cosine(peak, steps - warmup, peak != 0 ? end / peak : 0);
  return [=](const Array& count) { return where(count < warmup, up(count), down(count - warmup)); };
}

Schedule join_schedules(const std::vector<Schedule>& schedules,
                        const std::vector<std::int64_t>& boundaries, std::source_location loc) {
  const bool whole = std::all_of(schedules.begin(), schedules.end(),
                                 [](const Schedule& s) { return static_cast<bool>(s); });
  if (schedules.size() != boundaries.size() + 1 || !whole ||
      !std::is_sorted(boundaries.begin(), boundaries.end()))
    Message("join_schedules")
        .problem(std::to_string(schedules.size()) + " schedules" +
                 (whole ? "" : ", of which one is no function,") + " and " +
                 std::to_string(boundaries.size()) + " boundaries")
        .rule("there is a boundary between two schedules, and they ascend")
        .from(loc)
        .advice("join_schedules({warm, cold}, {100})")
        .raise<Error>();
  return [=](const Array& count) {
    Array value = schedules[0](count);
    for (std::size_t i = 0; i < boundaries.size(); ++i)
      value = where(count < boundaries[i], value, schedules[i + 1](count - boundaries[i]));
    return value;
  };
}

Schedule piecewise_constant_schedule(double start, const std::map<std::int64_t, double>& factors,
                                     std::source_location loc) {
  need_rate("piecewise_constant_schedule", "start", start, loc);
  for (const auto& [step, factor] : factors)
    need_rate("piecewise_constant_schedule", "a factor", factor, loc);
  return [=](const Array& count) {
    Array value(start);
    for (const auto& [step, factor] : factors) value = value * where(count < step, 1.0, factor);
    return value;
  };
}

Schedule polynomial_schedule(double start, double end, double power, std::int64_t steps,
                             std::int64_t begin, std::source_location loc) {
  need_rate("polynomial_schedule", "start", start, loc);
  need_rate("polynomial_schedule", "end", end, loc);
  need_amount("polynomial_schedule", "power", power, loc);
  need_steps("polynomial_schedule", "steps", steps, 1, loc);
  need_steps("polynomial_schedule", "begin", begin, 0, loc);
  return [=](const Array& count) {
    const Array left = 1.0 - clip(count - begin, 0, steps) * 1.0 / static_cast<double>(steps);
    return v0::power(left, power) * (start - end) + end;
  };
}

Schedule warmup_constant_schedule(double start, double peak, std::int64_t warmup,
                                  std::source_location loc) {
  const InFunction called("warmup_constant_schedule", loc);
  return linear_schedule(start, peak, warmup, loc);
}

Schedule warmup_exponential_decay_schedule(double start, double peak, std::int64_t warmup,
                                           std::int64_t steps, double rate,
                                           std::source_location loc) {
  const InFunction called("warmup_exponential_decay_schedule", loc);
  return join_schedules(
      {linear_schedule(start, peak, warmup, loc), exponential_decay(peak, steps, rate, false, loc)},
      {warmup}, loc);
}

namespace {

struct Knot {
  std::int64_t step;
  double value;
};

// Interpolates between knots linearly or with half a cosine; constant after the last one.
Schedule through(const std::vector<Knot>& knots, bool cosine) {
  return [=](const Array& count) {
    Array value(knots.back().value);
    for (std::size_t i = knots.size() - 1; i-- > 0;) {
      const Knot &a = knots[i], &b = knots[i + 1];
      const double length = static_cast<double>(std::max<std::int64_t>(1, b.step - a.step));
      const Array share = (count - a.step) * 1.0 / length;
      const Array between = cosine ? b.value + (a.value - b.value) / 2 * (cos(share * M_PI) + 1.0)
                                   : a.value + share * (b.value - a.value);
      value = where(count < b.step, between, value);
    }
    return value;
  };
}

void check_cycle(const char* name, std::int64_t steps, double peak, double share, double div,
                 double final_div, const SourceLoc& loc) {
  need_steps(name, "steps", steps, 1, loc);
  need_rate(name, "peak", peak, loc);
  need_amount(name, "pct_start", share, loc);
  need_amount(name, "div_factor", div, loc);
  need_amount(name, "final_div_factor", final_div, loc);
}

}  // namespace

Schedule cosine_onecycle_schedule(std::int64_t steps, double peak, double pct_start,
                                  double div_factor, double final_div_factor,
                                  std::source_location loc) {
  check_cycle("cosine_onecycle_schedule", steps, peak, pct_start, div_factor, final_div_factor,
              loc);
  const auto top = static_cast<std::int64_t>(pct_start * static_cast<double>(steps));
  return through(
      {{0, peak / div_factor}, {top, peak}, {steps, peak / (div_factor * final_div_factor)}}, true);
}

Schedule linear_onecycle_schedule(std::int64_t steps, double peak, double pct_start,
                                  double pct_final, double div_factor, double final_div_factor,
                                  std::source_location loc) {
  check_cycle("linear_onecycle_schedule", steps, peak, pct_start, div_factor, final_div_factor,
              loc);
  need_amount("linear_onecycle_schedule", "pct_final", pct_final, loc);
  const auto at = [&](double share) {
    return static_cast<std::int64_t>(share * static_cast<double>(steps));
  };
  const double low = peak / div_factor;
  return through(
      {{0, low}, {at(pct_start), peak}, {at(pct_final), low}, {steps, low / final_div_factor}},
      false);
}

Schedule sgdr_schedule(const std::vector<Cycle>& cycles, std::source_location loc) {
  const InFunction called("sgdr_schedule", loc);
  std::vector<Schedule> all;
  std::vector<std::int64_t> ends;
  std::int64_t step = 0;
  for (const Cycle& c : cycles) {
    all.push_back(warmup_cosine_decay(c.start, c.peak, c.warmup, c.steps, c.end, loc));
    ends.push_back(step += c.steps);
  }
  if (!ends.empty()) ends.pop_back();
  return join_schedules(all, ends, loc);
}

Schedule constant_schedule(double value, std::source_location loc) { return constant(value, loc); }
Schedule cosine_decay_schedule(double start, std::int64_t steps, double alpha,
                               std::source_location loc) {
  return cosine_decay(start, steps, alpha, loc);
}
Schedule warmup_cosine_decay_schedule(double start, double peak, std::int64_t warmup,
                                      std::int64_t steps, double end, std::source_location loc) {
  return warmup_cosine_decay(start, peak, warmup, steps, end, loc);
}

}  // namespace tessera::inline v0::optim

#include "optim/checks.h"

#include <tessera/elementwise.h>
#include <tessera/optim.h>

#include <cmath>

namespace tessera::inline v0::optim {

namespace {
// count / steps as a weak number, which has the precision of what it meets.
Array share(const Array& count, std::int64_t steps) {
  return count * 1.0 / static_cast<double>(std::max<std::int64_t>(1, steps));
}
// Progress through `steps`, from 0 to 1, and 1 afterwards.
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

}  // namespace tessera::inline v0::optim

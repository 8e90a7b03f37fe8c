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
}  // namespace

Schedule constant(double value) {
  return [value](const Array&) { return Array(value); };
}

Schedule linear_schedule(double start, double end, std::int64_t steps) {
  return [=](const Array& count) { return progress(count, steps) * (end - start) + start; };
}

Schedule cosine_decay(double start, std::int64_t steps, double alpha) {
  return [=](const Array& count) {
    Array c = (cos(progress(count, steps) * M_PI) + 1.0) * 0.5;
    return (c * (1 - alpha) + alpha) * start;
  };
}

Schedule exponential_decay(double start, std::int64_t steps, double rate, bool staircase) {
  return [=](const Array& count) {
    Array t = share(count, steps);
    return power(Array(rate), staircase ? floor(t) : t) * start;
  };
}

Schedule warmup_cosine_decay(double start, double peak, std::int64_t warmup, std::int64_t steps,
                             double end) {
  Schedule up = linear_schedule(start, peak, warmup);
  Schedule down = cosine_decay(peak, steps - warmup, peak != 0 ? end / peak : 0);
  return [=](const Array& count) { return where(count < warmup, up(count), down(count - warmup)); };
}

}  // namespace tessera::inline v0::optim

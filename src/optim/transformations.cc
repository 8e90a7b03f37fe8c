#include "optim/checks.h"
#include "optim/stages.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/message.h>
#include <tessera/optim/transformations.h>
#include <tessera/random.h>
#include <tessera/reductions.h>

namespace tessera::inline v0::optim {

Optimizer trace(double decay, bool nesterov, std::source_location loc) {
  const InFunction called("trace", loc);
  need_decay("trace", "decay", decay, loc);
  return Optimizer(
      {{[](const Leaves& p) {
          return State::Stage{Array(), {zeros_like_all(p)}};
        },
        [=](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          Leaves m = moments_of(before, 1, p, false)[0];
          Leaves u = each(g, [&](std::size_t i) {
            m[i] = m[i] * decay + g[i].astype(m[i].dtype());
            return nesterov ? m[i] * decay + g[i] : m[i];
          });
          after.moments = {std::move(m)};
          return u;
        }}});
}

Optimizer ema(double decay, bool debias, std::source_location loc) {
  const InFunction called("ema", loc);
  need_decay("ema", "decay", decay, loc);
  return Optimizer(
      {{[](const Leaves& p) {
          return State::Stage{zero_count(), {zeros_like_all(p)}};
        },
        [=](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          Leaves m = moments_of(before, 1, p, true)[0];
          after.count = before.count + 1;
          const Array correction = 1 - power(Array(decay), after.count);
          Leaves u = each(g, [&](std::size_t i) {
            m[i] = m[i] * decay + g[i].astype(m[i].dtype()) * (1 - decay);
            return debias ? m[i] / correction.astype(m[i].dtype()) : m[i];
          });
          after.moments = {std::move(m)};
          return u;
        }}});
}

Optimizer scale_by_schedule(Schedule schedule, std::source_location loc) {
  const Rate rate(std::move(schedule), loc);
  rate.check("scale_by_schedule");
  return chain({scale_by_rate(rate), scale(-1.0, loc)});
}
Optimizer scale_by_learning_rate(Rate rate) { return scale_by_rate(std::move(rate)); }
Optimizer clip(double max_delta, std::source_location loc) { return clip_by_value(max_delta, loc); }

Optimizer add_noise(double eta, double gamma, const Array& key, std::source_location loc) {
  const InFunction called("add_noise", loc);
  need_amount("add_noise", "eta", eta, loc);
  need_finite("add_noise", "gamma", gamma, loc);
  random::split(Operand(key, loc));  // throws unless it is one key
  return Optimizer(
      {{[key](const Leaves&) {
          return State::Stage{zero_count(), {{key}}};
        },
        [=](const Leaves& g, const State::Stage& before, const Leaves&, State::Stage& after) {
          const Array current = numbers_of(before, 1, 0)[0];
          after.count = before.count + 1;
          const auto [next, now] = random::split(Operand(current));
          after.moments = {{next}};
          std::int64_t count = 0;
          for (const Array& x : g) count += !x.is_empty();
          if (count == 0) return g;
          const Array keys = random::split(Operand(now), count);
          const Array deviation = sqrt(eta / power(after.count * 1.0, gamma));
          std::int64_t drawn = 0;
          return each(g, [&](std::size_t i) {
            const Array noise = random::normal(keys[drawn++], g[i].shape(), g[i].dtype());
            return g[i] + deviation.astype(g[i].dtype()) * noise;
          });
        }}});
}

Optimizer centralize() {
  return Optimizer({stateless([](const Leaves& u, const Leaves&) {
    return each(u, [&](std::size_t i) {
      if (u[i].ndim() < 2) return u[i];
      std::vector<std::int64_t> others;
      for (int k = 1; k < u[i].ndim(); ++k) others.push_back(k);
      return u[i] - mean(u[i], others, true);
    });
  })});
}

namespace {

// The norm of each output unit, broadcast over its weights.
Array unit_norm(const Array& x) {
  int long_axes = 0;
  for (std::int64_t n : x.shape()) long_axes += n != 1;
  std::vector<std::int64_t> over;
  const int upto = long_axes <= 1 ? x.ndim() : x.ndim() <= 3 ? 1 : x.ndim() - 1;
  for (int k = 0; k < upto; ++k) over.push_back(k);
  return over.empty() ? abs(x) : norm(x, {.axis = over, .keepdims = true});
}

}  // namespace

Optimizer adaptive_grad_clip(double clipping, double eps, std::source_location loc) {
  const InFunction called("adaptive_grad_clip", loc);
  need_bound("adaptive_grad_clip", "clipping", clipping, loc);
  need_amount("adaptive_grad_clip", "eps", eps, loc);
  return Optimizer({stateless([=](const Leaves& u, const Leaves& p) {
    return each(u, [&](std::size_t i) {
      const Array norm = unit_norm(u[i]);
      const Array most = clipping * maximum(unit_norm(p[i]), eps).astype(norm.dtype());
      return where(norm < most, u[i], u[i] * (most / maximum(norm, 1e-6)));
    });
  })});
}

Optimizer keep_params_nonnegative() {
  return Optimizer({stateless([](const Leaves& u, const Leaves& p) {
    return each(u, [&](std::size_t i) { return where(p[i] + u[i] < 0, -p[i], u[i]); });
  })});
}

}  // namespace tessera::inline v0::optim

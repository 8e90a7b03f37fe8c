// Optimisers that keep moments of each element.
#include "optim/checks.h"
#include "optim/stages.h"

#include <tessera/elementwise.h>
#include <tessera/optim/optimizers.h>
#include <tessera/optim/transformations.h>

#include <cmath>

namespace tessera::inline v0::optim {

namespace {

void check(const char* name, const AdamOptions& o, const SourceLoc& loc) {
  need_decay(name, "b1", o.b1, loc);
  need_decay(name, "b2", o.b2, loc);
  need_amount(name, "eps", o.eps, loc);
  need_amount(name, "eps_root", o.eps_root, loc);
}

// The divisor that corrects a moment's bias towards zero in the first steps.
Array bias(double decay, const Array& count) { return 1 - power(Array(decay), count); }

// A stage with a counter and `kinds` moments that start as zeros. `step` receives (gradient, its
// moments to update, the new count).
template <class F>
Optimizer counting(std::size_t kinds, F step) {
  return Optimizer(
      {{[kinds](const Leaves& p) {
          return State::Stage{zero_count(), std::vector<Leaves>(kinds, zeros_like_all(p))};
        },
        [kinds, step](const Leaves& g, const State::Stage& before, const Leaves& p,
                      State::Stage& after) {
          std::vector<Leaves> moments = moments_of(before, kinds, p, true);
          after.count = before.count + 1;
          Leaves u = each(g, [&](std::size_t i) {
            std::vector<Array*> own;
            for (Leaves& m : moments) own.push_back(&m[i]);
            return step(g[i].astype(own[0]->dtype()), own, after.count);
          });
          after.moments = std::move(moments);
          return u;
        }}});
}

Array averaged(const Array& moment, const Array& x, double decay) {
  return moment * decay + x * (1 - decay);
}

}  // namespace

Optimizer adabelief(Rate rate, AdaBeliefOptions o, std::source_location loc) {
  const InFunction called("adabelief", loc);
  check("adabelief", {o.b1, o.b2, o.eps, o.eps_root}, loc);
  const Optimizer scaled =
      counting(2, [o](const Array& g, const std::vector<Array*>& m, const Array& count) {
        const DType d = g.dtype();
        *m[0] = averaged(*m[0], g, o.b1);
        *m[1] = averaged(*m[1], square(g - *m[0]), o.b2) + o.eps_root;
        return *m[0] / bias(o.b1, count).astype(d) /
               (sqrt(*m[1] / bias(o.b2, count).astype(d)) + o.eps);
      });
  return chain({scaled, scale_by_rate(std::move(rate))});
}

Optimizer adamax(Rate rate, AdamOptions o, std::source_location loc) {
  const InFunction called("adamax", loc);
  check("adamax", o, loc);
  const Optimizer scaled =
      counting(2, [o](const Array& g, const std::vector<Array*>& m, const Array& count) {
        *m[0] = averaged(*m[0], g, o.b1);
        *m[1] = maximum(abs(g) + o.eps, *m[1] * o.b2);
        return *m[0] / bias(o.b1, count).astype(g.dtype()) / *m[1];
      });
  return chain({scaled, scale_by_rate(std::move(rate))});
}

Optimizer amsgrad(Rate rate, AdamOptions o, std::source_location loc) {
  const InFunction called("amsgrad", loc);
  check("amsgrad", o, loc);
  const Optimizer scaled =
      counting(3, [o](const Array& g, const std::vector<Array*>& m, const Array& count) {
        const DType d = g.dtype();
        *m[0] = averaged(*m[0], g, o.b1);
        *m[1] = averaged(*m[1], square(g), o.b2);
        *m[2] = maximum(*m[2], *m[1] / bias(o.b2, count).astype(d));
        return *m[0] / bias(o.b1, count).astype(d) / (sqrt(*m[2] + o.eps_root) + o.eps);
      });
  return chain({scaled, scale_by_rate(std::move(rate))});
}

Optimizer radam(Rate rate, AdamOptions o, double threshold, std::source_location loc) {
  const InFunction called("radam", loc);
  check("radam", o, loc);
  need_finite("radam", "threshold", threshold, loc);
  const double most = 2 / (1 - o.b2) - 1;  // degrees of freedom in the limit
  const Optimizer scaled =
      counting(2, [=](const Array& g, const std::vector<Array*>& m, const Array& count) {
        const DType d = g.dtype();
        *m[0] = averaged(*m[0], g, o.b1);
        *m[1] = averaged(*m[1], square(g), o.b2);
        const Array share = power(Array(o.b2), count);
        const Array now = most - 2 * count * share / (1 - share);
        const Array mean = *m[0] / bias(o.b1, count).astype(d);
        const Array known = now >= threshold;
        // The square root of a negative number would have a NaN derivative.
        const Array safe = where(known, now, most);
        const Array r = sqrt((safe - 4) * (safe - 2) * most / ((most - 4) * (most - 2) * safe));
        const Array deviation = sqrt(*m[1] / bias(o.b2, count).astype(d) + o.eps_root) + o.eps;
        return where(known, r.astype(d) * mean / deviation, mean);
      });
  return chain({scaled, scale_by_rate(std::move(rate))});
}

Optimizer nadam(Rate rate, AdamOptions o, std::source_location loc) {
  const InFunction called("nadam", loc);
  o.nesterov = true;
  return adam(std::move(rate), o, loc);
}
Optimizer nadamw(Rate rate, double weight_decay, AdamOptions o, std::source_location loc) {
  return nadamw(std::move(rate), weight_decay, o, every_leaf(), loc);
}
Optimizer nadamw(Rate rate, double weight_decay, AdamOptions o, const Mask& decayed,
                 std::source_location loc) {
  const InFunction called("nadamw", loc);
  o.nesterov = true;
  return adamw(std::move(rate), weight_decay, o, decayed, loc);
}

Optimizer lion(Rate rate, double b1, double b2, double weight_decay, std::source_location loc) {
  return lion(std::move(rate), b1, b2, weight_decay, every_leaf(), loc);
}
Optimizer lion(Rate rate, double b1, double b2, double weight_decay, const Mask& decayed,
               std::source_location loc) {
  const InFunction called("lion", loc);
  need_decay("lion", "b1", b1, loc);
  need_decay("lion", "b2", b2, loc);
  need_amount("lion", "weight_decay", weight_decay, loc);
  const Optimizer signs =
      counting(1, [=](const Array& g, const std::vector<Array*>& m, const Array&) {
        const Array direction = sign(averaged(*m[0], g, b1));
        *m[0] = averaged(*m[0], g, b2);
        return direction;
      });
  return chain(
      {signs, add_decayed_weights(weight_decay, decayed, loc), scale_by_rate(std::move(rate))});
}

Optimizer adagrad(Rate rate, double initial, double eps, std::source_location loc) {
  const InFunction called("adagrad", loc);
  need_amount("adagrad", "initial_accumulator_value", initial, loc);
  need_amount("adagrad", "eps", eps, loc);
  const Optimizer scaled(
      {{[initial](const Leaves& p) {
          return State::Stage{{}, {full_like_all(p, initial)}};
        },
        [eps](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          Leaves s = moments_of(before, 1, p, false)[0];
          Leaves u = each(g, [&](std::size_t i) {
            const Array gi = g[i].astype(s[i].dtype());
            s[i] = s[i] + square(gi);
            return where(s[i] > 0, rsqrt(where(s[i] > 0, s[i], 1.0) + eps), 0.0) * gi;
          });
          after.moments = {std::move(s)};
          return u;
        }}});
  return chain({scaled, scale_by_rate(std::move(rate))});
}

Optimizer adadelta(Rate rate, double rho, double eps, double weight_decay,
                   std::source_location loc) {
  const InFunction called("adadelta", loc);
  need_decay("adadelta", "rho", rho, loc);
  need_amount("adadelta", "eps", eps, loc);
  need_amount("adadelta", "weight_decay", weight_decay, loc);
  const Optimizer scaled(
      {{[](const Leaves& p) {
          return State::Stage{{}, {zeros_like_all(p), zeros_like_all(p)}};
        },
        [=](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          std::vector<Leaves> m = moments_of(before, 2, p, false);
          Leaves u = each(g, [&](std::size_t i) {
            const Array gi = g[i].astype(m[0][i].dtype());
            m[0][i] = averaged(m[0][i], square(gi), rho);
            const Array step = sqrt(m[1][i] + eps) / sqrt(m[0][i] + eps) * gi;
            m[1][i] = averaged(m[1][i], square(step), rho);
            return step;
          });
          after.moments = std::move(m);
          return u;
        }}});
  return chain({add_decayed_weights(weight_decay, loc), scaled, scale_by_rate(std::move(rate))});
}

}  // namespace tessera::inline v0::optim

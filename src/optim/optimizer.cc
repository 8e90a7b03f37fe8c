#include <tessera/creation.h>
#include <tessera/detail/moved.h>
#include <tessera/detail/square_range.h>
#include <tessera/elementwise.h>
#include <tessera/message.h>
#include <tessera/optim/optimizer.h>
#include <tessera/optim/optimizers.h>
#include <tessera/optim/transformations.h>
#include <tessera/reductions.h>

#include "optim/checks.h"
#include "optim/stages.h"

namespace tessera::inline v0::optim {

Optimizer::Optimizer(std::vector<Stage> stages)
    : stages_(std::make_shared<const std::vector<Stage>>(std::move(stages))) {}

const std::vector<Stage>& Optimizer::stages() const {
  if (!stages_) tessera::detail::moved_from("Optimizer");
  return *stages_;
}

State Optimizer::init_leaves(const Leaves& params) const {
  State s;
  for (const Stage& stage : stages()) s.stages.push_back(stage.init(params));
  return s;
}

Leaves Optimizer::update_leaves(Leaves updates, const State& state, const Leaves& params,
                                State& next, std::source_location loc) const {
  const InFunction called("Optimizer::update", loc);
  const std::vector<Stage>& stages = this->stages();
  if (state.stages.size() != stages.size())
    Message("Optimizer::update")
        .problem("the state has " + std::to_string(state.stages.size()) +
                 " stages, the optimiser " + std::to_string(stages.size()))
        .rule("a state belongs to the optimiser whose init made it")
        .from(loc)
        .advice("state = optimizer.init(params)")
        .raise<TreeError>();
  Message m("Optimizer::update");
  bool fits = true;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if (updates[i].is_empty() || (trainable(params[i]) && updates[i].shape() == params[i].shape()))
      continue;
    m.offender("gradient " + std::to_string(i) + " is " + describe(updates[i]) +
               ", its parameter " + describe(params[i]));
    fits = false;
  }
  if (!fits)
    m.problem("gradients do not fit their parameters")
        .rule("a gradient has the shape of a floating parameter; others have an empty one")
        .from(loc)
        .advice("grads = grad(loss)(params, ...), and the parameters in the place of params")
        .raise<ShapeError>();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    State::Stage after;
    try {
      updates = stages[i].update(updates, state.stages[i], params, after);
    } catch (Mismatch& mismatch) {
      mismatch.message.from(loc).raise<TreeError>();
    }
    next.stages.push_back(std::move(after));
  }
  return updates;
}

Array detail::updated(const Array& parameter, const Array& update, std::source_location loc) {
  if (update.shape(loc) != parameter.shape(loc))
    Message("apply_updates")
        .problem("an update of shape " + to_string(update.shape()) + " for a parameter of shape " +
                 to_string(parameter.shape()))
        .rule("each element of a parameter has its update")
        .from(loc)
        .advice("take the updates from opt.update(grads, state, params)")
        .raise<ShapeError>();
  return (Operand(parameter, loc) + Operand(update, loc)).astype(parameter.dtype(), loc);
}

Optimizer chain(std::initializer_list<Optimizer> parts) {
  std::vector<Stage> all;
  for (const Optimizer& o : parts) all.insert(all.end(), o.stages().begin(), o.stages().end());
  return Optimizer(std::move(all));
}

Optimizer scale(double factor, std::source_location loc) {
  need_finite("scale", "factor", factor, loc);
  return Optimizer({stateless([factor](const Leaves& u, const Leaves&) {
    return each(u, [&](std::size_t i) { return u[i] * factor; });
  })});
}

Optimizer scale_by_rate(Rate rate) {
  rate.check("scale_by_rate");
  if (rate.is_constant()) return scale(-rate.value());
  return Optimizer(
      {{[](const Leaves&) {
          return State::Stage{zero_count(), {}};
        },
        [rate](const Leaves& u, const State::Stage& before, const Leaves& p, State::Stage& after) {
          moments_of(before, 0, p, true);
          Array r = -rate.at(before.count);
          after.count = before.count + 1;
          return each(u, [&](std::size_t i) { return u[i] * r.astype(u[i].dtype()); });
        }}});
}

Optimizer add_decayed_weights(double decay, std::source_location loc) {
  return add_decayed_weights(decay, every_leaf(), loc);
}
Optimizer add_decayed_weights(double decay, const Mask& decayed, std::source_location loc) {
  need_amount("add_decayed_weights", "decay", decay, loc);
  const auto init = [decayed, loc](const Leaves& p) {
    meant(decayed, p, loc);
    return State::Stage{};
  };
  const auto update = [decay, decayed, loc](const Leaves& u, const State::Stage&, const Leaves& p,
                                            State::Stage&) {
    const std::vector<bool> here = meant(decayed, p, loc);
    return each(u, [&](std::size_t i) { return here[i] ? u[i] + p[i] * decay : u[i]; });
  };
  return Optimizer({{init, update}});
}

Optimizer clip_by_value(double most, std::source_location loc) {
  need_bound("clip_by_value", "most", most, loc);
  return Optimizer({stateless([most](const Leaves& u, const Leaves&) {
    return each(u, [&](std::size_t i) { return clip(u[i], -most, most); });
  })});
}

namespace {

// The norm of all leaves times a power of two, `factor`, which is 1 unless the sum of squares is
// out of range. One pass over each leaf computes the sums for all factors, and each sum is one
// reduction over the devices. The derivative at zero is zero.
struct ScaledNorm {
  Array norm, factor;
};
ScaledNorm scaled_norm(const Leaves& leaves) {
  DType d = DType::float32;
  for (const Array& x : leaves)
    if (!x.is_empty() && x.dtype() == DType::float64) d = DType::float64;
  const tessera::detail::SquareRange range = tessera::detail::square_range(d);
  const Array none = zeros({}, d);
  Array plain = none, down = none, up = none;
  for (const Array& leaf : leaves) {
    if (leaf.is_empty()) continue;
    const Array x = leaf.astype(d);
    plain = plain + sum(square(x));
    down = down + sum(square(x * range.down));
    up = up + sum(square(x * range.up));
  }
  const Array large = isinf(plain), small = plain < range.least;
  const Array squares = where(large, down, where(small, up, plain)), zero = squares == 0;
  return {where(zero, 0.0, sqrt(where(zero, 1.0, squares))),
          where(large, range.down, where(small, range.up, 1.0)).astype(d)};
}

}  // namespace

Optimizer clip_by_global_norm(double max_norm, std::source_location loc) {
  need_bound("clip_by_global_norm", "max_norm", max_norm, loc);
  return Optimizer({stateless([max_norm](const Leaves& u, const Leaves&) {
    const ScaledNorm n = scaled_norm(u);
    // The factor is exactly 1 while the norm is small enough.
    const Array small = n.norm / n.factor <= max_norm;
    const Array first = where(small, 1.0, n.factor), factor = where(small, 1.0, max_norm / n.norm);
    return each(u, [&](std::size_t i) {
      // The factor may be too small for 16 bits even if the product is not.
      const DType d = u[i].dtype(), wide = size_of(d) < 4 ? DType::float32 : d;
      return (u[i].astype(wide) * first.astype(wide) * factor.astype(wide)).astype(d);
    });
  })});
}

Array global_norm(const Leaves& leaves) {
  const ScaledNorm n = scaled_norm(leaves);
  return n.norm / n.factor;
}

Optimizer rmsprop(Rate rate, double decay, double eps, std::source_location loc) {
  const InFunction called("rmsprop", loc);
  need_decay("rmsprop", "decay", decay, loc);
  need_amount("rmsprop", "eps", eps, loc);
  const Optimizer scaled({{[](const Leaves& p) {
                             return State::Stage{{}, {zeros_like_all(p)}};
                           },
                           [decay, eps](const Leaves& g, const State::Stage& before,
                                        const Leaves& p, State::Stage& after) {
                             Leaves v = moments_of(before, 1, p, false)[0];
                             Leaves u = each(g, [&](std::size_t i) {
                               Array gi = g[i].astype(v[i].dtype());
                               v[i] = v[i] * decay + square(gi) * (1 - decay);
                               return gi / sqrt(v[i] + eps);
                             });
                             after.moments = {std::move(v)};
                             return u;
                           }}});
  return chain({scaled, scale_by_rate(std::move(rate))});
}

Optimizer scale_by_adam(AdamOptions o, std::source_location loc) {
  const InFunction called("scale_by_adam", loc);
  need_decay("scale_by_adam", "b1", o.b1, loc);
  need_decay("scale_by_adam", "b2", o.b2, loc);
  need_amount("scale_by_adam", "eps", o.eps, loc);
  need_amount("scale_by_adam", "eps_root", o.eps_root, loc);
  return Optimizer(
      {{[](const Leaves& p) {
          return State::Stage{zero_count(), {zeros_like_all(p), zeros_like_all(p)}};
        },
        [o](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          const std::vector<Leaves>& moments = moments_of(before, 2, p, true);
          const Leaves &m = moments[0], &v = moments[1];
          after.count = before.count + 1;
          Leaves m1 = m, v1 = v;
          // 1 - b^t, the divisor that corrects the bias towards zero in the first steps.
          Array c1 = 1 - power(Array(o.b1), after.count), c2 = 1 - power(Array(o.b2), after.count);
          Array next_c1 = 1 - power(Array(o.b1), after.count + 1);
          Leaves u = each(g, [&](std::size_t i) {
            DType d = m[i].dtype();
            Array gi = g[i].astype(d);
            m1[i] = m[i] * o.b1 + gi * (1 - o.b1);
            v1[i] = v[i] * o.b2 + square(gi) * (1 - o.b2);
            const Array mean = m1[i] / c1.astype(d);
            const Array ahead =
                o.nesterov ? m1[i] * o.b1 / next_c1.astype(d) + gi * (1 - o.b1) / c1.astype(d)
                           : mean;
            return ahead / (sqrt(v1[i] / c2.astype(d) + o.eps_root) + o.eps);
          });
          after.moments = {std::move(m1), std::move(v1)};
          return u;
        }}});
}

Optimizer adam(Rate rate, AdamOptions o, std::source_location loc) {
  const InFunction called("adam", loc);
  return chain({scale_by_adam(o, loc), scale_by_rate(std::move(rate))});
}
Optimizer adamw(Rate rate, double weight_decay, AdamOptions o, std::source_location loc) {
  return adamw(std::move(rate), weight_decay, o, every_leaf(), loc);
}
Optimizer adamw(Rate rate, double weight_decay, AdamOptions o, const Mask& decayed,
                std::source_location loc) {
  const InFunction called("adamw", loc);
  need_amount("adamw", "weight_decay", weight_decay, loc);
  return chain({scale_by_adam(o, loc), add_decayed_weights(weight_decay, decayed, loc),
                scale_by_rate(std::move(rate))});
}

Optimizer sgd(Rate rate, double momentum, bool nesterov, std::source_location loc) {
  const InFunction called("sgd", loc);
  need_decay("sgd", "momentum", momentum, loc);
  if (momentum == 0) return scale_by_rate(std::move(rate));
  return chain({trace(momentum, nesterov, loc), scale_by_rate(std::move(rate))});
}

}  // namespace tessera::inline v0::optim

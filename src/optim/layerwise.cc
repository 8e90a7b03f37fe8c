// Optimisers that use whole parameter arrays: their norms, rows and columns.
#include "optim/checks.h"
#include "optim/stages.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/message.h>
#include <tessera/optim/optimizers.h>
#include <tessera/optim/transformations.h>
#include <tessera/reductions.h>

#include <algorithm>
#include <cmath>

namespace tessera::inline v0::optim {

Optimizer scale_by_trust_ratio(double trust_coefficient, double eps, std::source_location loc) {
  const InFunction called("scale_by_trust_ratio", loc);
  need_amount("scale_by_trust_ratio", "trust_coefficient", trust_coefficient, loc);
  need_amount("scale_by_trust_ratio", "eps", eps, loc);
  return Optimizer({stateless([=](const Leaves& u, const Leaves& p) {
    return each(u, [&](std::size_t i) {
      const Array of_parameter = norm(p[i]), of_update = norm(u[i]);
      const Array known = of_parameter != 0 && of_update != 0;
      const Array ratio = trust_coefficient * of_parameter / (where(known, of_update, 1.0) + eps);
      return u[i] * where(known, ratio, 1.0).astype(u[i].dtype());
    });
  })});
}

Optimizer lamb(Rate rate, double weight_decay, AdamOptions o, std::source_location loc) {
  return lamb(std::move(rate), weight_decay, o, every_leaf(), loc);
}
Optimizer lamb(Rate rate, double weight_decay, AdamOptions o, const Mask& decayed,
               std::source_location loc) {
  const InFunction called("lamb", loc);
  need_amount("lamb", "weight_decay", weight_decay, loc);
  return chain({scale_by_adam(o, loc), add_decayed_weights(weight_decay, decayed, loc),
                scale_by_trust_ratio(1.0, 0.0, loc), scale_by_rate(std::move(rate))});
}

Optimizer lars(Rate rate, LarsOptions o, std::source_location loc) {
  const InFunction called("lars", loc);
  need_amount("lars", "weight_decay", o.weight_decay, loc);
  return chain({add_decayed_weights(o.weight_decay, loc),
                scale_by_trust_ratio(o.trust_coefficient, o.eps, loc),
                scale_by_rate(std::move(rate)), trace(o.momentum, o.nesterov, loc)});
}

Optimizer novograd(Rate rate, NovogradOptions o, std::source_location loc) {
  const InFunction called("novograd", loc);
  need_decay("novograd", "b1", o.b1, loc);
  need_decay("novograd", "b2", o.b2, loc);
  need_amount("novograd", "eps", o.eps, loc);
  need_amount("novograd", "eps_root", o.eps_root, loc);
  need_amount("novograd", "weight_decay", o.weight_decay, loc);
  const auto shape_of = [](std::size_t kind, const Array& p) -> std::optional<Shape> {
    return kind == 0 ? p.shape() : Shape{};
  };
  const Optimizer scaled(
      {{[](const Leaves& p) {
          Leaves squares(p.size());
          for (std::size_t i = 0; i < p.size(); ++i)
            if (trainable(p[i])) squares[i] = zeros({}, p[i].dtype());
          return State::Stage{zero_count(), {zeros_like_all(p), squares}};
        },
        [=](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          std::vector<Leaves> m = moments_of(before, 2, p, true, shape_of);
          const Array first = before.count == 0;
          after.count = before.count + 1;
          Leaves u = each(g, [&](std::size_t i) {
            const DType d = m[0][i].dtype();
            const Array gi = g[i].astype(d), squares = sum(square(gi));
            m[1][i] = where(first, squares, m[1][i] * o.b2 + squares * (1 - o.b2));
            const Array step =
                gi / (sqrt(m[1][i] + o.eps_root) + o.eps) + p[i].astype(d) * o.weight_decay;
            m[0][i] = where(first, step, m[0][i] * o.b1 + step);
            return m[0][i];
          });
          after.moments = std::move(m);
          return u;
        }}});
  return chain({scaled, scale_by_rate(std::move(rate))});
}

namespace {

// Reshapes the accumulator of an axis to broadcast against a parameter of this rank.
Array along(const Array& accumulator, int axis, int rank) {
  Shape s;
  for (int i = 0; i < rank; ++i) s.push_back(i == axis ? accumulator.size() : 1);
  return accumulator.reshape(s);
}

}  // namespace

Optimizer sm3(double rate, double momentum, std::source_location loc) {
  const InFunction called("sm3", loc);
  need_rate("sm3", "the rate", rate, loc);
  need_decay("sm3", "momentum", momentum, loc);
  const auto kinds_of = [](const Leaves& p) {
    int most = 1;
    for (const Array& x : p)
      if (trainable(x)) most = std::max(most, x.ndim());
    return static_cast<std::size_t>(most) + 1;
  };
  // Kind 0 is the momentum, kind 1 + k the accumulator along axis k; a scalar has one accumulator.
  const ShapeOf shape_of = [](std::size_t kind, const Array& p) -> std::optional<Shape> {
    if (kind == 0) return p.shape();
    if (kind == 1 && p.ndim() == 0) return Shape{};
    if (static_cast<int>(kind) > p.ndim()) return std::nullopt;
    return Shape{p.shape(static_cast<int>(kind) - 1)};
  };
  const Optimizer scaled(
      {{[=](const Leaves& p) {
          State::Stage s{{}, std::vector<Leaves>(kinds_of(p), Leaves(p.size()))};
          for (std::size_t k = 0; k < s.moments.size(); ++k)
            for (std::size_t i = 0; i < p.size(); ++i)
              if (trainable(p[i]))
                if (const auto shape = shape_of(k, p[i]))
                  s.moments[k][i] = zeros(*shape, p[i].dtype());
          return s;
        },
        [=](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          std::vector<Leaves> m = moments_of(before, kinds_of(p), p, false, shape_of);
          Leaves u = each(g, [&](std::size_t i) {
            const Array gi = g[i].astype(m[0][i].dtype());
            const int rank = gi.ndim();
            Array least = m[1][i];
            for (int k = 0; k < rank; ++k) {
              const Array a = along(m[static_cast<std::size_t>(k) + 1][i], k, rank);
              least = k == 0 ? a : minimum(least, a);
            }
            const Array total = square(gi) + least;
            const Array step =
                gi * where(total > 0, rsqrt(where(total > 0, total, 1.0) + 1e-8), 0.0);
            for (int k = 0; k < rank; ++k) {
              std::vector<std::int64_t> others;
              for (int j = 0; j < rank; ++j)
                if (j != k) others.push_back(j);
              m[static_cast<std::size_t>(k) + 1][i] = others.empty() ? total : max(total, others);
            }
            if (rank == 0) m[1][i] = total;
            m[0][i] = m[0][i] * momentum + step * (1 - momentum);
            return m[0][i];
          });
          after.moments = std::move(m);
          return u;
        }}});
  return chain({scaled, scale(-rate, loc)});
}

}  // namespace tessera::inline v0::optim

// Adafactor: second moments are averaged separately over the rows and columns of a parameter's two
// largest axes.
#include "optim/checks.h"
#include "optim/stages.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/optim/optimizers.h>
#include <tessera/optim/transformations.h>
#include <tessera/reductions.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::inline v0::optim {

namespace {

// The second largest and the largest axis if the moments of a shape are factored along them; else
// nothing.
std::optional<std::pair<int, int>> factored_axes(const Shape& shape, const AdafactorOptions& o) {
  if (!o.factored || shape.rank() < 2) return {};
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return shape[static_cast<std::size_t>(a)] < shape[static_cast<std::size_t>(b)];
  });
  const int second = order[order.size() - 2], first = order.back();
  if (shape[static_cast<std::size_t>(second)] < o.min_dim_size_to_factor) return {};
  return std::pair(second, first);
}

Shape without(Shape shape, int axis) {
  shape.erase(shape.begin() + axis);
  return shape;
}

// Kind 0 holds rows, kind 1 columns, and kind 2 moments that are not factored.
ShapeOf shapes(const AdafactorOptions& o) {
  return [o](std::size_t kind, const Array& p) -> std::optional<Shape> {
    const auto axes = factored_axes(p.shape(), o);
    if (!axes) return kind == 2 ? std::optional(p.shape()) : std::nullopt;
    if (kind == 2) return std::nullopt;
    return without(p.shape(), kind == 0 ? axes->second : axes->first);
  };
}

Optimizer scale_by_factored_rms(const AdafactorOptions& o) {
  const ShapeOf shape_of = shapes(o);
  return Optimizer(
      {{[shape_of](const Leaves& p) {
          State::Stage s{zero_count(), std::vector<Leaves>(3, Leaves(p.size()))};
          for (std::size_t k = 0; k < 3; ++k)
            for (std::size_t i = 0; i < p.size(); ++i)
              if (trainable(p[i]))
                if (const auto shape = shape_of(k, p[i]))
                  s.moments[k][i] = zeros(*shape, p[i].dtype());
          return s;
        },
        [=](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          std::vector<Leaves> m = moments_of(before, 3, p, true, shape_of);
          after.count = before.count + 1;
          const Array keep = 1 - power(after.count * 1.0, -o.decay_rate);
          const auto average = [&](Array& moment, const Array& x) {
            const Array k = keep.astype(moment.dtype());
            moment = moment * k + x * (1 - k);
          };
          Leaves u = each(g, [&](std::size_t i) {
            const Array gi = g[i].astype(p[i].dtype()), squares = square(gi) + o.eps;
            const auto axes = factored_axes(p[i].shape(), o);
            if (!axes) {
              average(m[2][i], squares);
              return gi * rsqrt(m[2][i]);
            }
            const auto [d1, d0] = *axes;
            average(m[0][i], mean(squares, d0));
            average(m[1][i], mean(squares, d1));
            const Array rows = m[0][i] / mean(m[0][i], d1 > d0 ? d1 - 1 : d1, true);
            return gi * expand_dims(rsqrt(rows), d0) * expand_dims(rsqrt(m[1][i]), d1);
          });
          after.moments = std::move(m);
          return u;
        }}});
}

Array root_mean_square(const Array& x) { return sqrt(mean(square(x))); }

Optimizer clip_by_block_rms(double threshold) {
  return Optimizer({stateless([=](const Leaves& u, const Leaves&) {
    return each(
        u, [&](std::size_t i) { return u[i] / maximum(root_mean_square(u[i]) / threshold, 1.0); });
  })});
}

Optimizer scale_by_parameter_rms() {
  return Optimizer({stateless([](const Leaves& u, const Leaves& p) {
    return each(u, [&](std::size_t i) {
      return u[i] * maximum(root_mean_square(p[i]), 1e-3).astype(u[i].dtype());
    });
  })});
}

}  // namespace

Optimizer adafactor(std::optional<Rate> rate, AdafactorOptions o, std::source_location loc) {
  const InFunction called("adafactor", loc);
  need_amount("adafactor", "decay_rate", o.decay_rate, loc);
  need_amount("adafactor", "eps", o.eps, loc);
  need_steps("adafactor", "min_dim_size_to_factor", o.min_dim_size_to_factor, 1, loc);
  Optimizer all = scale_by_factored_rms(o);
  if (o.clipping_threshold) {
    need_bound("adafactor", "clipping_threshold", *o.clipping_threshold, loc);
    all = chain({all, clip_by_block_rms(*o.clipping_threshold)});
  }
  // The sign is flipped here and again at the end, so that weight decay has the right sign, too.
  if (rate) all = chain({all, scale_by_rate(std::move(*rate)), scale(-1.0, loc)});
  if (o.multiply_by_parameter_scale) all = chain({all, scale_by_parameter_rms()});
  if (o.momentum) all = chain({all, ema(*o.momentum, false, loc)});
  if (o.weight_decay_rate) all = chain({all, add_decayed_weights(*o.weight_decay_rate, loc)});
  return chain({all, scale(-1.0, loc)});
}

}  // namespace tessera::inline v0::optim

// Imports batch normalisation by its formulas.
#include "stablehlo/import/rules.h"

namespace tessera::inline v0::stablehlo::rules {

namespace {

// The parts that all three forms share.
struct Norm {
  explicit Norm(Reading& r, std::size_t operands)
      : x(check(r, operands)), feature(feature_of(r, x)) {
    for (int d = 0; d < x.rank(); ++d)
      if (d != feature) axes.push_back(d);
    count =
        static_cast<double>(x.shape()[static_cast<std::size_t>(feature)]
                                ? x.shape().count() / x.shape()[static_cast<std::size_t>(feature)]
                                : 0);
    epsilon = r.real_or("epsilon", 0);
  }
  static Value check(Reading& r, std::size_t operands) {
    r.need_operands(operands);
    return r.in[0];
  }
  static int feature_of(Reading& r, Value x) {
    const std::int64_t f = r.integer("feature_index");
    r.check_dims({f}, x.rank(), "feature_index");
    return static_cast<int>(f);
  }

  Value wide(Value v) const { return ops::broadcast_in_dim(v, x.shape(), {feature}); }
  Value sum(Value v) const { return ops::reduce_sum(v, axes); }
  Value mean(Value v) const {
    const Value s = sum(v);
    return ops::div(s, ops::full_like(s, count));
  }
  // The standard deviation, sqrt(variance + epsilon).
  Value deviation(Value variance) const {
    return ops::sqrt(ops::add(variance, ops::full_like(variance, epsilon)));
  }

  Value x;
  int feature;
  Ints axes;
  double count, epsilon;
};

Value normalized(const Norm& n, Value scale, Value offset, Value mean, Value variance) {
  const Value centered = ops::sub(n.x, n.wide(mean));
  const Value unit = ops::div(centered, n.wide(n.deviation(variance)));
  return ops::add(ops::mul(n.wide(scale), unit), n.wide(offset));
}

}  // namespace

Values batch_norm_inference(Reading& r) {
  const Norm n(r, 5);
  return {normalized(n, r.in[1], r.in[2], r.in[3], r.in[4])};
}

Values batch_norm_training(Reading& r) {
  const Norm n(r, 3);
  const Value mean = n.mean(n.x), centered = ops::sub(n.x, n.wide(mean));
  const Value variance = n.mean(ops::mul(centered, centered));
  return {normalized(n, r.in[1], r.in[2], mean, variance), mean, variance};
}

// S. Ioffe, C. Szegedy, "Batch normalization", 2015, section 3.
Values batch_norm_grad(Reading& r) {
  const Norm n(r, 5);
  const Value scale = r.in[1], mean = r.in[2], gradient = r.in[4];
  const Value centered = ops::sub(n.x, n.wide(mean)), deviation = n.deviation(r.in[3]);
  const Value of_offset = n.sum(gradient), product = n.sum(ops::mul(gradient, centered));
  const Value of_scale = ops::div(product, deviation);
  const Value count = ops::full_like(deviation, n.count);
  const Value across =
      ops::div(ops::mul(centered, n.wide(product)), n.wide(ops::mul(deviation, deviation)));
  const Value inner =
      ops::sub(ops::sub(ops::mul(n.wide(count), gradient), n.wide(of_offset)), across);
  const Value of_x = ops::mul(n.wide(ops::div(ops::div(scale, deviation), count)), inner);
  return {of_x, of_scale, of_offset};
}

}  // namespace tessera::inline v0::stablehlo::rules

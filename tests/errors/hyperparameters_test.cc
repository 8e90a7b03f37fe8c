// Hyperparameters with which training cannot work.
#include "errors/misuse.h"

namespace optim = ts::optim;
namespace nn = ts::nn;

namespace {
Array x() { return ts::ones({2, 4}); }
}  // namespace

MISUSE(sgd_of_no_rate) { optim::sgd(ts::nan); }
MISUSE(sgd_that_goes_uphill) { optim::sgd(-0.1); }
MISUSE(sgd_of_a_momentum_of_two) { optim::sgd(0.1, 2.0); }
MISUSE(sgd_of_no_momentum) { optim::sgd(0.1, ts::nan); }
MISUSE(adam_of_an_infinite_rate) { optim::adam(ts::inf); }
MISUSE(adam_of_a_negative_epsilon) { optim::adam(1e-3, {.eps = -1}); }
MISUSE(adam_of_no_decay) { optim::adam(1e-3, {.b2 = ts::nan}); }
MISUSE(scale_by_adam_of_a_large_decay) { optim::scale_by_adam({.b1 = 1.5}); }
MISUSE(adamw_of_a_negative_weight_decay) { optim::adamw(1e-3, -0.1); }
MISUSE(rmsprop_of_a_negative_epsilon) { optim::rmsprop(1e-3, 0.9, -1e-8); }
MISUSE(decayed_weights_without_a_number) { optim::add_decayed_weights(ts::nan); }
MISUSE(scale_by_infinity) { optim::scale(ts::inf); }
MISUSE(rate_without_a_number) { optim::scale_by_rate(ts::nan); }
MISUSE(clipping_values_below_zero) { optim::clip_by_value(-1.0); }

MISUSE(constant_rate_below_zero) { optim::constant(-1.0); }
MISUSE(cosine_over_no_steps) { optim::cosine_decay(0.1, 0); }
MISUSE(cosine_to_no_number) { optim::cosine_decay(0.1, 10, ts::nan); }
MISUSE(linear_schedule_over_less_than_no_steps) { optim::linear_schedule(0.1, 0.0, -5); }
MISUSE(linear_schedule_to_below_zero) { optim::linear_schedule(0.1, -0.1, 5); }
MISUSE(warmup_as_long_as_training) { optim::warmup_cosine_decay(0, 0.1, 100, 100); }
MISUSE(warmup_of_less_than_no_steps) { optim::warmup_cosine_decay(0, 0.1, -1, 100); }
MISUSE(exponential_decay_of_no_rate) { optim::exponential_decay(0.1, 10, ts::nan); }
MISUSE(exponential_decay_over_no_steps) { optim::exponential_decay(0.1, 0, 0.9); }

MISUSE(dropout_of_less_than_nothing) { nn::Dropout{-0.1}(x(), {}, false); }
MISUSE(dropout_of_no_rate) { nn::Dropout{ts::nan}(x(), ts::random::key(0)); }
MISUSE(layer_norm_of_a_negative_epsilon) { nn::layer_norm(4, -1e-5); }
MISUSE(layer_norm_with_an_epsilon_that_is_none) {
  auto layer = nn::layer_norm(4);
  layer.epsilon = ts::nan;
  layer(x());
}
MISUSE(batch_norm_of_a_momentum_of_two) { nn::batch_norm(4, {.momentum = 2}); }
MISUSE(batch_norm_of_a_negative_epsilon) { nn::batch_norm(4, {.epsilon = -1}); }
MISUSE(initialiser_of_an_infinite_scale) {
  nn::VarianceScaling{ts::inf}(ts::random::key(0), {2, 3});
}
MISUSE(leaky_relu_of_no_slope) { nn::leaky_relu(x(), ts::nan); }
MISUSE(elu_of_an_infinite_alpha) { nn::elu(x(), ts::inf); }
MISUSE(huber_loss_of_a_negative_delta) { nn::huber_loss(x(), x(), -1); }
MISUSE(sgd_of_a_schedule_that_is_none) { optim::sgd(optim::Schedule{}); }
MISUSE(updates_of_another_shape) { optim::apply_updates(x(), ts::ones(4)); }
MISUSE(batch_norm_of_no_examples) { nn::batch_norm(4).train(ts::zeros({0, 4})); }

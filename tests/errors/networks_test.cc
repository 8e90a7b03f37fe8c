// Invalid arguments of distributions, layers and optimisers.
#include "errors/misuse.h"

namespace optim = ts::optim;
namespace nn = ts::nn;
namespace rnd = ts::random;

namespace {
Array key() { return rnd::key(0); }
Array x() { return ts::ones({2, 4}); }
}  // namespace

MISUSE(gamma_of_integers) { rnd::gamma(key(), 2.0, ts::Shape{3}, ts::i32); }
MISUSE(beta_of_parameters_beyond_the_shape) { rnd::beta(key(), ts::ones({3}), 1.0, ts::Shape{2}); }
MISUSE(poisson_of_complex_rates) { rnd::poisson(key(), ts::complex(1.0, 1.0)); }
MISUSE(poisson_in_floats) { rnd::poisson(key(), 3.0, {}, ts::f32); }
MISUSE(dirichlet_of_a_number) { rnd::dirichlet(key(), 1.0); }
MISUSE(ball_without_dimensions) { rnd::ball(key(), 0); }
MISUSE(normal_vectors_of_variances) {
  rnd::multivariate_normal(key(), ts::zeros({3}), ts::ones({3}));
}
MISUSE(normal_vectors_by_an_unknown_method) {
  rnd::multivariate_normal(key(), ts::zeros({3}), ts::eye(3), {}, ts::f32, "lu");
}
MISUSE(normal_vectors_of_another_batch) {
  rnd::multivariate_normal(key(), ts::zeros({4, 3}), ts::eye(3), ts::Shape{5});
}
MISUSE(orthogonal_matrix_of_negative_rows) { rnd::orthogonal(key(), -2); }
MISUSE(density_of_other_vectors) {
  ts::stats::multivariate_normal::logpdf(ts::zeros({5, 2}), ts::zeros({3}), ts::eye(3));
}
MISUSE(polyfit_of_points_of_two_lengths) { ts::polyfit(ts::ones({5}), ts::ones({4}), 1); }
MISUSE(polyfit_with_a_weight_too_few) {
  ts::polyfit(ts::ones({5}), ts::ones({5}), 1, {.w = ts::ones({4})});
}
MISUSE(orthogonal_initializer_of_a_vector) { nn::initializers::orthogonal()(key(), {3}); }
MISUSE(delta_orthogonal_of_more_inputs_than_outputs) {
  nn::initializers::delta_orthogonal()(key(), {3, 4, 2});
}
MISUSE(generalized_normal_of_no_power) { rnd::generalized_normal(key(), -1.0); }
MISUSE(rademacher_of_unsigned_integers) { rnd::rademacher(key(), {3}, ts::u8); }
MISUSE(cauchy_of_many_keys) { rnd::cauchy(rnd::split(key(), 3), {2}); }
MISUSE(wald_of_nothing) { rnd::wald(key(), Array()); }

MISUSE(celu_of_zero) { nn::celu(x(), 0); }
MISUSE(squareplus_of_a_negative_b) { nn::squareplus(x(), -1); }
MISUSE(mish_of_complex_numbers) { nn::mish(ts::complex(x(), x())); }
MISUSE(glu_of_an_odd_axis) { nn::glu(ts::ones({2, 5})); }
MISUSE(standardizing_by_a_negative_epsilon) { nn::standardize(x(), {.epsilon = -1}); }
MISUSE(initializer_that_gives_another_shape) {
  nn::Initializer init(
      [](const Array& k, const ts::Shape&, ts::DType d) { return rnd::normal(k, {2}, d); });
  init(key(), {3, 4});
}
MISUSE(variance_scaling_of_no_mode) { nn::initializers::variance_scaling(1, "fan", "normal"); }
MISUSE(truncation_turned_around) { nn::initializers::truncated_normal(1, 2, -2); }

MISUSE(focal_loss_of_other_labels) { nn::sigmoid_focal_loss(x(), ts::ones(4)); }
MISUSE(cosine_of_numbers) { nn::cosine_similarity(1.0, 2.0); }
MISUSE(labels_smoothed_too_much) { nn::smooth_labels(x(), 1.5); }
MISUSE(ctc_loss_of_paddings_that_do_not_fit) {
  nn::ctc_loss(ts::ones({2, 5, 4}), ts::zeros({2, 4}), ts::zeros({2, 3}, ts::i32),
               ts::zeros({2, 3}));
}
MISUSE(ctc_loss_without_its_blank) {
  nn::ctc_loss(ts::ones({2, 5, 4}), ts::zeros({2, 5}), ts::zeros({2, 3}, ts::i32),
               ts::zeros({2, 3}), {.blank_id = 4});
}

MISUSE(attention_of_heads_that_do_not_divide) {
  nn::dot_product_attention(ts::ones({1, 2, 3, 4}), ts::ones({1, 2, 2, 4}), ts::ones({1, 2, 2, 4}));
}
MISUSE(attention_with_a_mask_of_another_time) {
  const Array q = ts::ones({1, 2, 3, 4});
  nn::dot_product_attention(q, q, q, {.mask = ts::ones({1, 1, 2, 5}, ts::bool_)});
}
MISUSE(attention_layer_of_heads_that_do_not_divide) { nn::multi_head_attention(key(), 10, 4); }
MISUSE(attention_layer_never_made) { nn::MultiHeadAttention()(x()); }
MISUSE(decoding_beyond_the_cache) {
  const auto layer = nn::multi_head_attention(key(), 4, 2);
  layer.decode(ts::ones({2, 5, 4}), layer.cache(2, 3));
}
MISUSE(rotation_of_odd_features) { nn::rotary_embedding(ts::ones({1, 2, 3, 5})); }
MISUSE(masks_of_nothing) { nn::combine_masks({}); }
MISUSE(groups_that_do_not_divide) { nn::group_norm(10, 4); }
MISUSE(rms_norm_of_other_features) { nn::rms_norm(3)(x()); }
MISUSE(weight_norm_of_other_features) { nn::weight_norm(3)(x()); }
MISUSE(cell_with_a_carry_of_another_batch) { nn::gru_cell(key(), 4, 3)(ts::zeros({5, 3}), x()); }
MISUSE(rnn_without_time) { nn::RNN<nn::LSTMCell>{nn::lstm_cell(key(), 4, 3)}(ts::ones(4)); }
MISUSE(transposed_convolution_in_groups) { nn::conv_transpose(key(), 4, 4, {3, 3}, {.groups = 2}); }
MISUSE(pooling_to_no_size) { nn::adaptive_avg_pool(ts::ones({1, 4, 4, 2}), {2}); }
MISUSE(mlp_of_one_size) { nn::mlp(key(), {4}); }
MISUSE(mlp_of_an_unknown_activation) { nn::mlp(key(), {4, 2}, "rely"); }

MISUSE(lion_of_a_large_decay) { optim::lion(1e-3, 1.5); }
MISUSE(lamb_of_a_negative_decay) { optim::lamb(1e-3, -1); }
MISUSE(multi_steps_of_none) { optim::MultiSteps(optim::sgd(0.1), 0); }
MISUSE(label_without_an_optimizer) { optim::multi_transform({{"a", optim::sgd(0.1)}}, {"b"}); }
MISUSE(mask_of_other_leaves) { optim::masked(optim::sgd(0.1), std::vector{true, false}).init(x()); }
MISUSE(lookahead_of_one_speed) { optim::lookahead(optim::sgd(0.1), 5, 0.5).init(x()); }
MISUSE(hyperparameter_of_another_name) {
  optim::hyperparam(optim::sgd(0.1).init(x()), "learning_rate");
}
MISUSE(boundaries_of_too_few_schedules) { optim::join_schedules({optim::constant(0.1)}, {10}); }
MISUSE(state_of_another_adagrad) {
  const auto opt = optim::adagrad(0.1);
  opt.update(x(), opt.init(ts::ones(4)), x());
}

// Layers, losses, random numbers and data that do not fit.
#include "errors/misuse.h"

#include <cmath>

namespace nn = tessera::nn;

static Array key() { return ts::random::key(0); }

MISUSE(linear_on_another_number_of_features) { nn::linear(key(), 784, 10)(ts::ones({32, 28, 28})); }
MISUSE(linear_of_no_features) { nn::linear(key(), 0, 10); }
MISUSE(layer_from_a_seed_for_a_key) { nn::linear(42, 784, 10); }
MISUSE(layer_from_all_keys) { nn::linear(ts::random::split(key(), 3), 784, 10); }
MISUSE(conv_on_one_image) { nn::conv(key(), 3, 8, {3, 3})(ts::ones({32, 32, 3})); }
MISUSE(conv_on_channels_first) { nn::conv(key(), 3, 8, {3, 3})(ts::ones({16, 3, 32, 32})); }
MISUSE(conv_in_no_groups) { nn::conv(key(), 3, 8, {3, 3}, {.groups = 0}); }
MISUSE(embedding_of_floats) { nn::embedding(key(), 100, 16)(ts::ones({5})); }
MISUSE(batch_norm_of_other_channels) { nn::batch_norm(3).train(ts::ones({2, 4})); }
MISUSE(batch_norm_over_an_axis_that_is_not_bound) {
  nn::batch_norm(3, {.axis_name = "devices"}).train(ts::ones({2, 3}));
}
MISUSE(layer_norm_of_other_features) { nn::layer_norm(3)(ts::ones({2, 4})); }
MISUSE(dropout_of_everything) { nn::Dropout{1.0}(ts::ones({4}), key()); }
MISUSE(dropout_without_a_key) { nn::Dropout{}(ts::ones({4}), Array()); }
MISUSE(dropout_with_all_keys) { nn::Dropout{}(ts::ones({4}), ts::random::split(key(), 3)); }
MISUSE(dropout_of_an_empty_array) { nn::Dropout{}(Array(), key()); }
MISUSE(linear_of_an_empty_array) { nn::linear(key(), 3, 4)(Array()); }
MISUSE(linear_that_nobody_made) { nn::Linear{}(ts::ones({2, 3})); }
MISUSE(linear_with_another_bias) { nn::Linear{ts::ones({3, 4}), ts::ones({5})}(ts::ones({2, 3})); }
MISUSE(linear_in_integers) { nn::linear(key(), 3, 4, {.dtype = ts::i32})(ts::ones({2, 3})); }
MISUSE(conv_of_an_empty_array) { nn::conv(key(), 3, 8, {3, 3})(Array()); }
MISUSE(conv_that_nobody_made) { nn::Conv{}(ts::ones({2, 8, 8, 3})); }
MISUSE(conv_with_another_bias) {
  nn::Conv{ts::ones({3, 3, 3, 8}), ts::ones({3})}(ts::ones({2, 8, 8, 3}));
}
MISUSE(conv_without_space) { nn::conv(key(), 3, 8, {}); }
MISUSE(conv_with_a_kernel_of_nothing) { nn::conv(key(), 3, 8, {0, 3}); }
MISUSE(embedding_of_an_empty_array) { nn::embedding(key(), 100, 16)(Array()); }
MISUSE(embedding_that_nobody_made) { nn::Embedding{}(ts::arange(3)); }
MISUSE(embedding_with_a_row_a_device) { nn::Embedding{ts::ones({4, 100, 16})}(ts::arange(3)); }
MISUSE(layer_norm_of_an_empty_array) { nn::layer_norm(3)(Array()); }
MISUSE(layer_norm_that_nobody_made) { nn::LayerNorm{}(ts::ones({2, 3})); }
MISUSE(layer_norm_with_another_bias) {
  nn::LayerNorm{ts::ones({3}), ts::ones({2})}(ts::ones({2, 3}));
}
MISUSE(layer_norm_with_a_row_a_device) {
  nn::LayerNorm{ts::ones({4, 3}), ts::ones({4, 3})}(ts::ones({2, 3}));
}
MISUSE(batch_norm_of_an_empty_array) { nn::batch_norm(3)(Array()); }
MISUSE(batch_norm_that_nobody_made) { nn::BatchNorm{}.train(ts::ones({2, 3})); }
MISUSE(batch_norm_with_other_statistics) {
  nn::BatchNorm layer = nn::batch_norm(3);
  layer.var = ts::ones({2});
  layer(ts::ones({2, 3}));
}
MISUSE(relu_of_an_empty_array) { nn::relu(Array()); }
MISUSE(leaky_relu_of_an_empty_array) { nn::leaky_relu(Array()); }
MISUSE(gelu_of_an_empty_array) { nn::gelu(Array()); }
MISUSE(silu_of_an_empty_array) { nn::silu(Array()); }
MISUSE(softplus_of_an_empty_array) { nn::softplus(Array()); }
MISUSE(softmax_of_an_empty_array) { nn::softmax(Array()); }
MISUSE(softmax_of_a_scalar) { nn::softmax(2.0); }
MISUSE(softmax_over_an_axis_too_many) { nn::softmax(ts::ones({2, 3}), 2); }
MISUSE(log_softmax_of_booleans) { nn::log_softmax(ts::ones({2, 3}) > 0); }
MISUSE(cross_entropy_of_no_logits) { nn::softmax_cross_entropy(Array(), ts::ones({8, 10})); }
MISUSE(cross_entropy_of_no_labels) { nn::softmax_cross_entropy(ts::ones({8, 10}), Array()); }
MISUSE(cross_entropy_of_one_logit) { nn::softmax_cross_entropy(2.0, 1.0); }
MISUSE(cross_entropy_of_another_number_of_labels) {
  nn::softmax_cross_entropy_with_integer_labels(ts::ones({8, 10}), ts::arange(4));
}
MISUSE(masked_mean_without_a_mask) { nn::masked_mean(ts::ones({8}), Array()); }
MISUSE(masked_mean_of_another_shape) { nn::masked_mean(ts::ones({8, 3}), ts::ones({8})); }
MISUSE(accuracy_of_no_logits) { nn::accuracy(Array(), ts::arange(8)); }
MISUSE(accuracy_of_one_number) { nn::accuracy(2.0, 1); }
MISUSE(initialiser_without_a_key) { nn::lecun_normal()(Array(), {3, 4}); }
MISUSE(initialiser_of_a_negative_scale) { nn::VarianceScaling{-1.0}(key(), {3, 4}); }
MISUSE(initialiser_of_integers) { nn::he_normal()(key(), {3, 4}, ts::i32); }
MISUSE(initialiser_of_an_unknown_fan) { nn::VarianceScaling{1.0, "fan_in"}(key(), {3, 4}); }
MISUSE(cross_entropy_of_integer_labels) {
  nn::softmax_cross_entropy(ts::ones({8, 10}), ts::zeros({8}, ts::i32));
}
MISUSE(cross_entropy_of_float_labels) {
  nn::softmax_cross_entropy_with_integer_labels(ts::ones({8, 10}), ts::zeros({8}));
}
MISUSE(accuracy_of_one_hot_labels) { nn::accuracy(ts::ones({8, 10}), ts::ones({8, 10})); }

MISUSE(normal_from_all_keys) { ts::random::normal(ts::random::split(key(), 4), {2}); }
MISUSE(normal_from_a_seed) { ts::random::normal(0, {2}); }
MISUSE(normal_integers) { ts::random::normal(key(), {2}, ts::i32); }
MISUSE(normal_of_a_negative_shape) { ts::random::normal(key(), {-2}); }
MISUSE(integers_between_floats) { ts::random::randint(key(), {2}, 0.5, 1.5); }
MISUSE(integers_that_do_not_fit) { ts::random::randint(key(), {2}, 0, 300, ts::u8); }
MISUSE(integers_from_an_empty_range) { ts::random::randint(key(), {2}, 5, 5); }
MISUSE(choice_of_more_than_there_are) { ts::random::choice(key(), 3, {5}, false); }
MISUSE(choice_from_nothing) { ts::random::choice(key(), 0, {5}); }
MISUSE(choice_with_too_few_probabilities) {
  ts::random::choice(key(), 3, {5}, true, ts::array({0.5, 0.5}));
}
MISUSE(uniform_bits_of_floats) { ts::random::bits(key(), {2}, ts::f32); }
MISUSE(fold_in_a_float) { ts::random::fold_in(key(), 0.5); }

MISUSE(batches_of_nothing) { ts::data::batches(100, 0); }
MISUSE(split_of_one_hot_labels) { ts::data::split_per_class(key(), ts::ones({8, 10}), 0.8); }
MISUSE(images_from_no_folder) { ts::data::load_images("no/such/folder"); }
MISUSE(images_from_no_file) { ts::data::load_idx("no/such/file"); }

MISUSE(clipping_to_a_negative_norm) { ts::optim::clip_by_global_norm(-1.0); }
MISUSE(clipping_to_no_number) { ts::optim::clip_by_value(std::nan("")); }
MISUSE(adam_that_never_forgets) { ts::optim::adamw(1e-3, 0.1, {.b1 = 1.0}); }
MISUSE(rmsprop_of_a_negative_decay) { ts::optim::rmsprop(1e-3, -0.5); }

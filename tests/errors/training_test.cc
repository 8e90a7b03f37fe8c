// Layers, losses, random numbers and data that do not fit.
#include "errors/misuse.h"

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

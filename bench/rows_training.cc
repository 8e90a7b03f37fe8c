// An MLP and a CNN with Adam.
#include "rows_training.h"

#include <optional>

namespace bench {

namespace {

namespace nn = ts::nn;
using Lead = std::vector<std::int64_t>;

ts::Shape shape_of(Lead lead, const Lead& rest) {
  lead.insert(lead.end(), rest.begin(), rest.end());
  return ts::Shape(lead);
}

struct Mlp {
  nn::Linear first, second, last;
  Array operator()(Array x) const { return last(ts::tanh(second(ts::tanh(first(x))))); }
};
Mlp make_mlp() {
  auto [a, b, c] = ts::random::split<3>(ts::random::key(0));
  return {nn::linear(a, 784, 256), nn::linear(b, 256, 128), nn::linear(c, 128, 10)};
}
Array mlp_loss(const Mlp& model, Array x, Array y) { return ts::mean(ts::square(model(x) - y)); }

struct Cnn {
  nn::Conv first, second;
  nn::Linear dense;
  Array operator()(Array x) const {
    x = ts::max_pool(nn::relu(first(x)), {2, 2});
    x = ts::max_pool(nn::relu(second(x)), {2, 2});
    return dense(x.reshape(x.shape(0), -1)).astype(ts::f32);
  }
};
Cnn make_cnn(std::optional<ts::DType> dtype) {
  auto [a, b, c] = ts::random::split<3>(ts::random::key(0));
  return {nn::conv(a, 3, 32, {3, 3}, {.dtype = dtype}),
          nn::conv(b, 32, 64, {3, 3}, {.dtype = dtype}), nn::linear(c, 4096, 10, {.dtype = dtype})};
}
Array cnn_loss(const Cnn& model, Array x, Array labels) {
  return ts::mean(nn::softmax_cross_entropy_with_integer_labels(model(x), labels));
}

}  // namespace

void add_training_rows() {
  auto vectors = [](const Lead& lead) {
    return std::pair(normal(1, shape_of(lead, {784})), normal(2, shape_of(lead, {10})));
  };
  add_training<Mlp>("mlp", mlp_loss, make_mlp, vectors, 512, {0, 4, 8});
  add_training<Mlp>("mlp_480", mlp_loss, make_mlp, vectors, 480, {4, 96});
  auto images = [](const Lead& lead) {
    return std::pair(normal(1, shape_of(lead, {32, 32, 3})),
                     ts::random::randint(ts::random::key(3), ts::Shape(lead), 0, 10));
  };
  auto single = [] { return make_cnn({}); };
  add_training<Cnn>("cnn", cnn_loss, single, images, 128, {0, 4, 8});
  add_training<Cnn>("cnn_96", cnn_loss, single, images, 96, {4, 96});
  // A row for costs that grow with the number of devices (bench/scaling).
  add_training<Mlp>("mlp_3072", mlp_loss, make_mlp, vectors, 3072, {4, 96, 1024});
  add_training<Cnn>("cnn_3072", cnn_loss, single, images, 3072, {4, 96, 1024});
  add_training<Cnn>("cnn_bf16", cnn_loss, [] { return make_cnn(ts::bf16); }, images, 128, {0});
}

}  // namespace bench

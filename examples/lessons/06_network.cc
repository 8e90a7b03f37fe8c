// Lesson 6: a network that tells two spirals apart.
#include "lessons/lesson.h"

namespace nn = ts::nn;
namespace optim = ts::optim;

//: model
struct Net {
  nn::Linear first, second, out;

  Array operator()(Array x) const {
    x = ts::tanh(first(x));
    x = ts::tanh(second(x));
    return out(x);
  }
};

Net make_net(Array key) {
  auto [k1, k2, k3] = ts::random::split<3>(key);
  return {nn::linear(k1, 2, 32), nn::linear(k2, 32, 32), nn::linear(k3, 32, 2)};
}
//: data
std::pair<Array, Array> spirals(Array key, int each) {
  Array t = ts::linspace(0.4, 3.2, each) * ts::pi;
  Array noise = 0.25 * ts::random::normal(key, {2 * each, 2});
  Array arm = ts::stack({t * ts::cos(t), t * ts::sin(t)}, 1);
  Array points = ts::concatenate({arm, -arm}) + noise;
  Array labels = ts::concatenate({ts::zeros(each, ts::i32), ts::ones(each, ts::i32)});
  return {points / 6, labels};
}
//: loss
Array loss(const Net& net, Array x, Array labels) {
  return ts::mean(nn::softmax_cross_entropy_with_integer_labels(net(x), labels));
}
//:

int main() {
  part("make");
  auto [data_key, net_key] = ts::random::split(ts::random::key(1));
  auto [x, labels] = spirals(data_key, 200);
  Net net = make_net(net_key);
  std::cout << "points " << ts::to_string(x.shape()) << ", parameters " << ts::tree::size(net)
            << "\n";
  for (const std::string& path : ts::tree::paths(net)) std::cout << path << " ";
  std::cout << "\n";

  part("step");
  auto optimizer = optim::adam(1e-2);
  auto state = optimizer.init(net);
  auto step = ts::jit([&](Net net, decltype(state) state, Array x, Array labels) {
    auto [l, g] = ts::value_and_grad(loss)(net, x, labels);
    auto [updates, next] = optimizer.update(g, state, net);
    return std::tuple(optim::apply_updates(net, updates), next, l);
  });

  part("train");
  std::vector<double> losses;
  for (int k = 0; k < 400; ++k) {
    auto [next_net, next_state, l] = step(net, state, x, labels);
    net = next_net, state = next_state;
    losses.push_back(l.item<float>());
    if (k % 100 == 0) std::cout << "step " << k << " loss " << ts::around(l, 2) << "\n";
  }
  std::cout << "accuracy above 0.98: " << (nn::accuracy(net(x), labels) > 0.98) << "\n";

  part("picture");
  Array line = ts::linspace(-1.8, 1.8, 72);
  std::vector<Array> grid = ts::meshgrid({line, -line});
  Array places = ts::stack({grid[0].reshape(-1), grid[1].reshape(-1)}, 1);
  Array second_arm = nn::softmax(net(places))(ts::all, 1).reshape(72, 72);
  save_heatmap("spirals.svg", second_arm, "where the network sees the second spiral");
  std::vector<double> steps = ts::arange(400).astype(ts::f64).to_vector<double>();
  save_chart("spirals_loss.svg", {{"", steps, losses}},
             {.title = "Training loss", .x = "step", .y = "loss", .log_y = true});

  part("mistake");
  try {
    net(ts::ones({4, 3}));
  } catch (const ts::Error& error) {
    std::cout << error.what() << "\n";
  }

  part("answer frozen");
  auto only_last = [&](nn::Linear out) {
    Net changed = net;
    changed.out = out;
    return loss(changed, x, labels);
  };
  nn::Linear g = ts::grad(only_last)(net.out);
  std::cout << ts::to_string(g.weight.shape()) << " " << ts::to_string(g.bias.shape()) << "\n";

  part("answer mlp");
  nn::MLP mlp = nn::mlp(net_key, {2, 32, 32, 2}, "tanh");
  std::cout << ts::tree::size(mlp) << " " << ts::to_string(mlp(x).shape()) << "\n";
}

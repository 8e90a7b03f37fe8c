// Tests of model.h; CTest runs this program.
#include "model.h"

#include <cmath>
#include <cstdio>

using namespace spirals;

int main() {
  int failures = 0;
  const auto check = [&](bool holds, const char* what) {
    if (!holds) std::fprintf(stderr, "failed: %s\n", what), ++failures;
  };
  const Points points = draw_points(ts::random::key(1), 64);
  check(points.positions.shape() == ts::Shape{64, 2}, "a point has two coordinates");

  // A network whose last layer is zero finds both spirals equally likely.
  Model model = make_model(ts::random::key(2));
  ts::nn::Linear& last = model.network.layers.back();
  last = ts::tree::map(ts::zeros_like, last);
  check(std::abs(ts::item<float>(loss_of(model, points)) - std::log(2.0f)) < 1e-6f,
        "the loss of a fair guess is log 2");

  Training training = start(ts::random::key(3));
  const float before = ts::item<float>(loss_of(training.model, points));
  for (int i = 0; i < 20; ++i) training = step()(training, points).first;
  check(ts::item<float>(loss_of(training.model, points)) < before, "training lowers the loss");

  std::printf("%d checks failed\n", failures);
  return failures != 0;
}

// Trains the model of model.h and saves it.
#include "model.h"

#include <cstdio>

using namespace spirals;

int main() try {
  auto [of_model, of_points] = ts::random::split(ts::random::key(0));
  const Points points = draw_points(of_points, 512);
  Training training = start(of_model);
  for (int i = 0; i <= 500; ++i) {
    auto [next, loss] = step()(training, points);
    training = next;
    if (i % 100 == 0) std::printf("step %3d  loss %.4f\n", i, ts::item<float>(loss));
  }
  std::printf("accuracy %.3f\n", ts::item<float>(accuracy_of(training.model, points)));
  ts::save("spirals.safetensors", training.model);
  std::printf("saved spirals.safetensors\n");
} catch (const ts::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}

// An introduction to pmap: a function that runs on several devices, replicated and sharded
// arguments, data-parallel training of a small network, and gathering the result.
#include "cells.h"
#include "common/command_line.h"
#include "common/outputs.h"

#include <cmath>
#include <cstdio>
#include <iostream>

using namespace pmap_intro;

namespace {

constexpr std::int64_t kExamples = 256;

void part(int number, const char* title) {
  std::cout << "\n== Part " << number << ": " << title << "\n";
}

void show(std::int64_t steps) {
  const std::int64_t devices = ts::device_count();

  part(0, "devices");
  std::cout << "number of devices: " << devices << "\n" << ts::devices() << "\n";

  part(1, "pmap over the leading axis");
  Array x = ts::arange(2.0 * double(devices)).reshape(devices, std::int64_t{2});
  Array y = squares(x);
  std::cout << "x, a row a device:\n" << x << "\n";
  std::cout << "pmap(square)(x):\n" << y << "\n";
  std::cout << "it lies on " << y.sharding() << "\n";
  std::cout << "psum over the axis that is called \"i\" by default: " << sum_over_default_axis(x)
            << "\n";

  part(2, "in_axes: shared and cut arguments");
  Array rows = ts::arange(3.0 * double(devices)).reshape(devices, std::int64_t{3});
  Array affine = shared_parameters({ts::array({1.0, 0.5, -1.0}), 10.0f}, rows);
  std::cout << "in_axes (replicated, 0), x . w + b: " << affine << "\n";
  Array offsets = ts::arange(double(devices)) * 100;
  std::cout << "in_axes (0, replicated, 0), a * b + c:\n"
            << mixed_axes(x, ts::array({1.0, -1.0}), offsets) << "\n";
  Combined c = combine(x);
  std::cout << "a scalar of each device is an array of them: " << c.own << "\n";
  std::cout << "psum   " << c.psum << "\npmean  " << c.pmean << "\npmax   " << c.pmax << "\n";

  part(3, "data-parallel training");
  auto [X_train, y_train] = make_data(ts::random::key(0), kExamples);
  Training t = train(ts::random::key(42), X_train, y_train, devices, steps);
  std::cout << "the state on " << devices << " devices:\n";
  ts::tree::for_each(
      [](const std::string& path, const Array& leaf) {
        std::cout << "  " << path << " " << ts::to_string(leaf.shape()) << "\n";
      },
      t.replicated);
  std::cout << "X_train " << ts::to_string(X_train.shape()) << " is cut to "
            << ts::to_string(ts::data::shard_batch(X_train, devices).shape()) << "\n";
  for (std::size_t i = 0; i < t.losses.size(); ++i)
    if (i % 40 == 0 || i + 1 == t.losses.size())
      std::printf("step %3zu  loss %.4f\n", i, double(t.losses[i]));
  // The mean of the gradients of equally large shards is the gradient of the whole batch.
  Training alone = train(ts::random::key(42), X_train, y_train, 1, steps);
  std::printf("the same on one device: loss %.4f\n", double(alone.losses.back()));
  std::fflush(stdout);

  part(4, "gathering the result");
  State trained = gather(t);
  std::cout << "steps taken, on each device: " << t.replicated.step << "\n";
  std::cout << "steps taken, gathered: " << trained.step << "\n";
  std::cout << "layers/0/w on the devices " << ts::to_string(t.replicated.model.layers[0].w.shape())
            << ", gathered " << ts::to_string(trained.model.layers[0].w.shape()) << "\n";
  Array at = ts::array({-0.9, -0.6, -0.3, 0.3, 0.6, 0.9}).reshape(6, 1);
  Array predicted = trained.model(at);
  for (int i = 0; i < at.shape(0); ++i)
    std::printf("x %5.2f  sin(3x) %7.3f  predicted %6.2f\n", ts::item<double>(at(i, 0)),
                std::sin(3 * ts::item<double>(at(i, 0))), ts::item<double>(predicted(i, 0)));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"An introduction to pmap, part by part"};
  int devices = 4;
  std::int64_t steps = 200;
  add_devices(app, devices, 256);
  app.add_option("--steps", steps, "training steps")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  return run_example(app, argc, argv, [&] {
    if (kExamples % devices) {
      std::int64_t below = devices - 1, above = devices + 1;
      while (kExamples % below) --below;
      while (kExamples % above) ++above;
      return refuse("--devices " + std::to_string(devices) + " does not divide the " +
                    std::to_string(kExamples) + " examples; use " + std::to_string(below) + " or " +
                    std::to_string(above));
    }
    use_devices(devices);
    leave_reports_to_the_first();
    show(steps);
    return 0;
  });
}

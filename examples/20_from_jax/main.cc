// Runs three models that JAX and Flax exported, without Python: it compares their results with
// JAX's and fine-tunes one of them, on one device and on several.
#include "common/command_line.h"
#include "common/outputs.h"
#include "models.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>

using namespace from_jax_example;

namespace {

void part(const char* title) { std::cout << "\n== " << title << "\n"; }

// The greatest difference, relative to the greatest number.
float difference(const Array& x, const Array& y) {
  return ts::item<float>(ts::max(ts::abs(x - y)) / ts::max(ts::abs(y)));
}
void compare(const char* what, const Array& got, const Array& want) {
  const bool same = difference(got, want) < 1e-5f;
  std::cout << what << " " << got.shape()
            << (same ? ": as JAX gives them, to 1e-5\n" : ": DIFFER\n");
}

void describe(const char* name, const Model& model) {
  std::int64_t numbers = 0;
  for (const Array& w : model.weights) numbers += w.size();
  std::cout << name << ": " << model.weights.size() << " weights of " << numbers
            << " numbers, and\n";
  const auto& inputs = model.function.inputs();
  for (std::size_t i = model.weights.size(); i < inputs.size(); ++i)
    std::cout << "  " << inputs[i].name << ": " << inputs[i].dtype << inputs[i].shape << "\n";
}

void show_losses(const char* how, const std::vector<float>& losses) {
  std::cout << how;
  for (const float x : losses) std::printf(" %.5f", x);
  std::printf("\n");
  std::fflush(stdout);
}

template <class F>
void time(const char* what, F&& f) {
  using Clock = std::chrono::steady_clock;
  double best = HUGE_VAL;
  for (int i = 0; i < 10; ++i) {
    const auto begin = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  std::printf("time: %s %.3f ms\n", what, best);
  std::fflush(stdout);
}

void show(const std::string& folder, int devices) {
  const auto by_jax = expected(folder);

  part("ResNet-18");
  const Model resnet = load(folder, "resnet", 0);
  describe("resnet", resnet);
  compare("logits", classify(resnet), by_jax.at("resnet.logits"));
  show_losses("fine-tuned by JAX:     ", by_jax.at("resnet.losses").to_vector<float>());
  show_losses("on one device:         ", fine_tune(resnet, 5));
  std::cout << "on " << devices << " devices" << (devices < 10 ? ": " : ":");
  show_losses("         ", fine_tune_on_devices(resnet, 5, devices));

  part("A transformer that keeps keys and values");
  const Model transformer = load(folder, "transformer", 3);
  describe("transformer", transformer);
  const Text text = generate(transformer);
  compare("logits of the last token", text.logits, by_jax.at("transformer.logits"));
  std::cout << "tokens:\n" << text.tokens << "\n";
  const bool same = ts::item<bool>(ts::all(text.tokens == by_jax.at("transformer.tokens")));
  std::cout << (same ? "as JAX gives them\n" : "JAX gives others\n");

  part("A diffusion model");
  const Model diffusion = load(folder, "diffusion", 4);
  describe("diffusion", diffusion);
  compare("pictures", denoise(diffusion), by_jax.at("diffusion.picture"));

  part("Times");
  time("8 images through ResNet-18", [&] { classify(resnet).block_until_ready(); });
  time("24 tokens", [&] { generate(transformer).logits.block_until_ready(); });
  time("9 steps of diffusion", [&] { denoise(diffusion).block_until_ready(); });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Models that JAX exported, run, compared and fine-tuned without Python"};
  std::string folder = FROM_JAX_MODELS;
  int devices = 4;
  app.add_option("--models", folder, "the folder that export.py wrote")->capture_default_str();
  add_devices(app, devices, 32, "virtual devices to fine-tune on");
  return run_example(app, argc, argv, [&] {
    if (32 % devices)
      return refuse("--devices " + std::to_string(devices) +
                    " does not divide the 32 images; use 1, 2, 4, 8, 16 or 32");
    use_devices(devices);
    leave_reports_to_the_first();
    show(folder, devices);
    return 0;
  });
}

#include "options.h"

#include "common/command_line.h"

#include <charconv>
#include <utility>

#ifndef EXAMPLE_DATA_DIR
#define EXAMPLE_DATA_DIR "data"
#endif

std::optional<int> parse(int argc, char** argv, Options& o) {
  CLI::App app{"Trains a CNN on handwritten digits, data-parallel over virtual devices"};
  o.data = EXAMPLE_DATA_DIR;
  o.out = "runs/digits";
  app.add_option("--devices", o.devices, "virtual devices")->capture_default_str();
  app.add_option("--epochs", o.epochs, "passes over the training set")->capture_default_str();
  app.add_option("--batch", o.batch, "examples a step, over all devices together")
      ->capture_default_str();
  app.add_option("--lr", o.lr, "learning rate")->capture_default_str();
  app.add_option("--seed", o.seed,
                 "of initial weights, shuffling and shifts; the split of the data is fixed")
      ->capture_default_str();
  app.add_option("--accumulate", o.accumulate,
                 "microbatches whose gradients are added up in a step")
      ->capture_default_str();
  app.add_option("--precision", o.precision, "arithmetic of the layers: f32 or bf16")
      ->capture_default_str();
  app.add_option("--optimizer", o.optimizer, "adam or sgd")->capture_default_str();
  app.add_option("--steps", o.steps, "stop after so many steps; 0 means all epochs")
      ->capture_default_str();
  app.add_flag("--augment", o.augment, "shift each digit by up to one pixel, at random");
  app.add_option("--data", o.data, "folder with IDX files, gzipped or not")->capture_default_str();
  app.add_option("--out", o.out, "folder for the trace, the curves and the model")
      ->capture_default_str();
  app.add_option("--evaluate", o.evaluate, "only test this model.safetensors");
  if (const auto code = parse(app, argc, argv)) return code;
  // The limits are far above useful values and far below those at which arithmetic on counts would
  // overflow.
  const auto outside = [](const char* name, std::int64_t value, std::int64_t least,
                          std::int64_t most) -> std::string {
    if (value >= least && value <= most) return {};
    return std::string(name) + " is " + std::to_string(value) + "; " +
           (value < least ? "at least " + std::to_string(least) + " is needed"
                          : "at most " + std::to_string(most) + " make sense");
  };
  for (const std::string& why :
       {outside("--devices", o.devices, 1, 4096), outside("--epochs", o.epochs, 1, 1000000),
        outside("--batch", o.batch, 1, 1000000), outside("--accumulate", o.accumulate, 1, 1000000),
        outside("--steps", o.steps, 0, 1000000000000)})
    if (!why.empty()) return refuse(why);
  const std::string seed = given(app, "--seed");
  const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), o.seed);
  if (error != std::errc() || end != seed.data() + seed.size())
    return refuse("--seed is " + seed + "; a number from 0 to 18446744073709551615 is needed");
  if (const auto code = need_positive(app, "--lr", o.lr)) return code;
  for (const auto& [name, what] : {std::pair("--data", "a folder"), std::pair("--out", "a folder"),
                                   std::pair("--evaluate", "a model.safetensors")})
    if (const auto code = need_text(app, name, what)) return code;
  if (o.precision != "f32" && o.precision != "bf16")
    return refuse("--precision is \"" + o.precision + "\"; it is f32 or bf16");
  if (o.optimizer != "adam" && o.optimizer != "sgd")
    return refuse("--optimizer is \"" + o.optimizer + "\"; it is adam or sgd");
  std::int64_t unit = o.devices * o.accumulate;
  if (o.batch % unit) {
    std::int64_t below = o.batch / unit * unit;
    return refuse(
        "--batch " + std::to_string(o.batch) + " does not divide over " +
        std::to_string(o.devices) + " devices" +
        (o.accumulate > 1 ? " and " + std::to_string(o.accumulate) + " microbatches" : "") +
        "; use " + (below > 0 ? std::to_string(below) + " or " : "") +
        std::to_string(below + unit));
  }
  return std::nullopt;
}

#include "options.h"

#include <CLI/CLI.hpp>

#include <iostream>

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
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const CLI::ParseError& e) {
    std::cerr << "error: " << e.what() << " (--help lists the options)\n";
    return 2;
  }
  auto refuse = [](const std::string& why) {
    std::cerr << "error: " << why << "\n";
    return 2;
  };
  if (o.devices < 1)
    return refuse("--devices is " + std::to_string(o.devices) + "; at least 1 is needed");
  if (o.devices > 4096)
    return refuse("--devices is " + std::to_string(o.devices) + "; at most 4096 make sense");
  if (o.epochs < 1)
    return refuse("--epochs is " + std::to_string(o.epochs) + "; at least 1 is needed");
  if (o.accumulate < 1)
    return refuse("--accumulate is " + std::to_string(o.accumulate) + "; at least 1 is needed");
  if (o.steps < 0) return refuse("--steps is " + std::to_string(o.steps) + "; 0 or more is needed");
  if (!(o.lr > 0)) return refuse("--lr is " + std::to_string(o.lr) + "; a positive rate is needed");
  if (o.precision != "f32" && o.precision != "bf16")
    return refuse("--precision is \"" + o.precision + "\"; it is f32 or bf16");
  if (o.optimizer != "adam" && o.optimizer != "sgd")
    return refuse("--optimizer is \"" + o.optimizer + "\"; it is adam or sgd");
  std::int64_t unit = o.devices * o.accumulate;
  if (o.batch < 1 || o.batch % unit) {
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

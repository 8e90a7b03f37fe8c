// Training steps of any model, on one device and data-parallel, and the time until the first step
// is done.
#pragma once

#include "rows.h"

#include <memory>

namespace bench {

template <class Model>
struct Training {
  Model model;
  ts::optim::State optimizer;
};
template <class Model>
using Loss = Array (*)(const Model&, Array, Array);

/// A step: gradients, their mean over the devices if there are several, and Adam.
template <class Model>
auto step_of(Loss<Model> loss, bool mapped) {
  return [=](Training<Model> t, Array x, Array y) {
    auto [value, grads] = ts::value_and_grad(loss)(t.model, x, y);
    if (mapped) {
      grads = ts::pmean(grads, "devices");
      value = ts::pmean(value, "devices");
    }
    auto [updates, next] = ts::optim::adam(1e-3).update(grads, t.optimizer, t.model);
    return std::pair(Training<Model>{ts::optim::apply_updates(t.model, updates), next}, value);
  };
}

/// A run of training, whose steps donate the state of the step before.
struct Run {
  Call step;                    // does not wait for its results
  std::function<float()> loss;  // of the newest step; waits for it
};
template <class Step, class Model>
Run run_of(Step step, Training<Model> start, Array x, Array y) {
  auto state = std::make_shared<Training<Model>>(std::move(start));
  auto value = std::make_shared<Array>();
  return {[=] {
            auto [next, loss] = step(std::move(*state), x, y);
            *state = std::move(next);
            *value = loss;
          },
          [=] { return ts::item<float>(*value); }};
}

/// Runs of training on one device, by the names of their rows, for device_check.
struct NamedRun {
  std::string name;
  std::function<Run()> make;
};
inline std::vector<NamedRun>& runs() {
  static std::vector<NamedRun> all;
  return all;
}

/// Each step takes the state of the one before, and every loss is read, as in a training loop.
template <class Step, class Model>
Call fed_back(Step step, Training<Model> start, Array x, Array y) {
  const Run run = run_of(std::move(step), std::move(start), x, y);
  return [run] {
    run.step();
    run.loss();
  };
}

/// `devices` is 0 for a step without pmap.
template <class Model>
Call training(Loss<Model> loss, Model model, Array x, Array y, std::int64_t devices) {
  const Training<Model> start{model, ts::optim::adam(1e-3).init(model)};
  if (devices == 0) return fed_back(ts::jit(step_of(loss, false)), start, x, y);
  return fed_back(ts::pmap(step_of(loss, true), {.axis_name = "devices",
                                                 .in_axes = {ts::replicated, 0, 0},
                                                 .out_axes = {ts::replicated, ts::replicated}}),
                  start, x, y);
}

/// Adds a row for each number of devices ("name/4"; 0 is "name/one", without pmap). A step takes
/// `batch` examples in all, from data(leading shape).
template <class Model, class MakeModel, class MakeData>
void add_training(const std::string& name, Loss<Model> loss, MakeModel model, MakeData data,
                  std::int64_t batch, const std::vector<std::int64_t>& devices) {
  runs().push_back({name, [=] {
                      const Model start = model();
                      auto [x, y] = data(std::vector{batch});
                      return run_of(ts::jit(step_of<Model>(loss, false)),
                                    Training<Model>{start, ts::optim::adam(1e-3).init(start)}, x,
                                    y);
                    }});
  for (std::int64_t n : devices)
    rows().push_back(
        {name + "/" + (n ? std::to_string(n) : "one"), [=] {
           std::vector<std::int64_t> lead = n ? std::vector{n, batch / n} : std::vector{batch};
           auto [x, y] = data(lead);
           return training<Model>(loss, model(), x, y, n);
         }});
}

}  // namespace bench

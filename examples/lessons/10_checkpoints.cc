// Lesson 10: a run that is interrupted, resumed on other devices, and spread over processes.
#include "lessons/lesson.h"

#include <filesystem>
#include <fstream>

namespace nn = ts::nn;
namespace optim = ts::optim;

//: state
struct State {
  nn::MLP model;
  optim::State moments;
  Array key, step;
};
//: step
const optim::Optimizer optimizer = optim::adam(1e-2);

std::pair<State, Array> train(State s, Array x, Array y) {
  auto [l, g] =
      ts::value_and_grad([&](nn::MLP m) { return ts::mean(ts::square(m(x) - y)); })(s.model);
  auto [updates, moments] = optimizer.update(g, s.moments, s.model);
  return {State{optim::apply_updates(s.model, updates), moments, s.key, s.step + 1}, l};
}

State first_state() {
  auto [model_key, key] = ts::random::split(ts::random::key(0));
  nn::MLP model = nn::mlp(model_key, {1, 32, 1}, "tanh");
  return {model, optimizer.init(model), key, ts::zeros({}, ts::i32)};
}
//: run
/// Trains until step `end` on the devices of `mesh`, and returns the losses.
std::vector<double> run(State& state, int end, const ts::Mesh& mesh) {
  auto step = ts::jit(train, {.mesh = mesh,
                              .in_shardings = {ts::P(), ts::P("data"), ts::P("data")},
                              .out_shardings = {ts::P(), ts::P()}});
  std::vector<double> losses;
  while (state.step.item<int>() < end) {
    Array key = ts::random::fold_in(state.key, state.step);
    Array x = ts::random::uniform(key, {64, 1}, ts::f32, -3, 3);
    auto [next, l] = step(state, x, ts::sin(2 * x));
    state = next;
    losses.push_back(l.item<float>());
  }
  return losses;
}
//: say
/// Prints a line, in the first process only.
template <class... A>
void say(const A&... what) {
  if (ts::process_index() == 0) (std::cout << ... << what) << "\n";
}
//:

int main() {
  part("undisturbed");
  ts::set_device_count(8);
  ts::Mesh eight({{"data", 8}}), four({{"data", 4}, {"copy", 2}});
  State state = first_state();
  std::vector<double> all = run(state, 120, eight);
  say("step ", state.step, ", loss ", all.back());

  part("interrupted");
  if (ts::process_index() == 0) std::filesystem::remove_all("lesson_run");
  State early = first_state();
  std::vector<double> before = run(early, 50, eight);
  ts::checkpoint::save("lesson_run", 50, early);
  say("saved step ", *ts::checkpoint::latest_step("lesson_run"));

  part("resumed");
  State resumed = ts::checkpoint::restore("lesson_run", first_state());
  std::vector<double> after = run(resumed, 120, four);
  say("step ", resumed.step, ", loss ", after.back());

  part("same bits");
  State again = ts::checkpoint::restore("lesson_run", first_state());
  run(again, 120, eight);
  say("on eight devices, the same bits: ", ts::tree::equal(again, state) ? "yes" : "no");
  say("on four, close to them: ",
      bool(ts::allclose(resumed.model.layers[1].weight, state.model.layers[1].weight, 1e-3, 1e-4))
          ? "yes"
          : "no");

  part("picture");
  auto steps = [](int from, std::size_t count) {
    std::vector<double> at;
    for (std::size_t k = 0; k < count; ++k) at.push_back(from + double(k));
    return at;
  };
  if (ts::process_index() == 0)
    save_chart("resumed.svg",
               {{"eight devices, until the interruption", steps(0, before.size()), before},
                {"four devices", steps(50, after.size()), after}},
               {.title = "Loss", .x = "step", .log_y = true});

  part("background");
  ts::CheckpointManager checkpoints("lesson_run", {.max_to_keep = 2, .save_interval_steps = 10});
  for (int end = 130; end <= 160; end += 10) {
    run(again, end, eight);
    checkpoints.save(end, again);  // returns at once
  }
  checkpoints.wait();
  for (auto step : ts::checkpoint::all_steps("lesson_run")) say("kept step ", step);

  part("mistake");
  State wider = first_state();
  wider.model = nn::mlp(ts::random::key(0), {1, 64, 1}, "tanh");
  try {
    ts::checkpoint::restore("lesson_run", wider, {.step = 160});
  } catch (const ts::Error& error) {
    say(error.what());
  }

  part("answer part");
  nn::MLP model = ts::checkpoint::restore("lesson_run", again, {.only = {"model/**"}}).model;
  say(ts::tree::equal(model, again.model) ? "the model is back" : "it differs");
}

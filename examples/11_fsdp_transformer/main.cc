// One transformer, one training step, and a table of ways to shard them over devices. Every form
// takes some steps from the same start; one of them is trained to the end and writes a psalm.
#include "11_fsdp_transformer/corpus.h"
#include "11_fsdp_transformer/generate.h"
#include "11_fsdp_transformer/plan.h"
#include "common/command_line.h"
#include "common/interrupt.h"
#include "common/loss_picture.h"
#include "common/outputs.h"
#include "options.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>

using namespace fsdp_transformer;

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The settings and data that all forms share.
struct Job {
  const Options& o;
  Corpus corpus;
  optim::Optimizer opt;
  Array batch_key;

  Batch batch(std::int64_t step) const {
    return draw_batch(corpus, ts::random::fold_in(batch_key, step), o.batch, o.sizes.context);
  }
  Form settle(const Form& form, const State& state) const {
    return settled(form, state, batch(0).ids, opt, o.recompute, o.memory * 1000000);
  }
};

struct Trained {
  State state;
  std::vector<double> losses;
  double seconds = 0;  // of the steps after the first
};

/// Runs the steps from `from` to `to`, or until the user interrupts. `before` is called with the
/// number of finished steps, `after` with the loss too.
Trained train(const Job& job, const Form& form, State state, std::int64_t from, std::int64_t to,
              auto before, auto after) {
  auto step = make_step(form, state, job.opt, job.o.recompute);
  Trained t{std::move(state), {}};
  Clock::time_point start = Clock::now();
  for (std::int64_t i = from; i < to && !any_interrupted(); ++i) {
    before(i - from);
    const Batch batch = job.batch(i);
    auto [next, value] = step(std::move(t.state), batch.ids, batch.labels);
    t.state = std::move(next);
    t.losses.push_back(ts::item<double>(value));
    after(i + 1, t.losses.back());
    if (i == from) start = Clock::now();
  }
  t.seconds = since(start);
  return t;
}

const auto nothing = [](auto...) {};

/// Prints plans and losses of all forms, from one start. Returns false if losses differ by more
/// than 1e-4.
bool compare(const Job& job, const State& start) {
  std::vector<double> first;
  double worst = 0;
  for (const Form& row : forms(job.o.devices)) {
    if (any_interrupted()) return true;
    const Form form = job.settle(row, start);
    // A step reuses the memory of its state, so each form starts with a copy.
    State state = place(form, ts::tree::map([](const Array& x) { return x.copy(); }, start));
    const Batch batch = job.batch(0);
    std::printf("\n== %s: %s\n", form.name.c_str(), form.what.c_str());
    std::fflush(stdout);
    if (form.found) std::cout << *form.found << "\n";
    print_plan(make_step(form, state, job.opt, job.o.recompute)
                   .lower(state, batch.ids, batch.labels)
                   .plan({.memory = false, .alternatives = 0}));
    const Trained t = train(job, form, std::move(state), 0, job.o.compare, nothing, nothing);
    std::printf("  losses");
    for (double loss : t.losses) std::printf(" %.4f", loss);
    if (t.losses.size() > 1)
      std::printf("\n  time of a step: %.1f ms",
                  1e3 * t.seconds / static_cast<double>(t.losses.size() - 1));
    std::printf("\n");
    std::fflush(stdout);
    if (first.empty()) first = t.losses;
    for (std::size_t i = 0; i < std::min(first.size(), t.losses.size()); ++i)
      worst = std::max(worst, std::abs(t.losses[i] - first[i]));
  }
  std::printf("\nThe losses of all forms agree to %.1e\n", worst);
  return worst <= 1e-4;
}

/// Prints the bytes of parameters and optimiser state that each device holds.
void print_memory(const Form& form, const State& state) {
  std::int64_t whole = 0, part = 0;
  for (const Array& leaf : ts::tree::leaves(state)) {
    if (leaf.is_empty()) continue;
    whole += leaf.nbytes();
    part += leaf.shards()[0].data.nbytes();
  }
  std::printf("parameters and optimiser state: %lld bytes, on each device of %s %lld\n",
              static_cast<long long>(whole), form.name.c_str(), static_cast<long long>(part));
}

void print_text(const Job& job, const Form& form, const Gpt& model) {
  const Array key = ts::random::key(job.o.seed);
  const Batch prompt = draw_batch(job.corpus, key, 1, job.o.sizes.context);
  const std::vector<std::int32_t> ids = prompt.ids.to_vector<std::int32_t>();
  std::cout << "\n--- after \"" << job.corpus.decode(ids) << "\":\n"
            << job.corpus.decode(
                   generate(form, model, ids, key, job.o.characters, job.o.temperature))
            << "\n---" << std::endl;
}

/// Returns the state of the run's newest checkpoint and sets the seed of that run.
State load_state(Options& o, const State& like) {
  const auto newest = ts::checkpoint::latest_step(o.resume);
  if (!newest) throw ts::IoError("there is no checkpoint in " + o.resume);
  const auto about = ts::checkpoint::info(o.resume, *newest).metadata;
  const auto seed = about.find("seed");
  if (seed == about.end())
    throw ts::IoError(o.resume + " has no seed: it has no checkpoints of this program");
  o.seed = std::stoull(seed->second);
  return ts::checkpoint::restore(o.resume, like, {.step = newest});
}

int run(Options o) {
  use_devices(static_cast<int>(o.devices));
  leave_reports_to_the_first();
  const optim::Optimizer opt = optim::adam(o.lr);
  const auto start = [&] {
    return optim::train_state(make_gpt(ts::random::split<2>(ts::random::key(o.seed))[0], o.sizes),
                              opt);
  };
  State state = start();
  if (!o.resume.empty()) state = load_state(o, state);
  const Job job{o, load_corpus(o.data, o.sizes.vocabulary), opt,
                Array(ts::random::split<2>(ts::random::key(o.seed))[1])};
  const auto done = ts::item<std::int64_t>(state.step);
  if (done >= o.steps)
    throw ts::Error("the checkpoint is of step " + std::to_string(done) +
                    "; choose --steps beyond that");

  // Files that cannot be written are found before the training.
  Outputs outputs(o.out, {"plan.html", "trace.json", "metrics.csv", "loss.svg"}, {"checkpoints"});
  watch_for_interrupts();
  std::printf("%lld parameters, %lld characters of text, %lld devices, batch %lld x %lld\n",
              static_cast<long long>(ts::tree::element_count(ts::tree::leaves(state.model))),
              static_cast<long long>(job.corpus.text.size()), static_cast<long long>(o.devices),
              static_cast<long long>(o.batch), static_cast<long long>(o.sizes.context));
  bool agree = true;
  if (o.compare > 0 && done == 0) agree = compare(job, state);

  const Form chosen = job.settle(form(o.form, o.devices), state);
  std::printf("\n== training: %s, steps %lld to %lld\n", chosen.name.c_str(),
              static_cast<long long>(done + 1), static_cast<long long>(o.steps));
  state = place(chosen, state);
  print_memory(chosen, state);
  outputs.write("plan.html", [&] {
    const Batch batch = job.batch(done);
    const auto step = make_step(chosen, state, opt, o.recompute);
    ts::save_html(step.explain(state, batch.ids, batch.labels), outputs.path("plan.html"));
  });
  Trace trace(outputs.path("trace.json"));
  const std::int64_t every = std::max<std::int64_t>(1, (o.steps - done) / 10);
  Trained t = train(
      job, chosen, std::move(state), done, o.steps,
      [&](std::int64_t steps) { trace.before_step(steps); },
      [&](std::int64_t step, double loss) {
        if ((step - done) % every == 0 || step == o.steps)
          std::printf("step %4lld  loss %.4f\n", static_cast<long long>(step), loss);
        std::fflush(stdout);
      });
  trace.end();
  const auto steps = static_cast<std::int64_t>(t.losses.size());
  if (steps == 0) {
    if (reports()) std::cerr << "interrupted before the first step; nothing is written\n";
    return kInterrupted;
  }
  std::printf("trained %lld steps, time: %.1f s\n", static_cast<long long>(steps), t.seconds);

  outputs.write_together("checkpoints", [&] {
    ts::checkpoint::save(
        outputs.path("checkpoints"), done + steps, t.state,
        {.metadata = {{"seed", std::to_string(o.seed)}, {"form", chosen.name}}, .overwrite = true});
  });
  if (trace.recorded()) outputs.write("trace.json", [&] { trace.finish(); });
  outputs.write("metrics.csv", [&] {
    std::string text = "step,loss\n";
    for (std::size_t i = 0; i < t.losses.size(); ++i) {
      char line[64];
      std::snprintf(line, sizeof line, "%lld,%.9g\n",
                    static_cast<long long>(done) + static_cast<long long>(i) + 1, t.losses[i]);
      text += line;
    }
    write_file(outputs.path("metrics.csv"), text);
  });
  outputs.write("loss.svg", [&] {
    std::vector<Mark> marks;
    for (std::int64_t i = 0; i < steps; i += every)
      marks.push_back({static_cast<std::size_t>(i), done + i + 1});
    write_loss_svg(outputs.path("loss.svg"), t.losses, marks,
                   "Psalms, " + chosen.name + ", " + std::to_string(o.devices) + " devices",
                   "step");
  });
  const bool ended = any_interrupted();
  if (!ended && o.characters > 0) print_text(job, chosen, t.state.model);
  std::cout << outputs.report() << std::endl;
  if (ended) {
    if (reports()) std::cerr << "interrupted after " << done + steps << " steps\n";
    return kInterrupted;
  }
  if (!agree && reports()) std::cerr << "error: the forms' losses differ by more than 1e-4\n";
  return outputs.failed() || !agree ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (auto code = parse(argc, argv, options)) return *code;
  return report_errors([&] { return run(options); });
}

// Training in several processes, whose checkpoints outlive them: `run` restarts it with the
// processes that are left.
#include "common/interrupt.h"
#include "training.h"

#include <CLI/CLI.hpp>

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <iostream>

namespace {

struct Options {
  std::string data = "data", out = "runs/many_processes";
  std::int64_t steps = 240, every = 20, batch = 64, devices = 8, seed = 0, die_at = -1;
  int attempt = 0;
  double timeout = 60;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int run(const Options& o) {
  ts::distributed::initialize({.timeout = o.timeout});
  ts::set_device_count(static_cast<int>(o.devices));
  const bool reports = ts::process_index() == 0;
  const ts::Mesh mesh({{"data", o.devices}});
  Batches batches(o.data, o.batch, ts::Sharding(mesh, ts::P("data")), ts::random::key(o.seed));
  State state = first_state(mesh, batches.pixels(), o.seed);
  const auto step = make_step(mesh, state);

  ts::CheckpointManager checkpoints(o.out, {.max_to_keep = 3, .save_interval_steps = o.every});
  std::int64_t done = 0;
  if (const auto newest = checkpoints.latest_step()) {
    const auto [before, examples] =
        checkpoints.restore(Checkpoint{state, batches.order().position()});
    state = before;
    batches.order().seek(examples);
    done = *newest;
    if (reports) std::printf("goes on from step %lld\n", static_cast<long long>(done));
  }
  if (reports) std::printf("%d processes, %s\n", ts::process_count(), to_string(mesh).c_str());

  watch_for_interrupts();
  Array loss;
  const double begin = now();
  const std::int64_t first = done;
  while (done < o.steps && !any_interrupted()) {
    const auto [images, labels] = batches.next();
    std::tie(state, loss) = step(std::move(state), images, labels);
    ++done;
    checkpoints.save(
        done,
        Checkpoint{state, batches.order().position()});  // training continues while it is written
    if (done == o.die_at && o.attempt == 0 && ts::process_index() == ts::process_count() - 1) {
      loss.block_until_ready();
      ::raise(SIGKILL);  // like a machine that fails
    }
    if (reports && (done % o.every == 0 || done == o.steps)) {
      std::printf("step %4lld  loss %.6f\n", static_cast<long long>(done), ts::item<double>(loss));
      std::fflush(stdout);
    }
  }
  if (!checkpoints.should_save(done) && done > first)
    checkpoints.save(done, Checkpoint{state, batches.order().position()}, {.force = true});
  checkpoints.wait();
  if (reports && done > first)
    std::printf("%lld steps in %.1f s, the last checkpoint is %s/%lld\n",
                static_cast<long long>(done - first), now() - begin, o.out.c_str(),
                static_cast<long long>(done));
  return done < o.steps ? kInterrupted : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  Options o;
  CLI::App app(
      "Trains a classifier by several processes. Run again, it goes on from the newest "
      "checkpoint.");
  app.add_option("--data", o.data, "folder of the digits");
  app.add_option("--out", o.out, "folder of the checkpoints");
  app.add_option("--steps", o.steps)->check(CLI::Range(1, 1'000'000));
  app.add_option("--every", o.every, "steps from checkpoint to checkpoint")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--batch", o.batch)->check(CLI::Range(1, 1797));
  app.add_option("--devices", o.devices, "of all processes")->check(CLI::Range(1, 64));
  app.add_option("--seed", o.seed);
  app.add_option("--timeout", o.timeout, "seconds that a process is waited for")
      ->check(CLI::Range(0.1, 1e6));
  app.add_option("--die-at", o.die_at,
                 "the last process kills itself after this step of the first attempt");
  app.add_option("--attempt", o.attempt, "how often it was started again");
  CLI11_PARSE(app, argc, argv);
  return run(o);
} catch (const std::exception& e) {
  std::cerr << "error: " << e.what() << "\n";
  return 1;
}

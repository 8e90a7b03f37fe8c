#include <tessera/checkpoint_manager.h>

#include "checkpoints/agreement.h"
#include "checkpoints/job.h"
#include "checkpoints/retention.h"
#include "checkpoints/staging.h"

#include <tessera/detail/input_file.h>
#include <tessera/detail/moved.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <exception>
#include <utility>

namespace tessera::inline v0 {

namespace checkpoints {

class Manager {
 public:
  Manager(std::string given, CheckpointManagerOptions options)
      : given(std::move(given)),
        dir(resolved(this->given)),
        options(std::move(options)),
        retention(std::make_shared<Retention>(dir, this->options)) {}

  /// Waits until at most `left` saves are in progress; returns the first error of those that have
  /// finished.
  std::exception_ptr wait_for_all_but(std::size_t left) {
    std::exception_ptr error;
    while (!jobs.empty() && (jobs.size() > left || jobs.front().job->is_done())) {
      try {
        jobs.front().job->wait();
      } catch (...) {
        if (!error) error = std::current_exception();
      }
      jobs.pop_front();
    }
    return error;
  }

  /// Whether a save in progress has a step that is not earlier than `step`, which must be the
  /// newest.
  bool has_later_under_way(std::int64_t step) const {
    return std::ranges::any_of(jobs, [&](const Saving& s) { return s.step >= step; });
  }

  struct Saving {
    std::int64_t step;
    std::shared_ptr<Job> job;
  };
  const std::string given;
  /// Absolute, so that it does not depend on the working directory.
  const std::string dir;
  const CheckpointManagerOptions options;
  const std::shared_ptr<Retention> retention;
  std::deque<Saving> jobs;
  std::uint64_t saves = 0;
  /// The step saved last; absent once another step has been restored.
  std::optional<std::int64_t> saved;

 private:
  // An invalid path is reported by the first save.
  static std::string resolved(const std::string& dir) {
    return dir.empty() || dir.find('\0') != std::string::npos ? dir : absolute_path(dir);
  }
};

Manager& here(const std::unique_ptr<Manager>& manager, const std::source_location& loc) {
  if (!manager) detail::moved_from("CheckpointManager", loc);
  return *manager;
}

namespace {

void need_sense(const CheckpointManagerOptions& o, const SourceLoc& loc) {
  std::string problem, rule = "numbers of steps are 1 or more";
  const auto positive = [&](const char* name, std::int64_t v, std::int64_t least = 1) {
    if (v < least && problem.empty()) problem = fmt::format("{} is {}", name, v);
  };
  if (o.max_to_keep) positive("max_to_keep", *o.max_to_keep);
  if (o.keep_period) positive("keep_period", *o.keep_period);
  positive("save_interval_steps", o.save_interval_steps);
  positive("max_in_flight", o.max_in_flight);
  if (o.keep_best < 0 || (problem.empty() && o.keep_best > 0 && o.best_metric.empty())) {
    problem = fmt::format("keep_best is {}{}", o.keep_best,
                          o.keep_best < 0 ? "" : ", and no metric is named");
    rule = "the best are told by a metric that is passed to save";
  }
  if (problem.empty()) return;
  Message("CheckpointManager")
      .problem(problem)
      .rule(rule)
      .from(loc)
      .advice("{.max_to_keep = 3, .keep_best = 1, .best_metric = \"loss\"}")
      .raise<Error>();
}

}  // namespace
}  // namespace checkpoints

using checkpoints::Manager;

CheckpointManager::CheckpointManager(std::string dir, CheckpointManagerOptions options,
                                     std::source_location loc) {
  checkpoints::need_sense(options, loc);
  manager_ = std::make_unique<Manager>(std::move(dir), std::move(options));
}

CheckpointManager::~CheckpointManager() {
  if (!manager_) return;
  for (const auto& [step, job] : manager_->jobs) {
    if (job->is_settled()) continue;
    try {
      job->wait();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
  }
}
CheckpointManager::CheckpointManager(CheckpointManager&&) noexcept = default;
CheckpointManager& CheckpointManager::operator=(CheckpointManager&& other) noexcept {
  std::swap(manager_, other.manager_);
  return *this;
}

bool CheckpointManager::should_save(std::int64_t step, std::source_location loc) const {
  return step % checkpoints::here(manager_, loc).options.save_interval_steps == 0;
}

void CheckpointManager::save_leaves(std::int64_t step, const std::vector<std::string>& paths,
                                    const std::vector<Array>& leaves,
                                    const CheckpointSaveOptions& options,
                                    std::source_location loc) {
  Manager& m = checkpoints::here(manager_, loc);
  CheckpointSaveOptions how = options;
  // With discard_later_steps, a step of the abandoned run is overwritten, as the later ones are
  // removed.
  if (m.options.discard_later_steps && (!m.saved || *m.saved < step)) how.overwrite = true;
  checkpoints::SaveRequest order{m.dir, step, paths, leaves, how, loc};
  order.before = m.wait_for_all_but(
      m.has_later_under_way(step) ? 0 : static_cast<std::size_t>(m.options.max_in_flight) - 1);
  order.then = [retention = m.retention, step,
                number = m.saves + 1](const std::vector<std::int64_t>& later) {
    retention->made(step, number, later);
  };
  order.is_newest = !m.options.discard_later_steps;
  m.jobs.push_back({step, checkpoints::Job::begin(order)});
  ++m.saves;
  m.saved = step;
  if (!m.options.async) wait(loc);
}

void CheckpointManager::restored(std::source_location loc) {
  checkpoints::here(manager_, loc).saved.reset();
}

void CheckpointManager::wait(std::source_location loc) {
  Manager& m = checkpoints::here(manager_, loc);
  const std::exception_ptr error = m.wait_for_all_but(0);
  checkpoints::agree("CheckpointManager::wait", "save into " + detail::shown_path(m.given), error,
                     loc);
}

const std::string& CheckpointManager::directory(std::source_location loc) const {
  return checkpoints::here(manager_, loc).given;
}
const std::string& CheckpointManager::place(std::source_location loc) const {
  return checkpoints::here(manager_, loc).dir;
}
std::vector<std::int64_t> CheckpointManager::all_steps(std::source_location loc) const {
  return detail::CheckpointFiles::all_steps(place(loc), loc);
}
std::optional<std::int64_t> CheckpointManager::latest_step(std::source_location loc) const {
  return detail::CheckpointFiles::latest_step(place(loc), loc);
}
std::optional<std::int64_t> CheckpointManager::best_step(std::source_location loc) const {
  const Manager& m = checkpoints::here(manager_, loc);
  (void)all_steps(loc);  // throws if the folder cannot be read
  const std::vector<std::int64_t> best =
      checkpoints::by_merit(m.retention->steps(), m.options.best_mode);
  return best.empty() ? std::nullopt : std::optional(best[0]);
}

}  // namespace tessera::inline v0

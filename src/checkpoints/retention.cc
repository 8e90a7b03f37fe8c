#include "checkpoints/retention.h"

#include "checkpoints/manifest.h"
#include "checkpoints/staging.h"
#include "checkpoints/step_folder.h"
#include "checkpoints/step_names.h"

#include <tessera/detail/input_file.h>
#include <tessera/message.h>

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace tessera::inline v0::checkpoints {

std::vector<std::int64_t> by_merit(std::vector<Saved> steps, BestMode mode) {
  std::erase_if(steps, [](const Saved& s) { return !s.metric || std::isnan(*s.metric); });
  std::ranges::sort(steps, [&](const Saved& a, const Saved& b) {
    if (*a.metric != *b.metric)
      return mode == BestMode::min ? *a.metric < *b.metric : *a.metric > *b.metric;
    return a.step > b.step;
  });
  std::vector<std::int64_t> order;
  for (const Saved& s : steps) order.push_back(s.step);
  return order;
}

std::vector<std::int64_t> to_remove(const std::vector<Saved>& steps, std::int64_t made,
                                    const CheckpointManagerOptions& options) {
  if (!options.max_to_keep) return {};
  const auto newest = std::min(steps.size(), static_cast<std::size_t>(*options.max_to_keep));
  std::set<std::int64_t> kept{made};
  for (std::size_t i = steps.size() - newest; i < steps.size(); ++i) kept.insert(steps[i].step);
  const std::vector<std::int64_t> best = by_merit(steps, options.best_mode);
  for (std::size_t i = 0; i < std::min(best.size(), static_cast<std::size_t>(options.keep_best));
       ++i)
    kept.insert(best[i]);
  std::vector<std::int64_t> out;
  for (const Saved& s : steps)
    if (!kept.count(s.step) && !(options.keep_period && s.step % *options.keep_period == 0))
      out.push_back(s.step);
  return out;
}

Retention::Known Retention::known(const std::string& dir, std::int64_t step) {
  struct stat s {};
  if (::stat((step_path(dir, step) + "/" + kManifest).c_str(), &s) != 0) return {};
  return {static_cast<std::uint64_t>(s.st_dev), static_cast<std::uint64_t>(s.st_ino),
          s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
}

std::vector<Saved> Retention::steps() {
  const std::lock_guard lock(mutex_);
  std::vector<Saved> out;
  std::map<std::int64_t, Read> now;
  for (const std::int64_t step : numbers_in(dir_)) {
    if (standing_of(dir_, step) != Standing::made) continue;
    Read& r = now[step];
    const Known of = known(dir_, step);
    if (const auto before = read_.find(step); before != read_.end() && before->second.of == of) {
      r = before->second;
    } else {
      const StepFolder folder(dir_, step);
      r = {of, !folder.problem(), {}};
      const auto& metrics = folder.manifest().metrics;
      if (const auto at = metrics.find(options_.best_metric); at != metrics.end())
        r.metric = at->second;
    }
    if (r.sound) out.push_back({step, r.metric});
  }
  read_ = std::move(now);
  return out;
}

void Retention::made(std::int64_t step, std::uint64_t number,
                     const std::vector<std::int64_t>& later) {
  // Several saves may finish at once.
  const std::lock_guard one_at_a_time(removing_);
  if (number > last_number_) {
    last_number_ = number;
    last_made_ = step;
  }
  if (options_.discard_later_steps)
    for (const std::int64_t s : later)
      remove(s, fmt::format("steps later than {} are discarded once it is saved", step));
  if (!options_.max_to_keep) return;
  for (const std::int64_t s : to_remove(steps(), last_made_, options_))
    remove(s, fmt::format("of the steps that are no others' to keep, the newest {} are kept",
                          *options_.max_to_keep));
}

void Retention::remove(std::int64_t step, const std::string& rule) {
  const std::string why = remove_step(dir_, step);
  if (why.empty()) return;
  Message("CheckpointManager")
      .problem(
          fmt::format("step {} of {} cannot be removed: {}", step, detail::shown_path(dir_), why))
      .rule(rule)
      .advice("check the permissions of the folder, or remove it by hand")
      .raise<IoError>();
}

}  // namespace tessera::inline v0::checkpoints

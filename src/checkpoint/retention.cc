#include "checkpoint/retention.h"

#include "checkpoint/shard_reader.h"
#include "checkpoint/staging.h"

#include <tessera/detail/input_file.h>
#include <tessera/message.h>

#include <fmt/format.h>

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

std::vector<std::int64_t> to_remove(const std::vector<Saved>& steps,
                                    const CheckpointManagerOptions& options) {
  if (!options.max_to_keep) return {};
  const auto newest = std::min(steps.size(), static_cast<std::size_t>(*options.max_to_keep));
  std::set<std::int64_t> kept;
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

std::vector<Saved> Retention::steps() {
  const std::lock_guard lock(mutex_);
  std::vector<Saved> out;
  for (const std::int64_t step : steps_in(dir_)) {
    out.push_back({step, {}});
    if (options_.best_metric.empty()) continue;
    auto [known, fresh] = metrics_.try_emplace(step);
    Manifest m;
    if (fresh && read_manifest(dir_, step, m).empty())
      if (const auto at = m.metrics.find(options_.best_metric); at != m.metrics.end())
        known->second = at->second;
    out.back().metric = known->second;
  }
  return out;
}

void Retention::made(std::int64_t made) {
  // Several saves may be over at once.
  const std::lock_guard one_at_a_time(removing_);
  {
    const std::lock_guard lock(mutex_);
    metrics_.erase(made);  // there may have been another of its number
  }
  for (const std::int64_t step : to_remove(steps(), options_)) {
    const std::string why = remove_step(dir_, step);
    if (!why.empty())
      Message("CheckpointManager")
          .problem(fmt::format("step {} of {} cannot be removed: {}", step,
                               detail::shown_path(dir_), why))
          .rule(fmt::format("of the steps that are no others' to keep, the newest {} are kept",
                            *options_.max_to_keep))
          .advice("check the permissions of the folder, or remove it by hand")
          .raise<IoError>();
    const std::lock_guard lock(mutex_);
    metrics_.erase(step);
  }
}

}  // namespace tessera::inline v0::checkpoints

#include <tessera/pipeline.h>

#include "base/message.h"

#include <algorithm>

namespace tessera::inline v0 {

namespace {

/// The ticks in which stage s of p works on microbatch i of m.
struct Ticks {
  std::int64_t forward, backward;
};

Ticks gpipe(std::int64_t s, std::int64_t i, std::int64_t p, std::int64_t m) {
  const std::int64_t all_forwards = m + p - 1;
  return {s + i, all_forwards + (p - 1 - s) + (m - 1 - i)};
}

/// The first p - s forward passes run as soon as the previous stage delivers their inputs. Each
/// later one waits for the backward pass of the microbatch p - s before it, which frees a buffer.
Ticks one_f_one_b(std::int64_t s, std::int64_t i, std::int64_t p) {
  return {i < p - s ? s + i : s + 2 * i, 2 * p - 1 - s + 2 * i};
}

[[noreturn]] void too_few(const char* what, std::int64_t n, const SourceLoc& loc) {
  Message("pipeline_schedule")
      .problem("there are " + std::to_string(n) + " " + what)
      .rule("a pipeline has at least one stage, and at least one microbatch passes through it")
      .from(loc)
      .advice("pipeline_schedule(4, 8, ts::Schedule::one_f_one_b)")
      .raise<ShardingError>();
}

/// A limit far beyond what can be drawn or run.
constexpr std::int64_t kMostEntries = std::int64_t{1} << 28;

void check_size(std::int64_t stages, std::int64_t microbatches, const SourceLoc& loc) {
  if (stages < 1) too_few("stages", stages, loc);
  if (microbatches < 1) too_few("microbatches", microbatches, loc);
  if (stages <= kMostEntries && microbatches <= kMostEntries &&
      stages <= kMostEntries / (2 * (microbatches + stages - 1)))
    return;
  Message("pipeline_schedule")
      .problem(std::to_string(stages) + " stages and " + std::to_string(microbatches) +
               " microbatches")
      .rule("a timetable has 2 (microbatches + stages - 1) ticks for each stage, and at most " +
            std::to_string(kMostEntries) + " entries")
      .from(loc)
      .advice("fewer microbatches: the bubble is (stages - 1) / (microbatches + stages - 1)")
      .raise<ShardingError>();
}

}  // namespace

std::string to_string(Schedule schedule) { return schedule == Schedule::gpipe ? "GPipe" : "1F1B"; }

PipelineSchedule pipeline_schedule(std::int64_t stages, std::int64_t microbatches,
                                   Schedule schedule, std::source_location where) {
  const SourceLoc loc(where);
  check_size(stages, microbatches, loc);
  PipelineSchedule s{schedule, stages, microbatches, {}};
  const std::vector<PipelineWork> nothing(
      static_cast<std::size_t>(2 * (microbatches + stages - 1)));
  s.work.assign(static_cast<std::size_t>(stages), nothing);
  for (std::int64_t stage = 0; stage < stages; ++stage)
    for (std::int64_t i = 0; i < microbatches; ++i) {
      const Ticks at = schedule == Schedule::gpipe ? gpipe(stage, i, stages, microbatches)
                                                   : one_f_one_b(stage, i, stages);
      auto& row = s.work[static_cast<std::size_t>(stage)];
      row[static_cast<std::size_t>(at.forward)] = {PipelineWork::Kind::forward, i};
      row[static_cast<std::size_t>(at.backward)] = {PipelineWork::Kind::backward, i};
    }
  return s;
}

std::int64_t PipelineSchedule::ticks() const {
  return work.empty() ? 0 : static_cast<std::int64_t>(work[0].size());
}

std::int64_t PipelineSchedule::idle() const {
  std::int64_t n = 0;
  for (const auto& row : work)
    n += std::count_if(row.begin(), row.end(),
                       [](const PipelineWork& w) { return w.kind == PipelineWork::Kind::idle; });
  return n;
}

double PipelineSchedule::bubble() const {
  const std::int64_t all = ticks() * static_cast<std::int64_t>(work.size());
  return all == 0 ? 0 : static_cast<double>(idle()) / static_cast<double>(all);
}

std::int64_t PipelineSchedule::in_flight(std::int64_t stage) const {
  std::int64_t now = 0, most = 0;
  for (const PipelineWork& w : work.at(static_cast<std::size_t>(stage))) {
    if (w.kind == PipelineWork::Kind::forward) most = std::max(most, ++now);
    if (w.kind == PipelineWork::Kind::backward) --now;
  }
  return most;
}

}  // namespace tessera::inline v0

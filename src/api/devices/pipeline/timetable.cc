#include "api/devices/pipeline/timetable.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::detail {

namespace {

using Kind = PipelineWork::Kind;

Array constant_of(const Shape& shape, const std::vector<std::int32_t>& numbers) {
  auto bytes = std::make_shared<std::vector<std::byte>>(numbers.size() * sizeof(std::int32_t));
  std::memcpy(bytes->data(), numbers.data(), bytes->size());
  const Literal literal{DType::int32, shape, std::move(bytes)};
  return composite1("pipeline", {}, SourceLoc(),
                    [&](Builder& b, std::span<const Value>) { return ops::constant(b, literal); });
}

/// For each microbatch, the ticks during which the input of a stage is buffered. The first stage
/// reads from the batch, so it needs no buffer.
struct Wait {
  std::int64_t from = 0, to = 0;
};
std::vector<Wait> waits_in(const PipelineSchedule& s, std::size_t stage) {
  std::vector<Wait> waits(static_cast<std::size_t>(s.microbatches));
  for (std::int64_t t = 0; t < s.ticks(); ++t) {
    const auto tick = static_cast<std::size_t>(t);
    const PipelineWork &before = s.work[stage - 1][tick], &here = s.work[stage][tick];
    if (before.kind == Kind::forward)
      waits[static_cast<std::size_t>(before.microbatch)].from = t + 1;
    if (here.kind == Kind::backward) waits[static_cast<std::size_t>(here.microbatch)].to = t;
  }
  return waits;
}

/// The smallest number of slots such that microbatches i and i + slots are never buffered in a
/// stage at the same time. Microbatches arrive in order.
std::int64_t slots_for(const PipelineSchedule& s) {
  std::int64_t slots = 1;
  for (std::size_t stage = 1; stage < s.work.size(); ++stage) {
    const std::vector<Wait> waits = waits_in(s, stage);
    for (auto here = waits.begin(); here != waits.end(); ++here) {
      const auto later = std::upper_bound(here, waits.end(), here->to,
                                          [](std::int64_t t, const Wait& w) { return t < w.from; });
      slots = std::max<std::int64_t>(slots, later - here);
    }
  }
  return slots;
}

}  // namespace

Array forward_table(const PipelineSchedule& s) {
  const std::int64_t ticks = s.microbatches + s.stages - 1;
  std::vector<std::int32_t> numbers;
  for (const auto& row : s.work)
    for (std::int64_t t = 0; t < ticks; ++t) {
      const PipelineWork& w = row[static_cast<std::size_t>(t)];
      numbers.push_back(w.kind == Kind::forward ? static_cast<std::int32_t>(w.microbatch) : -1);
    }
  return constant_of({s.stages, ticks}, numbers);
}

TrainingTable training_table(const PipelineSchedule& s) {
  TrainingTable t;
  t.slots = slots_for(s);
  std::vector<std::int32_t> numbers;
  for (std::size_t stage = 0; stage < s.work.size(); ++stage) {
    const bool last = stage + 1 == s.work.size();
    for (std::size_t tick = 0; tick < s.work[stage].size(); ++tick) {
      const PipelineWork& w = s.work[stage][tick];
      PipelineStep step = PipelineStep::idle;
      if (w.kind == Kind::forward) step = PipelineStep::forward;
      if (w.kind == Kind::backward)
        step = last ? PipelineStep::loss_and_backward : PipelineStep::backward;
      std::int64_t arrived = -1;
      if (stage > 0 && tick > 0 && s.work[stage - 1][tick - 1].kind == Kind::forward)
        arrived = s.work[stage - 1][tick - 1].microbatch % t.slots;
      const std::int64_t microbatch = std::max<std::int64_t>(w.microbatch, 0);
      for (std::int64_t n :
           {static_cast<std::int64_t>(step), microbatch, microbatch % t.slots, arrived})
        numbers.push_back(static_cast<std::int32_t>(n));
    }
  }
  t.table = constant_of({s.stages, s.ticks(), 4}, numbers);
  return t;
}

}  // namespace tessera::inline v0::detail

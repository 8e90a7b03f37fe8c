#include "explain/memory.h"

#include "base/message.h"
#include "codegen/tape/planner.h"
#include "runtime/backend.h"

#include <algorithm>

namespace tessera::inline v0::explain {

namespace {

// The first and last step that touch a place.
struct Life {
  std::int64_t first = -1, last = -1;
};

std::vector<Life> lives_of(const tape::Tape& tape) {
  std::vector<Life> life(tape.slots.size());
  std::int64_t position = 0;
  const auto touch = [&](const tape::Ref& r) {
    if (r.slot < 0) return;
    Life& l = life[static_cast<std::size_t>(tape.place(r.slot))];
    if (l.first < 0) l.first = position;
    l.last = position;
  };
  for (const tape::Phase& phase : tape.phases)
    for (const tape::Step& step : phase.steps) {
      for_each_ref(step, touch);
      ++position;
    }
  return life;
}

// For each place, the first step that touches it.
std::vector<PlannedLive> makers_of(const tape::Tape& tape) {
  std::vector<PlannedLive> makers(tape.slots.size());
  for (const tape::Phase& phase : tape.phases)
    for (const tape::Step& step : phase.steps) {
      const auto made = [&](const tape::Ref& r, const std::string& name, const std::string& type) {
        if (r.slot < 0) return;
        PlannedLive& maker = makers[static_cast<std::size_t>(tape.place(r.slot))];
        if (maker.name.empty()) maker = {name, to_string(step.loc), type, 0};
      };
      const auto results = [&](const std::vector<Type>& types) {
        for (std::size_t i = 0; i < step.outputs.size(); ++i)
          made(step.outputs[i], step.name, i < types.size() ? to_string(types[i]) : "");
      };
      const auto spare = [&](const tape::LoopStep& loop) {
        for (const tape::Ref& r : loop.spare) made(r, "second buffer of " + step.name, "");
      };
      std::visit(Overloaded{[&](const tape::OpStep& s) { results(s.output_types); },
                            [&](const tape::CopyStep&) { results({}); },
                            [&](const tape::CollectiveStep&) { results({}); },
                            [&](const tape::CondStep&) { results({}); },
                            [&](const tape::ScanStep& s) {
                              results({});
                              spare(s);
                            },
                            [&](const tape::WhileStep& s) {
                              results({});
                              spare(s);
                              made(s.flag, step.name, "");
                            }},
                 step.kind);
      made(step.scratch, "inside " + step.name, "");
    }
  return makers;
}

// The largest entries; the rest are summed into one.
std::vector<PlannedLive> largest(std::vector<PlannedLive> all) {
  constexpr std::size_t kMost = 64;
  std::stable_sort(all.begin(), all.end(),
                   [](const PlannedLive& a, const PlannedLive& b) { return a.bytes > b.bytes; });
  if (all.size() <= kMost) return all;
  PlannedLive others{std::to_string(all.size() - kMost) + " smaller ones", "", "", 0};
  for (std::size_t i = kMost; i < all.size(); ++i) others.bytes += all[i].bytes;
  all.resize(kMost);
  all.push_back(std::move(others));
  return all;
}

// The largest local memory of the tape and of the tapes inside it. Devices run in turn, each with
// all of it.
std::int64_t most_local(const tape::Tape& tape) {
  std::int64_t most = tape.local_bytes;
  for (const tape::Phase& phase : tape.phases)
    for (const tape::Step& step : phase.steps)
      if (const tape::ControlStep* control = step.control(); control && !control->native)
        for (const auto& body : control->bodies) most = std::max(most, most_local(*body));
  return most;
}

struct Traffic {
  double bytes = 0, seconds = 0;
  void add(double times, const Traffic& other) {
    bytes += times * other.bytes;
    seconds += times * other.seconds;
  }
};

// The memory traffic of one device, which runs its own instance of each step. A while loop counts
// as one iteration; of several branches, the costliest counts.
Traffic traffic_of(const tape::Tape& tape, const PlanOptions& options) {
  Traffic all;
  for (const tape::Phase& phase : tape.phases)
    for (const tape::Step& step : phase.steps) {
      all.add(1, {step.work.bytes, std::max(step.work.flops / options.peak_flops,
                                            step.work.bytes / options.memory_bandwidth)});
      const auto repeat = [&](double times, const tape::LoopStep& loop) {
        for (const auto& body : loop.bodies) all.add(times, traffic_of(*body, options));
      };
      std::visit(
          Overloaded{[&](const tape::ScanStep& s) { repeat(static_cast<double>(s.length), s); },
                     [&](const tape::WhileStep& s) { repeat(1, s); },
                     [&](const tape::CondStep& s) {
                       Traffic costliest;
                       for (const auto& body : s.bodies) {
                         const Traffic inside = traffic_of(*body, options);
                         if (inside.seconds > costliest.seconds) costliest = inside;
                       }
                       all.add(1, costliest);
                     },
                     [](const tape::OpStep&) {}, [](const tape::CopyStep&) {},
                     [](const tape::CollectiveStep&) {}},
          step.kind);
    }
  return all;
}

}  // namespace

DeviceMemory memory_of(const ProgramOnMesh& d, const std::vector<bool>& donated,
                       const PlanOptions& plan_options) {
  // The planner allocates tables per device.
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (d.mesh->size() > kMost)
    Message("plan")
        .problem("the mesh has " + std::to_string(d.mesh->size()) + " devices")
        .rule("memory is planned for at most " + std::to_string(kMost))
        .advice("a smaller mesh, or f.lower(...).plan({.memory = false}), which has all else")
        .raise<ShardingError>();
  // Plan with separate memory per device, so that every value is stored once per device.
  tape::TapeOptions options;
  options.apart.all = true;
  options.donated = donated;
  const std::shared_ptr<const tape::Tape> tape = tape::make_tape(*d.simplified, options);
  DeviceMemory m;
  const std::int64_t devices = std::max<std::int64_t>(1, d.mesh->axes.empty() ? 1 : d.mesh->size());
  m.traffic = traffic_of(*tape, plan_options).bytes;
  m.bytes = (tape->arena_bytes + devices - 1) / devices + most_local(*tape);

  for (const tape::Result& r : tape->results)
    if (r.reuse >= 0) m.donated += tape->slots[static_cast<std::size_t>(r.slot)].bytes;

  const std::vector<Life> lives = lives_of(*tape);
  std::vector<bool> of_all(tape->slots.size());  // frames of bodies that run for all devices
  for (const tape::Phase& phase : tape->phases)
    for (const tape::Step& step : phase.steps) {
      m.steps.push_back({step.name, to_string(step.loc), 0});
      if (step.inner && step.scratch.slot >= 0)
        of_all[static_cast<std::size_t>(step.scratch.slot)] = true;
    }
  std::vector<std::int64_t> change(m.steps.size() + 1);
  const auto bytes_of = [&](std::size_t i) {
    const tape::Slot& s = tape->slots[i];
    return s.mask == 0 && !of_all[i] ? s.bytes : s.bytes * tape->stored(s) / devices;
  };
  const auto temporary = [&](std::size_t i) {
    const tape::Space space = tape->slots[i].space;
    return lives[i].first >= 0 && (space == tape::Space::arena || space == tape::Space::local);
  };
  for (std::size_t i = 0; i < lives.size(); ++i) {
    if (!temporary(i)) continue;
    change[static_cast<std::size_t>(lives[i].first)] += bytes_of(i);
    change[static_cast<std::size_t>(lives[i].last) + 1] -= bytes_of(i);
  }
  std::int64_t live = 0, most = 0, fullest = 0;
  for (std::size_t i = 0; i < m.steps.size(); ++i) {
    m.steps[i].live = live += change[i];
    if (live > most) fullest = static_cast<std::int64_t>(i);
    most = std::max(most, live);
  }
  const std::vector<PlannedLive> makers = makers_of(*tape);
  std::vector<PlannedLive> alive;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    if (!temporary(i) || lives[i].first > fullest || lives[i].last < fullest || bytes_of(i) == 0)
      continue;
    alive.push_back(makers[i]);
    alive.back().bytes = bytes_of(i);
  }
  m.peak = largest(std::move(alive));
  // In a program around several regions, the arena contains whole values as well as one part per
  // device, so the peak is computed from lifetimes.
  if (!d.made && devices > 1 && d.of_device() == d.simplified) m.bytes = most;
  return m;
}

DeviceMemory memory_on(const runtime::Backend* platform, const ProgramOnMesh& divided,
                       const std::vector<bool>& donated, const PlanOptions& options) {
  const auto planned =
      platform ? platform->plan_memory(*divided.of_device(), donated) : std::nullopt;
  if (!planned) return memory_of(divided, donated, options);
  DeviceMemory m;
  m.bytes = planned->temporaries;
  m.donated = planned->donated;
  return m;
}

}  // namespace tessera::inline v0::explain

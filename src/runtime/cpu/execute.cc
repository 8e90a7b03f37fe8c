#include "runtime/cpu/execute.h"

#include "runtime/host/beside.h"
#include "runtime/host/pool.h"
#include "runtime/host/sanitizers.h"
#include "runtime/profiler.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>

namespace tessera::inline v0::runtime {

using namespace tape;

Frame::Frame(const Tape& tape, std::byte* memory, CallGiven* of_call) : given(of_call) {
  table = reinterpret_cast<std::byte**>(memory);
  arena = memory + (tape.table * static_cast<std::int64_t>(sizeof(void*)) + 63) / 64 * 64;
  local = arena + tape.arena_bytes;
}

std::byte* address(const Tape& tape, const Frame& frame, std::int64_t lane, const Ref& ref,
                   const Coords& c) {
  const Slot& s = tape.slots[static_cast<std::size_t>(ref.slot)];
  std::int64_t index = ref.instance, offset = ref.offset;
  for (const AxisStride& a : s.instance)
    if (!(ref.absorbed >> a.axis & 1)) index += c.at[a.axis] * a.stride;
  index = s.place(index);
  for (const AxisStride& a : ref.cut) offset += c.at[a.axis] * a.stride;
  switch (s.space) {
    case Space::argument:
    case Space::result: return frame.table[s.offset + index] + offset;
    case Space::constant:
      return const_cast<std::byte*>(tape.constants.data()) + s.offset + index * s.bytes + offset;
    case Space::arena: return frame.arena + s.offset + index * s.bytes + offset;
    case Space::local: return frame.local + lane * tape.local_bytes + s.offset + offset;
  }
  return nullptr;
}

namespace {

void run_routine(const Routine& routine, const RoutineArgs& args, bool spread) {
  for (const Stage& stage : routine.stages) {
    if (!spread || stage.tasks <= 1 || routine.seconds < kWorthSpreading) {
      stage.run(args, 0, stage.tasks);
      continue;
    }
    const std::int64_t pieces =
        std::min<std::int64_t>(stage.tasks, std::int64_t{4} * worker_count());
    parallel_for(pieces, [&](std::int64_t i) {
      stage.run(args, stage.tasks * i / pieces, stage.tasks * (i + 1) / pieces);
    });
  }
}

// Categories of the profile.
constexpr const char *kKernel = "kernel", *kCopy = "copy", *kControl = "control";

// The work of one run of a tape, without that of its steps' bodies.
Work work_of(const Tape& tape) {
  Work work;
  work.received = tape.received;
  work.along = tape.along;
  for (const Phase& phase : tape.phases) {
    work.cost.flops += phase.work.flops;
    work.cost.bytes += phase.work.bytes;
  }
  return work;
}

// Counts the work of the bodies of a loop that has run as one function.
void count_bodies(const Native& loop, const void* scratch, WorkShare counted) {
  const auto* runs = static_cast<const std::int64_t*>(scratch);
  for (const auto& body : loop.bodies)
    counted.call->add(counted.devices * static_cast<double>(*runs++), work_of(*body).cost);
}

// Runs a step of one instance. `row`: the device in the profile.
struct StepRun {
  const Tape& tape;
  const Frame& frame;
  const Step& step;
  const Coords& c;
  Lane lane;
  std::int64_t row;

  std::byte* at(const Ref& r) const { return address(tape, frame, lane.index, r, c); }
  profiler::Scope profiled(const char* category) const {
    return {step.name, category, row, step.loc};
  }

  void operator()(const RoutineStep& kind) const {
    const profiler::Scope scope = profiled(kKernel);
    InlineVector<const void*, 16> in;
    InlineVector<void*, 8> out;
    for (const Ref& r : step.inputs) in.push_back(at(r));
    for (const Ref& r : step.outputs) out.push_back(at(r));
    void* scratch = step.scratch.slot >= 0 ? at(step.scratch) : nullptr;
    if constexpr (sanitizers::kWatching) {
      for (std::size_t i = 0; i < in.size(); ++i)
        sanitizers::reads(in[i], static_cast<std::size_t>(kind.input_types[i].bytes()));
      for (std::size_t i = 0; i < out.size(); ++i)
        sanitizers::writes(out[i], static_cast<std::size_t>(kind.output_types[i].bytes()));
      if (scratch) sanitizers::writes(scratch, kind.routine->scratch_bytes);
    }
    const void* const form = kind.form.slot >= 0 ? at(kind.form) : nullptr;
    run_routine(form ? *kind.form_reader : *kind.routine, {in.data(), out.data(), scratch, form},
                lane.spread);
  }
  void operator()(const EvaluateStep& kind) const {
    const profiler::Scope scope = profiled("evaluator");
    std::vector<HostArray> in, out;
    for (std::size_t i = 0; i < step.inputs.size(); ++i)
      in.emplace_back(kind.input_types[i].dtype, kind.input_types[i].shape, at(step.inputs[i]));
    for (std::size_t i = 0; i < step.outputs.size(); ++i)
      out.emplace_back(kind.output_types[i].dtype, kind.output_types[i].shape, at(step.outputs[i]));
    kind.op->evaluate({kind.attrs, in, out});
  }
  void operator()(const CopyStep& kind) const {
    const profiler::Scope scope = profiled(kCopy);
    kind.box.run(at(step.inputs[0]), at(step.outputs[0]));
  }
  void operator()(const ScanStep& kind) const { control(kind); }
  void operator()(const WhileStep& kind) const { control(kind); }
  void operator()(const CondStep& kind) const { control(kind); }
  void operator()(const CollectiveStep&) const {
    throw InternalError("a collective outside its phase");
  }

 private:
  template <class Control>
  void control(const Control& kind) const {
    const profiler::Scope scope = profiled(kControl);
    if (kind.native)
      run_native(*kind.native);
    else
      run_control(tape, frame, step, kind, c, lane);
  }

  void run_native(const Native& loop) const {
    InlineVector<const void*, 16> in;
    InlineVector<void*, 8> out;
    for (const Ref& r : step.inputs) in.push_back(at(r));
    for (const Ref& r : step.outputs) out.push_back(at(r));
    void* scratch = at(step.scratch);
    if constexpr (sanitizers::kWatching) {
      const auto bytes = [&](const Ref& r) {
        const bool whole = r.offset == 0 && r.cut.empty();
        return whole ? static_cast<std::size_t>(tape.slots[static_cast<std::size_t>(r.slot)].bytes)
                     : std::size_t{0};
      };
      for (std::size_t i = 0; i < in.size(); ++i) sanitizers::reads(in[i], bytes(step.inputs[i]));
      for (std::size_t i = 0; i < out.size(); ++i)
        sanitizers::writes(out[i], bytes(step.outputs[i]));
      sanitizers::writes(scratch, loop.routine->scratch_bytes);
    }
    run_routine(*loop.routine, {in.data(), out.data(), scratch}, false);
    if (lane.counted.call) count_bodies(loop, scratch, lane.counted);
  }
};

void run_step(const Tape& tape, const Frame& frame, const Step& step, const Coords& c, Lane lane,
              std::int64_t row) {
  std::visit(StepRun{tape, frame, step, c, lane, row}, step.kind);
}

// The number of devices that an instance represents: those that share it, or, with other processes,
// those of this process.
class ByInstance {
 public:
  ByInstance(const Phase& phase, WorkShare counted) : phase_(phase), counted_(counted) {
    if (counted.call && !phase.devices.empty())
      devices_ = std::accumulate(phase.devices.begin(), phase.devices.end(), std::int64_t{0});
  }
  // The share of this process's instance k.
  WorkShare of(std::int64_t k) const {
    if (!counted_.call) return {};
    const double part = phase_.devices.empty()
                            ? 1
                            : static_cast<double>(phase_.devices[static_cast<std::size_t>(k)]);
    return {counted_.call, counted_.devices * part / static_cast<double>(devices_)};
  }

 private:
  const Phase& phase_;
  const WorkShare counted_;
  std::int64_t devices_ = phase_.instances;
};

}  // namespace

bool StraightLine::fits(const Tape& tape) {
  return std::all_of(tape.phases.begin(), tape.phases.end(), [](const Phase& phase) {
    return !phase.collective && phase.instances == 1 && !phase.here &&
           std::all_of(phase.steps.begin(), phase.steps.end(), [](const Step& s) {
             const ControlStep* const control = s.control();
             return std::holds_alternative<RoutineStep>(s.kind) ||
                    std::holds_alternative<CopyStep>(s.kind) || (control && control->native);
           });
  });
}

StraightLine::StraightLine(const Tape& tape, const Frame& frame) {
  const Coords c;
  auto add = [&](const Ref& ref) {
    const Slot& s = tape.slots[static_cast<std::size_t>(ref.slot)];
    // A single instance needs no coordinates.
    if (s.space == Space::argument || s.space == Space::result)
      moving_.push_back(
          {pointers_.size(), frame.table + s.offset + s.place(ref.instance), ref.offset});
    pointers_.push_back(moving_.empty() || moving_.back().pointer != pointers_.size()
                            ? address(tape, frame, 0, ref, c)
                            : nullptr);
  };
  work_ = work_of(tape);
  for (const Phase& phase : tape.phases)
    for (const Step& step : phase.steps) {
      Item item;
      item.step = &step;
      if (const auto* work = std::get_if<RoutineStep>(&step.kind)) {
        item.routine = work->routine.get();
        if (work->form.slot >= 0) {
          item.reader = work->form_reader.get();
          item.form = pointers_.size();
          add(work->form);
        }
      } else if (const auto* copy = std::get_if<CopyStep>(&step.kind)) {
        item.box = &copy->box;
      } else {
        item.loop = &*step.control()->native;
        item.routine = item.loop->routine.get();
      }
      item.inputs = pointers_.size();
      for (const Ref& r : step.inputs) add(r);
      item.outputs = pointers_.size();
      for (const Ref& r : step.outputs) add(r);
      if (step.scratch.slot >= 0) item.scratch = address(tape, frame, 0, step.scratch, c);
      items_.push_back(item);
    }
}

void StraightLine::run(bool spread, WorkShare counted) {
  if (counted.call) {
    counted.call->add(counted.devices, work_.cost);
    counted.call->receive(counted.devices, work_.received, work_.along);
  }
  for (const Moving& m : moving_) pointers_[m.pointer] = *m.entry + m.offset;
  for (const Item& i : items_) {
    profiler::Scope scope(i.step->name,
                          i.loop      ? kControl
                          : i.routine ? kKernel
                                      : kCopy,
                          profiler::kShared, i.step->loc);
    void *const *in = pointers_.data() + i.inputs, *const *out = pointers_.data() + i.outputs;
    const void* const form = i.reader ? pointers_[i.form] : nullptr;
    if (i.routine)
      run_routine(form ? *i.reader : *i.routine, {in, out, i.scratch, form}, spread);
    else
      i.box->run(static_cast<const std::byte*>(*in), static_cast<std::byte*>(*out));
    if (i.loop && counted.call) count_bodies(*i.loop, i.scratch, counted);
  }
}

void execute(const Tape& tape, const Frame& frame, bool spread, WorkShare counted) {
  // All devices of the tape take part in its collectives.
  if (counted.call) counted.call->receive(counted.devices, tape.received, tape.along);
  std::optional<Beside> under_way;  // a later collective phase that has already started
  for (const Phase& phase : tape.phases) {
    if (phase.begins) {
      const Phase& exchange = *(&phase + phase.begins);
      // The workers are busy with the phases in between.
      if (exchange.between)
        under_way.emplace([&] { run_collectives(tape, frame, exchange, false); });
    }
    if (phase.collective) {
      if (under_way)
        under_way->wait();
      else
        run_collectives(tape, frame, phase, spread);
      under_way.reset();
      continue;
    }
    if (phase.instances == 0) continue;
    if (counted.call) counted.call->add(counted.devices, phase.work);
    const ByInstance each(phase, counted);
    if (phase.instances == 1) {
      Coords c;
      if (phase.here) set_instance(tape, phase.mask, phase.here->front(), c);
      for (const Step& step : phase.steps)
        run_step(tape, frame, step, c, {0, spread, each.of(0)}, profiler::kShared);
      continue;
    }
    if (!spread || phase.in_turn || phase.seconds < kWorthSpreading || worker_count() == 1) {
      Coords c;
      std::int64_t k = 0;
      for_instances(tape, phase.mask, c, [&](std::int64_t i) {
        for (const Step& step : phase.steps)
          run_step(tape, frame, step, c, {0, spread && step.inner, each.of(k)}, i);
        ++k;
      });
      continue;
    }
    // Each lane has its own local memory and takes the next device when it has finished one.
    const std::int64_t lanes = std::min<std::int64_t>(tape.workers, phase.instances);
    const bool deeper = phase.instances < worker_count();
    std::atomic<std::int64_t> next{0};
    parallel_for(lanes, [&](std::int64_t lane) {
      for (;;) {
        std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
        if (i >= phase.instances) return;
        const std::int64_t number = phase.here ? (*phase.here)[static_cast<std::size_t>(i)] : i;
        Coords c;
        set_instance(tape, phase.mask, number, c);
        for (const Step& step : phase.steps)
          run_step(tape, frame, step, c, {lane, deeper, each.of(i)}, number);
      }
    });
  }
}

}  // namespace tessera::inline v0::runtime

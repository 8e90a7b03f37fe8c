#include "runtime/cpu/tape_executable.h"

#include "base/process.h"
#include "base/settings.h"
#include "codegen/tape/planner.h"
#include "ir/callback.h"
#include "ir/nested.h"
#include "processes/order.h"
#include "processes/processes.h"
#include "runtime/backend.h"
#include "runtime/cpu/call_forms.h"
#include "runtime/cpu/given.h"
#include "runtime/cpu/queued_call.h"
#include "runtime/footprint.h"
#include "runtime/host/blocks.h"
#include "runtime/host/devices.h"
#include "runtime/host/dispatcher.h"
#include "runtime/host/pool.h"
#include "runtime/profiler.h"
#include "runtime/turns.h"
#include "transform/simplify.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::runtime {

using namespace tape;

namespace {

// Calls estimated to take longer than this (in seconds) run from the queue.
constexpr double kInline = 3e-4;

// Read once, because every call needs it.
bool synchronous() {
  static const bool on = settings::flag("TESSERA_SYNC");
  return on;
}
// Whether a program has regions. Blocks are exchanged between them even without explicit
// collectives.
bool runs_on_devices(const Program& p) {
  return std::any_of(p.equations.begin(), p.equations.end(), [](const Equation& e) {
    const std::optional<Flow> flow = flow_of(e);
    return (flow && flow->kind == Flow::Kind::region) ||
           any_nested(e.attrs, [](const ProgramPtr& q) { return runs_on_devices(*q); });
  });
}

// Fills temporaries with NaN, so that reading a value before it is written shows.
bool poison() {
#ifdef TESSERA_VERIFY_PASSES
  return true;
#else
  static const bool on = settings::flag("TESSERA_POISON");
  return on;
#endif
}

}  // namespace

TapeExecutable::TapeExecutable(ProgramPtr p, CompileOptions options, tape::Apart apart,
                               bool evaluate)
    : program_(std::move(p)),
      options_(std::move(options)),
      apart_(std::move(apart)),
      evaluate_(evaluate),
      several_(processes::count() > 1),
      communicates_(runtime::communicates(*program_) || (several_ && runs_on_devices(*program_))) {
  base_ = plan(std::vector<bool>(program_->inputs.size(), false), evaluate_);
}

std::shared_ptr<const Variant> TapeExecutable::plan(std::vector<bool> uniform,
                                                    bool evaluate) const {
  TapeOptions options;
  options.apart = apart_;
  options.together = {processes::count(), processes::rank(), local_device_count()};
  options.evaluate = evaluate;
  options.workers = worker_count();
  options.uniform = uniform;
  options.donated = options_.donated;
  options.bytes_worth_a_phase = options_.bytes_worth_a_phase;
  if (communicates_ && several_)
    options.listed = std::make_shared<const processes::Listed>(
        program_->name, [p = program_] { return to_string(*p, {.locations = true}); });
  // The evaluators run the program as it was written.
  return make_variant(tape::make_tape(evaluate ? *program_ : *simplify(program_), options),
                      std::move(uniform), program_->inputs.size());
}

std::int64_t TapeExecutable::bytes() const {
  return footprint(*base_->tape) + footprint(*program_);
}

const std::shared_ptr<const Variant>& TapeExecutable::variant_for(
    std::span<const ArrayDataPtr> inputs) const {
  bool any = false;
  for (const auto& a : inputs) any = any || a->uniform;
  if (!any || apart_.all) return base_;
  std::vector<bool> bits(inputs.size());
  any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->uniform || base_->of_input[i].empty()) continue;
    bool all = true;
    for (std::size_t k : base_->of_input[i])
      all = all && base_->arguments[k].committed && fits_(*inputs[i], base_->arguments[k]);
    bits[i] = all;
    any = any || all;
  }
  if (!any) return base_;
  std::lock_guard lock(mutex_);
  for (const auto& v : variants_)
    if ((*v)->uniform == bits) return *v;
  variants_.push_back(std::make_unique<const std::shared_ptr<const Variant>>(
      plan(bits, evaluate_ || !Inside::libraries())));
  return *variants_.back();
}

void TapeExecutable::check(std::span<const ArrayDataPtr> inputs) const {
  if (inputs.size() != program_->inputs.size())
    throw InternalError("program '" + program_->name + "' takes " +
                        std::to_string(program_->inputs.size()) + " inputs, got " +
                        std::to_string(inputs.size()));
}

void TapeExecutable::check_devices(const Variant& v) const {
  if (v.last_device < device_count()) return;
  Message(name())
      .problem("the call runs on device " + std::to_string(v.last_device) + ", and there are " +
               std::to_string(device_count()))
      .rule("devices are 0 to " + std::to_string(device_count() - 1))
      .advice("call set_device_count(" + std::to_string(v.last_device + 1) + ") first")
      .raise<DeviceError>();
}

// A program without a mesh runs where its committed inputs are, which must be a single place.
void TapeExecutable::check_places(const Variant& v, std::span<const ArrayDataPtr> inputs) const {
  const Layout* place = nullptr;
  bool agree = true;
  for (const auto& in : inputs) {
    const Layout* l = in->layout.get();
    if (!l->committed || l->devices().size() != 1) continue;
    agree = agree && (!place || place->devices()[0] == l->devices()[0]);
    place = l;
  }
  if (agree) return;
  for (const ArgumentPlan& plan : v.arguments)
    if (plan.committed) return;  // a program with a mesh moves its inputs
  refuse_places(name(), inputs);
}

namespace {

// The layout on which a program without a mesh runs if an input is on a device of another process.
LayoutPtr elsewhere(const Tape& tape, std::span<const ArrayDataPtr> inputs) {
  if (tape.regions.empty())
    for (const auto& in : inputs)
      if (in->layout->committed && in->layout->devices().size() == 1 && !in->layout->everywhere)
        return in->layout;
  return nullptr;
}

// Libraries create static variables at their first call as well.
void has_run(const Variant& v) {
  if (v.libraries && !v.ran.load(std::memory_order_relaxed) && !v.ran.exchange(true))
    library_was_used();
}

}  // namespace

std::vector<ArrayDataPtr> TapeExecutable::run(std::span<const ArrayDataPtr> inputs,
                                              Holds& holds) const {
  if (!InCallback::may_compute())
    Message(name())
        .problem("a handler of prints computes with arrays")
        .rule("handlers run in the middle of a call, and others wait until it is over")
        .advice("keep what is printed, and compute with it outside")
        .raise<Error>();
  const Inside inside;
  touch();
  check(inputs);
  std::shared_ptr<const Variant> own = variant_for(inputs);
  if (own->libraries && !Inside::libraries()) own = plan(own->uniform, true);
  const Variant& v = *own;
  check_devices(v);
  check_places(v, inputs);
  const Tape& tape = *v.tape;
  std::optional<processes::InOrder> in_order;
  if (communicates_ && several_) in_order.emplace(tape.signature, name(), SourceLoc{});
  if (tape.elsewhere) {
    std::vector<ArrayDataPtr> results = results_elsewhere(v);
    holds.keep();
    return results;
  }
  if (const LayoutPtr place = elsewhere(tape, inputs)) {
    holds.keep();
    return results_elsewhere(v, place);
  }
  bool queued = tape.seconds > kInline && !synchronous();
  for (const auto& in : inputs) queued = queued || (in->pending && !in->pending->done());
  std::optional<Turn> turn;
  if (communicates_ && !queued) {
    turn = own_turns().at_once();
    if (!turn && synchronous()) {
      turn = own_turns().behind_all();
      turn->wait();
    }
    queued = !turn;
  }
  if (queued && InCallback::is()) {
    // A queued call would wait for the call that runs this host function.
    if (communicates_)
      Message(name())
          .problem("a callback computes on devices of several processes")
          .rule("it runs in the middle of a call, and calls that communicate have one order")
          .advice("keep what it is given, and compute with it outside")
          .raise<Error>();
    queued = false;
  }
  profiler::Scope scope(name(), queued ? "dispatch" : "call", profiler::kHost);
  const AllocatingFor allocating(name());

  ScopedBlock memory(static_cast<std::size_t>(tape.frame_bytes));
  Frame frame(tape, memory.data());
  const std::int64_t poisoned = poison() ? tape.arena_bytes + tape.workers * tape.local_bytes : 0;
  if (poisoned) std::memset(frame.arena, 0xff, static_cast<std::size_t>(poisoned));
  std::vector<Bound> bound = bind_inputs(v, inputs, fits_, frame);
  std::vector<ArrayDataPtr> results = make_results(v, inputs, holds, bound, frame, queued);
  std::unique_ptr<CallForms> forms;
  if (!tape.forms.empty()) {
    forms = std::make_unique<CallForms>(v, bound, frame);
    frame.forms = forms.get();
  }
  std::shared_ptr<CallGiven> given;
  if (several_) {
    given = CallGiven::of(tape.signature, communicates_, inputs, options_.donated, results);
    frame.given = given.get();
  }
  if (!queued) {
    // Report an input that has failed before anything is written.
    for (const auto& in : inputs)
      if (in->pending) in->pending->wait();
    try {
      execute_for(name(), tape, frame);
      has_run(v);
    } catch (...) {
      holds.lose();
      throw;
    }
    holds.keep();
    return results;
  }
  auto call = std::make_shared<QueuedCall>(shared_from_this(), v.tape, std::move(memory), frame);
  if (given) call->keep(std::move(given));
  if (forms) call->keep(std::move(forms));
  for (const auto& in : inputs) {
    for (const Shard& s : in->shards) call->hold(s.buffer);
    if (in->pending) call->after(in->pending);
  }
  for (const Bound& b : bound) {
    call->hold(b.whole);
    if (b.array)
      for (const Shard& s : b.array->shards) call->hold(s.buffer);
  }
  for (const auto& out : results)
    for (const Shard& s : out->shards) call->hold(s.buffer);
  call->take(holds.hand_over());
  std::shared_ptr<Completion> done;
  try {
    const auto work = [call, own] {
      call->run();
      has_run(*own);
    };
    done = dispatch_async(std::string(name()), work, communicates_ ? &own_turns() : nullptr,
                          [call] { return call->may_overtake(); });
  } catch (...) {
    call->give_back(false);
    throw;
  }
  for (const auto& out : results) out->pending = done;
  return results;
}

MemoryPlan TapeExecutable::memory() const {
  MemoryPlan m;
  for (const Type& t : program_->input_types()) m.arguments += t.bytes();
  for (const ResultPlan& r : base_->results) m.outputs += r.bytes;
  m.temporaries = base_->tape->frame_bytes;
  return m;
}

}  // namespace tessera::inline v0::runtime

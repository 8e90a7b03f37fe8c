#include "runtime/tape_executable.h"

#include "base/process.h"
#include "base/settings.h"
#include "runtime/devices.h"
#include "runtime/dispatcher.h"
#include "runtime/pool.h"
#include "runtime/profiler.h"
#include "runtime/queued_call.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::runtime {

using namespace tapes;

namespace {

// Calls that take longer than this leave the caller's thread.
constexpr double kInline = 3e-4;

bool synchronous() {
  static const bool on = settings::flag("TESSERA_SYNC");
  return on;
}
// Temporaries start as NaN, so that a value read before it is written shows.
bool poison() {
#ifdef TESSERA_VERIFY_PASSES
  return true;
#else
  static const bool on = settings::flag("TESSERA_POISON");
  return on;
#endif
}

bool same_cut(const Layout& a, const Layout& b, const Type& type) {
  if (a.devices != b.devices) return false;
  if (a.mesh_axes == b.mesh_axes && a.mesh_sizes == b.mesh_sizes && a.spec == b.spec) return true;
  spmd::Blocks x(type, a.mesh_axes, a.mesh_sizes, a.mesh_axes.empty() ? "" : a.spec);
  spmd::Blocks y(type, b.mesh_axes, b.mesh_sizes, b.mesh_axes.empty() ? "" : b.spec);
  if (!(x.block() == y.block())) return false;
  for (std::int64_t p = 0; p < x.positions(); ++p)
    if (x.block_of(p) != y.block_of(p)) return false;
  return true;
}

}  // namespace

TapeExecutable::TapeExecutable(ProgramPtr p, CompileOptions options, bool isolated, bool evaluate)
    : program_(std::move(p)),
      options_(std::move(options)),
      isolated_(isolated),
      evaluate_(evaluate) {
  base_ = make_variant(std::vector<bool>(program_->inputs.size(), false), evaluate_);
}

bool TapeExecutable::fits(const ArrayData& a, const ArgumentPlan& plan) const {
  if (a.layout == plan.committed || a.layout == plan.uncommitted) return true;
  if (!plan.committed || a.layout->devices.size() != plan.committed->devices.size()) return false;
  std::lock_guard lock(mutex_);
  for (const Fit& f : fits_)
    if (f.layout == a.layout && f.plan == &plan) return f.fits;
  fits_.push_back({a.layout, &plan, same_cut(*a.layout, *plan.committed, a.type)});
  return fits_.back().fits;
}

const std::shared_ptr<const Variant>& TapeExecutable::variant_for(
    std::span<const ArrayDataPtr> inputs) const {
  bool any = false;
  for (const auto& a : inputs) any = any || a->uniform;
  if (!any || isolated_) return base_;
  std::vector<bool> bits(inputs.size());
  any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->uniform || base_->of_input[i].empty()) continue;
    bool all = true;
    for (std::size_t k : base_->of_input[i])
      all = all && base_->arguments[k].committed && fits(*inputs[i], base_->arguments[k]);
    bits[i] = all;
    any = any || all;
  }
  if (!any) return base_;
  std::lock_guard lock(mutex_);
  for (const auto& v : variants_)
    if ((*v)->uniform == bits) return *v;
  variants_.push_back(std::make_unique<const std::shared_ptr<const Variant>>(
      make_variant(bits, evaluate_ || !Inside::libraries())));
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

// A program without a mesh runs where its committed inputs are, which is one place.
void TapeExecutable::check_places(const Variant& v, std::span<const ArrayDataPtr> inputs) const {
  const Layout* place = nullptr;
  bool agree = true;
  for (const auto& in : inputs) {
    const Layout* l = in->layout.get();
    if (!l->committed || l->devices.size() != 1) continue;
    agree = agree && (!place || place->devices[0] == l->devices[0]);
    place = l;
  }
  if (agree) return;
  for (const ArgumentPlan& plan : v.arguments)
    if (plan.committed) return;  // a mesh: it moves its inputs
  Message m{name()};
  m.problem("the inputs are committed to different devices");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]->layout->committed)
      m.offender("input " + std::to_string(i) + ", " + to_string(inputs[i]->type) +
                 ", is on CpuDevice(id=" + std::to_string(inputs[i]->layout->devices[0]) + ")");
  m.rule("a computation runs on one device; inputs that are not committed follow those that are")
      .from(CallerLine::now())
      .advice("move one of them: device_put(x, device), or device_get(x), which is not committed")
      .raise<ShardingError>();
}

// Fills the table's pointers of arguments. Waits for an input only where it has to be copied.
std::vector<Bound> TapeExecutable::bind(const Variant& v, std::span<const ArrayDataPtr> inputs,
                                        const Frame& frame) const {
  const Tape& tape = *v.tape;
  std::vector<Bound> bound(tape.arguments.size());
  for (std::size_t i = 0; i < tape.arguments.size(); ++i) {
    const Argument& a = tape.arguments[i];
    const ArgumentPlan& plan = v.arguments[i];
    const ArrayDataPtr& in = inputs[a.input];
    std::byte** table = frame.table + tape.slots[static_cast<std::size_t>(a.slot)].offset;
    Bound& b = bound[i];
    auto view_whole = [&] {
      const std::byte* p = dense_view(*in, b.whole);
      if (!p) p = dense_bytes(*in, b.whole);
      b.offset = static_cast<std::size_t>(p - b.whole->data());
      return const_cast<std::byte*>(p);
    };
    if (!plan.committed) {
      table[0] = view_whole();
      continue;
    }
    if (fits(*in, plan)) {
      b.array = in;
    } else if (!plan.offset.empty() &&
               (in->layout->mesh_axes.empty() || in->layout->spec.empty())) {
      std::byte* p = view_whole();
      for (std::size_t k = 0; k < plan.offset.size(); ++k) table[k] = p + plan.offset[k];
      continue;
    } else {
      b.array = relayout(in, plan.committed);
    }
    for (std::size_t k = 0; k < plan.position.size(); ++k) {
      const Shard& s = b.array->shards[static_cast<std::size_t>(plan.position[k])];
      table[k] = s.buffer->data() + s.offset;
    }
  }
  return bound;
}

namespace {

// The memory of an argument that nobody can use any more, where no other array has it and its
// instances are adjacent.
BufferPtr take_over(const ArrayData& in, const Bound& b, std::byte* const* table,
                    std::int64_t instances, std::int64_t bytes, bool queued) {
  const BufferPtr& buffer = b.array ? b.array->shards[0].buffer : b.whole;
  if (b.array && b.array.get() != &in) return nullptr;
  long own = b.whole ? 1 : 0;
  for (const Shard& s : in.shards) {
    if (s.buffer != buffer) return nullptr;
    ++own;
  }
  // Queued calls that read the buffer come before this one, if this one is queued too.
  if (buffer.use_count() != own + (queued ? buffer->in_flight.load() : 0)) return nullptr;
  for (std::int64_t k = 1; k < instances; ++k)
    if (table[k] != table[0] + k * bytes) return nullptr;
  if (buffer->is_shared()) return nullptr;
  // use_count() orders nothing; a reference taken now comes after all reads of those that are gone.
  return BufferPtr(buffer);
}

}  // namespace

std::vector<ArrayDataPtr> TapeExecutable::make_results(const Variant& v,
                                                       std::span<const ArrayDataPtr> inputs,
                                                       Holds& holds,
                                                       const std::vector<Bound>& bound,
                                                       const Frame& frame, bool queued) const {
  const Tape& tape = *v.tape;
  // Wholes live where the committed inputs do.
  const LayoutPtr* single = nullptr;
  for (const auto& in : inputs)
    if (in->layout->devices.size() == 1 &&
        (!single || (in->layout->committed && !(*single)->committed)))
      single = &in->layout;

  std::vector<ArrayDataPtr> results(tape.results.size());
  for (std::size_t i = 0; i < tape.results.size(); ++i) {
    const Result& r = tape.results[i];
    const ResultPlan& plan = v.results[i];
    if (r.same_as >= 0) {
      results[i] = alias(*results[static_cast<std::size_t>(r.same_as)]);
      continue;
    }
    auto out = std::make_shared<ArrayData>();
    out->type = r.type;
    out->layout = plan.layout ? plan.layout : single ? *single : default_layout();
    if (r.argument >= 0) {
      const Bound& b = bound[static_cast<std::size_t>(r.argument)];
      const Argument& a = tape.arguments[static_cast<std::size_t>(r.argument)];
      auto source = [&](std::int64_t p) {
        return a.source.empty() ? p : a.source[static_cast<std::size_t>(p)];
      };
      // One block for all, of those that the argument has.
      const bool one = !a.source.empty() && tape.slots[static_cast<std::size_t>(a.slot)].mask == 0;
      out->pending = inputs[a.input]->pending;
      if (b.array) {
        const auto& shards = b.array->shards;
        for (std::int64_t p = 0; p < std::ssize(shards); ++p)
          out->shards.push_back(shards[static_cast<std::size_t>(source(p))]);
        out->uniform = one || b.array->uniform;
      } else if (plan.layout) {
        const ArgumentPlan& ap = v.arguments[static_cast<std::size_t>(r.argument)];
        for (std::int64_t p = 0; p < ap.blocks->positions(); ++p)
          out->shards.push_back({b.whole, b.offset + static_cast<std::size_t>(ap.blocks->offset_of(
                                                         ap.blocks->block_of(source(p))))});
        out->uniform = one;
      } else {
        out->shards.push_back({b.whole, b.offset});
      }
      results[i] = std::move(out);
      continue;
    }
    const Slot& s = tape.slots[static_cast<std::size_t>(r.slot)];
    const std::int64_t n = tape.stored(s);
    BufferPtr buffer;
    std::size_t base = 0;
    if (r.reuse >= 0) {
      const Argument& a = tape.arguments[static_cast<std::size_t>(r.reuse)];
      std::byte** from = frame.table + tape.slots[static_cast<std::size_t>(a.slot)].offset;
      if (holds.alone(a.input))
        buffer = take_over(*inputs[a.input], bound[static_cast<std::size_t>(r.reuse)], from, n,
                           s.bytes, queued);
      if (buffer) {
        holds.overwrite(a.input);
        base = static_cast<std::size_t>(from[0] - buffer->data());
      }
    }
    if (!buffer) {
      buffer = Buffer::allocate(static_cast<std::size_t>(plan.bytes));
      buffer->charge(out->layout, s.bytes);
    }
    std::byte** table = frame.table + s.offset;
    for (std::int64_t k = 0; k < n; ++k) table[k] = buffer->data() + base + k * s.bytes;
    if (plan.layout) {
      out->shards.reserve(plan.instance.size());
      for (std::int64_t k : plan.instance)
        out->shards.push_back({buffer, base + static_cast<std::size_t>(k * s.bytes)});
      out->uniform = plan.uniform;
    } else {
      out->shards.push_back({std::move(buffer), base});
    }
    results[i] = std::move(out);
  }
  return results;
}

namespace {

// Libraries make variables at their first call, too.
void has_run(const Variant& v) {
  if (v.libraries && !v.ran.load(std::memory_order_relaxed) && !v.ran.exchange(true))
    library_was_used();
}

}  // namespace

std::vector<ArrayDataPtr> TapeExecutable::run(std::span<const ArrayDataPtr> inputs,
                                              Holds& holds) const {
  const Inside inside;
  touch();
  check(inputs);
  std::shared_ptr<const Variant> own = variant_for(inputs);
  if (own->libraries && !Inside::libraries()) own = make_variant(own->uniform, true);
  const Variant& v = *own;
  check_devices(v);
  check_places(v, inputs);
  const Tape& tape = *v.tape;
  bool queued = tape.seconds > kInline && !synchronous();
  for (const auto& in : inputs) queued = queued || (in->pending && !in->pending->done());
  profiler::Scope scope(name(), queued ? "dispatch" : "call", profiler::kHost);
  const AllocatingFor allocating(name());

  ScopedBlock memory(static_cast<std::size_t>(tape.frame_bytes));
  Frame frame(tape, memory.data());
  if (poison())
    std::memset(frame.arena, 0xff,
                static_cast<std::size_t>(tape.arena_bytes + tape.workers * tape.local_bytes));
  std::vector<Bound> bound = bind(v, inputs, frame);
  std::vector<ArrayDataPtr> results = make_results(v, inputs, holds, bound, frame, queued);
  if (!queued) {
    // An input that failed before is reported before anything is written.
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
    done = dispatch_async(std::string(name()), [call, own] {
      call->run();
      has_run(*own);
    });
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

#include "runtime/tape_executable.h"

#include "runtime/accounting.h"
#include "runtime/devices.h"
#include "runtime/pool.h"

#include <algorithm>

namespace tessera::inline v0::runtime {

using namespace tapes;

namespace {

// Instances of `mask` by place in a region's mesh, or the other way round.
std::vector<std::int64_t> places_of_instances(const Tape& tape, const Region& region, Mask mask) {
  std::vector<std::int64_t> places;
  Coords c;
  for_instances(tape, mask, c, [&](std::int64_t) {
    std::int64_t p = 0;
    for (std::size_t a = 0; a < region.axes.size(); ++a)
      p = p * region.sizes[a] + ((mask >> region.axes[a] & 1) ? c.at[region.axes[a]] : 0);
    places.push_back(p);
  });
  return places;
}
std::vector<std::int64_t> instances_of_places(const Tape& tape, const Region& region, const Slot& slot) {
  std::vector<std::int64_t> instances;
  for (std::size_t p = 0; p < region.devices.size(); ++p) {
    Coords c;
    std::int64_t rest = static_cast<std::int64_t>(p), index = 0;
    for (std::size_t a = region.axes.size(); a-- > 0;) {
      c.at[region.axes[a]] = rest % region.sizes[a];
      rest /= region.sizes[a];
    }
    for (const AxisStride& s : slot.instance) index += c.at[s.axis] * s.stride;
    instances.push_back(index);
  }
  (void)tape;
  return instances;
}

LayoutPtr layout_of(const Region& r, const std::string& spec, bool committed) {
  return intern(Layout{r.devices, r.names, r.sizes, spec, committed});
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
    : program_(std::move(p)), options_(std::move(options)), isolated_(isolated), evaluate_(evaluate) {
  base_ = make_variant(std::vector<bool>(program_->inputs.size(), false));
}

std::shared_ptr<const Variant> TapeExecutable::make_variant(std::vector<bool> uniform) const {
  auto v = std::make_shared<Variant>();
  PlanOptions options;
  options.isolated = isolated_;
  options.evaluate = evaluate_;
  options.workers = worker_count();
  options.uniform = uniform;
  options.donated = options_.donated;
  v->uniform = std::move(uniform);
  v->tape = plan(*program_, options);
  const Tape& tape = *v->tape;
  v->of_input.resize(program_->inputs.size());
  for (std::size_t i = 0; i < tape.arguments.size(); ++i) {
    const Argument& a = tape.arguments[i];
    v->of_input[a.input].push_back(i);
    ArgumentPlan plan;
    if (a.region >= 0) {
      const Region& r = tape.regions[static_cast<std::size_t>(a.region)];
      plan.committed = layout_of(r, a.spec, true);
      plan.uncommitted = layout_of(r, a.spec, false);
      plan.position = places_of_instances(tape, r, tape.slots[static_cast<std::size_t>(a.slot)].mask);
      plan.blocks.emplace(a.type, r.names, r.sizes, a.spec);
      if (plan.blocks->contiguous())
        for (std::int64_t p : plan.position) plan.offset.push_back(plan.blocks->offset_of(plan.blocks->block_of(p)));
    }
    v->arguments.push_back(std::move(plan));
  }
  for (const Result& r : tape.results) {
    ResultPlan plan;
    if (r.region >= 0) {
      const Region& region = tape.regions[static_cast<std::size_t>(r.region)];
      plan.layout = layout_of(region, r.spec, true);
      for (int d : region.devices)
        if (d < 0 || d >= kMaxDevices) throw DeviceError("there is no device " + std::to_string(d));
    }
    if (r.slot >= 0) {
      const Slot& s = tape.slots[static_cast<std::size_t>(r.slot)];
      plan.bytes = s.bytes * tape.instances(s.mask);
      if (r.region >= 0) {
        const Region& region = tape.regions[static_cast<std::size_t>(r.region)];
        plan.instance = instances_of_places(tape, region, s);
        spmd::Blocks blocks(r.type, region.names, region.sizes, r.spec);
        plan.uniform = blocks.count() > 1 && s.mask == 0;
      }
    }
    v->results.push_back(std::move(plan));
  }
  return v;
}

bool TapeExecutable::fits(const ArrayData& a, const ArgumentPlan& plan) const {
  if (a.layout == plan.committed || a.layout == plan.uncommitted) return true;
  if (!plan.committed || a.layout->devices.size() != plan.committed->devices.size()) return false;
  return same_cut(*a.layout, *plan.committed, a.type);
}

const std::shared_ptr<const Variant>& TapeExecutable::variant_for(std::span<const ArrayDataPtr> inputs) const {
  bool any = false;
  for (const auto& a : inputs) any = any || a->uniform;
  if (!any || isolated_) return base_;
  std::vector<bool> bits(inputs.size());
  any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->uniform || base_->of_input[i].empty()) continue;
    bool all = true;
    for (std::size_t k : base_->of_input[i]) all = all && base_->arguments[k].committed && fits(*inputs[i], base_->arguments[k]);
    bits[i] = all;
    any = any || all;
  }
  if (!any) return base_;
  std::lock_guard lock(mutex_);
  for (const auto& v : variants_)
    if ((*v)->uniform == bits) return *v;
  variants_.push_back(std::make_unique<const std::shared_ptr<const Variant>>(make_variant(bits)));
  return *variants_.back();
}

namespace {

// What an argument became for one call.
struct Bound {
  ArrayDataPtr array;   // shard by shard
  BufferPtr whole;      // or one dense block, and views of it
  std::size_t offset = 0;
};

}  // namespace

std::vector<ArrayDataPtr> TapeExecutable::run(std::span<const ArrayDataPtr> inputs) const {
  if (inputs.size() != program_->inputs.size())
    throw InternalError("program '" + program_->name + "' takes " + std::to_string(program_->inputs.size()) + " inputs, got " +
                        std::to_string(inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]->deleted.load(std::memory_order_relaxed))
      Message(options_.name.empty() ? program_->name : options_.name)
          .problem("input " + std::to_string(i) + " was donated to an earlier call")
          .rule("a donated array is gone: its memory belongs to that call's results")
          .advice("use the results of that call, or do not move the array into it")
          .raise<DeviceError>();
  const Variant& v = *variant_for(inputs);
  const Tape& tape = *v.tape;

  ScopedBlock memory(static_cast<std::size_t>(tape.frame_bytes));
  Frame frame(tape, memory.data());

  std::vector<Bound> bound(tape.arguments.size());
  for (std::size_t i = 0; i < tape.arguments.size(); ++i) {
    const Argument& a = tape.arguments[i];
    const ArgumentPlan& plan = v.arguments[i];
    const ArrayDataPtr& in = inputs[a.input];
    std::byte** table = frame.table + tape.slots[static_cast<std::size_t>(a.slot)].offset;
    Bound& b = bound[i];
    auto view_whole = [&] {
      const std::byte* p = dense_bytes(*in, b.whole);
      b.offset = static_cast<std::size_t>(p - b.whole->data());
      return const_cast<std::byte*>(p);
    };
    if (!plan.committed) {
      table[0] = view_whole();
      continue;
    }
    if (fits(*in, plan)) {
      if (in->pending) in->pending->wait();
      b.array = in;
    } else if (!plan.offset.empty() && (in->layout->mesh_axes.empty() || in->layout->spec.empty())) {
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

  // Wholes live where the committed inputs do.
  LayoutPtr single;
  for (const auto& in : inputs)
    if (in->layout->devices.size() == 1 && (!single || (in->layout->committed && !single->committed))) single = in->layout;
  if (!single) single = default_layout();

  std::vector<ArrayDataPtr> results(tape.results.size());
  for (std::size_t i = 0; i < tape.results.size(); ++i) {
    const Result& r = tape.results[i];
    const ResultPlan& plan = v.results[i];
    if (r.same_as >= 0) {
      results[i] = results[static_cast<std::size_t>(r.same_as)];
      continue;
    }
    auto out = std::make_shared<ArrayData>();
    out->type = r.type;
    out->layout = plan.layout ? plan.layout : single;
    if (r.argument >= 0) {
      const Bound& b = bound[static_cast<std::size_t>(r.argument)];
      if (b.array) {
        out->shards = b.array->shards;
        out->uniform = b.array->uniform;
      } else if (plan.layout) {
        const ArgumentPlan& ap = v.arguments[static_cast<std::size_t>(r.argument)];
        for (std::int64_t p = 0; p < ap.blocks->positions(); ++p)
          out->shards.push_back({b.whole, b.offset + static_cast<std::size_t>(ap.blocks->offset_of(ap.blocks->block_of(p)))});
      } else {
        out->shards.push_back({b.whole, b.offset});
      }
    } else {
      const Slot& s = tape.slots[static_cast<std::size_t>(r.slot)];
      BufferPtr buffer = Buffer::allocate(static_cast<std::size_t>(plan.bytes));
      buffer->charge(out->layout, s.bytes);
      std::byte** table = frame.table + s.offset;
      const std::int64_t n = s.bytes ? plan.bytes / s.bytes : tape.instances(s.mask);
      for (std::int64_t k = 0; k < n; ++k) table[k] = buffer->data() + k * s.bytes;
      if (plan.layout) {
        out->shards.reserve(plan.instance.size());
        for (std::int64_t k : plan.instance) out->shards.push_back({buffer, static_cast<std::size_t>(k * s.bytes)});
        out->uniform = plan.uniform;
      } else {
        out->shards.push_back({std::move(buffer), 0});
      }
    }
    results[i] = std::move(out);
  }

  execute(tape, frame, true);
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

#include "runtime/cpu/bind.h"

#include "base/process.h"
#include "runtime/backend.h"
#include "runtime/host/recycled.h"

#include <algorithm>

namespace tessera::inline v0::runtime {

using namespace tape;

namespace {

bool same_cut(const Layout& a, const Layout& b, const Type& type) {
  if (a.backend != b.backend || a.devices() != b.devices()) return false;
  if (spmd::same_cut(*a.mesh, a.spec, *b.mesh, b.spec)) return true;
  spmd::Blocks x(type, *a.mesh, a.spec);
  spmd::Blocks y(type, *b.mesh, b.spec);
  if (!(x.block() == y.block())) return false;
  for (std::int64_t p = 0; p < x.positions(); ++p)
    if (x.block_of(p) != y.block_of(p)) return false;
  return true;
}

}  // namespace

bool Fits::operator()(const ArrayData& a, const ArgumentPlan& plan) const {
  if (a.layout == plan.committed || a.layout == plan.uncommitted) return true;
  if (!plan.committed || a.layout->devices().size() != plan.committed->devices().size())
    return false;
  std::lock_guard lock(mutex_);
  for (const Fit& f : known_)
    if (f.layout == a.layout && f.plan == &plan) return f.fits;
  known_.push_back({a.layout, &plan, same_cut(*a.layout, *plan.committed, a.type)});
  return known_.back().fits;
}

std::vector<Bound> bind_inputs(const Variant& v, std::span<const ArrayDataPtr> inputs,
                               const Fits& fits, const Frame& frame) {
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
      b.offset = static_cast<std::size_t>(p - b.whole->host_data());
      return const_cast<std::byte*>(p);
    };
    if (!plan.committed) {
      table[0] = view_whole();
      continue;
    }
    if (fits(*in, plan)) {
      b.array = in;
    } else if (!plan.offset.empty() && in->layout->spec.replicated()) {
      std::byte* p = view_whole();
      for (std::size_t k = 0; k < plan.offset.size(); ++k)
        table[plan.instance[k]] = p + plan.offset[k];
      continue;
    } else {
      b.array = relayout(in, plan.committed);
    }
    for (std::size_t k = 0; k < plan.position.size(); ++k) {
      const std::int64_t at = b.array->layout->shard_at(plan.position[k]);
      if (at < 0) throw InternalError("an argument's block is another process's");
      const Shard& s = b.array->shards[static_cast<std::size_t>(at)];
      table[plan.instance[k]] = s.buffer->host_data() + s.offset;
    }
  }
  return bound;
}

namespace {

// The memory of a donated argument that has no other users, provided that no other array shares it
// and its instances are adjacent.
BufferPtr take_over(const ArrayData& in, const Bound& b, std::span<std::byte* const> blocks,
                    std::int64_t bytes, bool queued) {
  if (b.array && (b.array.get() != &in || in.shards.empty())) return nullptr;
  const BufferPtr& buffer = b.array ? b.array->shards[0].buffer : b.whole;
  long own = b.whole ? 1 : 0;
  for (const Shard& s : in.shards) {
    if (s.buffer != buffer) return nullptr;
    ++own;
  }
  // If this call is queued, queued calls that read the buffer run before it.
  if (buffer.use_count() != own + (queued ? buffer->in_flight.load() : 0)) return nullptr;
  for (std::size_t k = 1; k < blocks.size(); ++k)
    if (blocks[k] != blocks[0] + static_cast<std::int64_t>(k) * bytes) return nullptr;
  if (buffer->is_lent() || buffer->is_shared()) return nullptr;
  // use_count() does not synchronise; taking a reference orders this after all reads by released
  // ones.
  return BufferPtr(buffer);
}

}  // namespace

std::vector<ArrayDataPtr> make_results(const Variant& v, std::span<const ArrayDataPtr> inputs,
                                       Holds& holds, const std::vector<Bound>& bound,
                                       const Frame& frame, bool queued) {
  const Tape& tape = *v.tape;
  // Whole results are placed with the committed inputs, or else on the default device. If none has
  // been chosen, they stay with the first input, which may be a row on any device.
  static Backend* const cpu = &host_backend();
  const LayoutPtr* single = nullptr;
  for (const auto& in : inputs)
    if (in->layout->devices().size() == 1 && in->layout->backend == cpu &&
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
    auto out = std::allocate_shared<ArrayData>(Recycled<ArrayData>());
    out->type = r.type;
    out->layout = plan.layout ? plan.layout
                  : v.whole   ? v.whole
                  : single && ((*single)->committed || !chosen_default())
                      ? place_of_whole(*single)
                      : uncommitted_layout(*cpu);
    if (r.argument >= 0) {
      const Bound& b = bound[static_cast<std::size_t>(r.argument)];
      const Argument& a = tape.arguments[static_cast<std::size_t>(r.argument)];
      auto source = [&](std::int64_t p) {
        return a.source.empty() ? p : a.source[static_cast<std::size_t>(p)];
      };
      // All shards are one block of the argument.
      const bool one = !a.source.empty() && tape.slots[static_cast<std::size_t>(a.slot)].mask == 0;
      out->pending = inputs[a.input]->pending;
      if (b.array) {
        const Layout& has = *b.array->layout;
        for (std::size_t k = 0; k < out->layout->shards(); ++k)
          out->shards.push_back(
              b.array
                  ->shards[static_cast<std::size_t>(has.shard_at(source(out->layout->place(k))))]);
        out->uniform = one || b.array->uniform;
      } else if (plan.layout) {
        const ArgumentPlan& ap = v.arguments[static_cast<std::size_t>(r.argument)];
        for (std::size_t k = 0; k < out->layout->shards(); ++k)
          out->shards.push_back(
              {b.whole, b.offset + static_cast<std::size_t>(ap.blocks->offset_of(
                                       ap.blocks->block_of(source(out->layout->place(k)))))});
        out->uniform = one;
      } else {
        out->shards.assign(out->layout->shards(), {b.whole, b.offset});
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
      InlineVector<std::byte*, 8> blocks;
      const std::vector<std::int64_t>& own =
          v.arguments[static_cast<std::size_t>(r.reuse)].instance;
      for (const std::int64_t k : own) blocks.push_back(from[k]);
      if (own.empty()) blocks.push_back(from[0]);  // a whole array
      const bool here = (a.region < 0) == (r.region < 0) ||
                        same_cut(*inputs[a.input]->layout, *out->layout, r.type);
      if (here && holds.alone(a.input) && std::ssize(blocks) == n)
        buffer = take_over(*inputs[a.input], bound[static_cast<std::size_t>(r.reuse)],
                           {blocks.data(), blocks.size()}, s.bytes, queued);
      if (buffer) {
        holds.overwrite(a.input);
        buffer->forget_forms();
        base = static_cast<std::size_t>(blocks[0] - buffer->host_data());
      }
    }
    if (!buffer) {
      buffer = Buffer::allocate(static_cast<std::size_t>(plan.bytes));
      buffer->charge(out->layout, s.bytes);
    }
    std::byte** table = frame.table + s.offset;
    for (std::int64_t k = 0; k < n; ++k) table[k] = buffer->host_data() + base + k * s.bytes;
    if (plan.layout) {
      out->shards.reserve(out->layout->shards());
      for (std::size_t j = 0; j < out->layout->shards(); ++j) {
        const std::int64_t k = plan.instance[j];
        out->shards.push_back({buffer, base + static_cast<std::size_t>(k * s.bytes)});
      }
      out->uniform = plan.uniform;
    } else {
      out->shards.assign(out->layout->shards(), {std::move(buffer), base});
    }
    results[i] = std::move(out);
  }
  return results;
}

std::vector<ArrayDataPtr> results_elsewhere(const Variant& v, const LayoutPtr& place) {
  std::vector<ArrayDataPtr> results;
  for (const Result& r : v.tape->results) {
    auto out = std::make_shared<ArrayData>();
    out->type = r.type;
    out->layout = place_of_whole(place);
    results.push_back(std::move(out));
  }
  return results;
}

std::vector<ArrayDataPtr> results_elsewhere(const Variant& v) {
  std::vector<ArrayDataPtr> results = results_elsewhere(v, v.whole);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (v.results[i].layout) results[i]->layout = v.results[i].layout;
  return results;
}

}  // namespace tessera::inline v0::runtime

// Collectives are loops over memory that all devices can read. Whichever process runs the loop,
// sums follow the tree of reduce.h over the devices' order, so that they do not depend on the
// number of processes.
#include "runtime/cpu/collective_work.h"
#include "runtime/cpu/reduce.h"
#include "runtime/host/copies.h"
#include "runtime/host/pool.h"
#include "runtime/profiler.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::runtime {

using namespace tape;

namespace {

constexpr std::int64_t kChunk = 1 << 16;  // elements of a reduction per task
// Copies are sorted by address only if the results and each copy have at least this many bytes;
// sorting many small copies would take longer than copying them.
constexpr std::int64_t kLargeCopies = 1 << 22, kLargeCopy = 1 << 12;

Reduction reduction_of(Combiner how) {
  switch (how) {
    case Combiner::add: return Reduction::sum;
    case Combiner::max: return Reduction::max;
    case Combiner::min: return Reduction::min;
    default:
      throw InternalError("devices' values are not combined by " + std::string(name_of(how)));
  }
}

}  // namespace

bool in_pieces(const Collective& c) {
  return c.exchange == Exchange::combine || c.exchange == Exchange::permute ||
         c.exchange == Exchange::broadcast || (c.exchange == Exchange::gather && c.outer == 1);
}

Coords CollectiveWork::coords(std::int64_t result) const {
  Coords c;
  const auto at = static_cast<std::size_t>(result);
  const std::vector<std::int64_t>* here = own_instances();
  const Slot& s = slot();
  set_instance(*tape, step->mask, here ? (*here)[at] : s.stored ? s.computed[at] : result, c);
  return c;
}

std::int64_t CollectiveWork::self(const Coords& c) const {
  std::int64_t k = 0;
  for (std::size_t i = 0; i < col().axes.size(); ++i) k = k * col().sizes[i] + c.at[col().axes[i]];
  return k;
}

// The operand of another device: sets `c` to its coordinates and returns its instance number.
std::int64_t CollectiveWork::instance(Coords& c, std::int64_t device) const {
  const Collective& col = this->col();
  for (std::size_t i = col.axes.size(); i-- > 0;) {
    c.at[col.axes[i]] = device % col.sizes[i];
    device /= col.sizes[i];
  }
  std::int64_t number = 0;
  for (std::size_t a = 0; a < tape->axes.size(); ++a)
    if (col.laid >> a & 1) number = number * tape->axes[a].size + c.at[a];
  return number;
}

const std::byte* CollectiveWork::laid_out(std::int64_t instance) const {
  const Collective& col = this->col();
  if (!col.owner) return nullptr;
  const std::byte* first = laid[static_cast<std::size_t>(col.owner->at(instance))];
  return first ? first + col.number.at(instance) * laid_bytes(laid_of) -
                     laid_of.begin * size_of(laid_dtype())
               : nullptr;
}

const std::byte* CollectiveWork::operand(Coords c, std::int64_t device) const {
  const std::int64_t number = instance(c, device);
  if (const std::byte* other = laid_out(number)) return other;
  return address(*tape, *frame, 0, step->inputs[0], c) + begin * size_of(col().dtype);
}

DType CollectiveWork::laid_dtype() const {
  return col().together > 1 ? accumulated_in(col().dtype) : col().dtype;
}

void CollectiveWork::lay_out(std::byte* to, Elements some) const {
  if (!some.size()) return;
  const Collective& col = this->col();
  const auto together = static_cast<std::size_t>(col.together);
  InlineVector<const std::byte*, 16> in;
  for (const std::int64_t instance : col.own) {
    Coords c;
    set_instance(*tape, col.laid, instance, c);
    in.push_back(address(*tape, *frame, 0, step->inputs[0], c) +
                 (begin + some.begin) * size_of(col.dtype));
    if (in.size() < together) continue;
    if (together > 1)
      reduce(reduction_of(col.combiner), col.dtype, {in.data(), in.size()}, to, some.size(),
             ReduceStage::halves);
    else
      std::memcpy(to, in[0], static_cast<std::size_t>(some.size() * size_of(col.dtype)));
    in.clear();
    to += laid_bytes(some);
  }
}

// The operands of one reduction: those that others published, and this process's own.
class CollectiveWork::Combination {
 public:
  Combination(const CollectiveWork& w, const Coords& c, int group)
      : w_(w), how_(reduction_of(w.col().combiner)) {
    const Collective& col = w.col();
    for (std::int64_t k = 0; k < col.members(group); k += col.together) {
      Coords at = c;
      const std::byte* other = w.laid_out(w.instance(at, col.member(group, k)));
      laid_.push_back(other);
      if (other) continue;
      for (std::int64_t j = k; j < k + col.together; ++j)
        own_.push_back(w.operand(c, col.member(group, j)));
    }
  }

  void run(std::int64_t first, std::int64_t count, std::byte* out) const {
    const auto together = static_cast<std::size_t>(w_.col().together);
    const std::int64_t e = size_of(w_.col().dtype);
    InlineVector<const std::byte*, 16> in;
    if (together == 1) {
      for (std::size_t k = 0, own = 0; k < laid_.size(); ++k)
        in.push_back((laid_[k] ? laid_[k] : own_[own++]) + first * e);
      reduce(how_, w_.col().dtype, {in.data(), in.size()}, out, count);
      return;
    }
    // This process's operands are reduced in small blocks, just before they are used.
    const std::int64_t combined = size_of(w_.laid_dtype());
    const auto mine = std::max<std::int64_t>(1, std::ssize(own_) / w_.col().together);
    alignas(64) std::byte few[kNear];
    std::vector<std::byte> many;
    if (mine * combined > kNear) many.resize(static_cast<std::size_t>(mine * combined));
    std::byte* const near = many.empty() ? few : many.data();
    const std::int64_t at_once = std::max<std::int64_t>(1, kNear / (mine * combined));
    for (std::int64_t begin = 0; begin < count; begin += at_once) {
      const std::int64_t n = std::min(at_once, count - begin);
      in.clear();
      std::byte* free = near;
      for (std::size_t k = 0, own = 0; k < laid_.size(); ++k) {
        if (laid_[k]) {
          in.push_back(laid_[k] + (first + begin) * combined);
          continue;
        }
        InlineVector<const std::byte*, 16> from;
        for (std::size_t j = 0; j < together; ++j)
          from.push_back(own_[own++] + (first + begin) * e);
        reduce(how_, w_.col().dtype, {from.data(), from.size()}, free, n, ReduceStage::halves);
        in.push_back(free);
        free += n * combined;
      }
      reduce(how_, w_.col().dtype, {in.data(), in.size()}, out + begin * e, n, ReduceStage::rest);
    }
  }

 private:
  static constexpr std::int64_t kNear = 16 << 10;  // bytes
  const CollectiveWork& w_;
  const Reduction how_;
  InlineVector<const std::byte*, 16> laid_;  // null: this process's
  InlineVector<const std::byte*, 16> own_;
};

std::byte* CollectiveWork::result(std::int64_t result) const {
  return address(*tape, *frame, 0, step->outputs[0], coords(result)) + begin * size_of(col().dtype);
}

std::int64_t CollectiveWork::tasks_each() const {
  switch (col().exchange) {
    case Exchange::combine: return std::max<std::int64_t>(1, (made.size() + kChunk - 1) / kChunk);
    case Exchange::gather: return col().members();
    default: return 1;
  }
}

bool CollectiveWork::copies_parts() const {
  const Collective& c = col();
  std::int64_t each = count, copies = 1;  // elements per result, and copies per result
  switch (c.exchange) {
    case Exchange::none:
    case Exchange::combine:
    case Exchange::combine_scatter: return false;
    case Exchange::gather: copies = c.members(), each = copies * c.outer * c.run; break;
    case Exchange::all_to_all: copies = c.members(); break;
    case Exchange::permute:
    case Exchange::broadcast: break;
  }
  each *= size_of(c.dtype);
  return results() * each >= kLargeCopies && each >= copies * kLargeCopy;
}

// The box of one copy: a whole operand for a permutation, else what one device contributes to one
// result.
BoxCopy CollectiveWork::copied_box() const {
  const Collective& col = this->col();
  const std::int64_t e = size_of(col.dtype), row = col.run * e;
  switch (col.exchange) {
    case Exchange::all_to_all: return col.box;
    case Exchange::gather:
      return BoxCopy(Shape{col.outer, col.outer == 1 ? count : col.run}, Shape{row, e},
                     Shape{col.members() * row, e}, e);
    default: return BoxCopy(Shape{count}, Shape{e}, Shape{e}, e);
  }
}

void CollectiveWork::copy_parts(bool spread) const {
  const Collective& col = this->col();
  const std::int64_t e = size_of(col.dtype), offset = begin * e, row = col.run * e;
  const BoxCopy box = copied_box();
  std::vector<PlacedBox> copies;
  for (std::int64_t result = 0, n = results(); result < n; ++result) {
    const Coords c = coords(result);
    const std::int64_t me = self(c);
    const int group = col.group_of(me);
    std::byte* const out = address(*tape, *frame, 0, step->outputs[0], c);
    if (col.exchange == Exchange::permute || col.exchange == Exchange::broadcast) {
      const std::int64_t from = col.source.at(me);
      if (from >= 0)
        copies.push_back({&box, {operand(c, from), out + offset}});
      else
        std::memset(out + offset, 0, static_cast<std::size_t>(count * e));
      continue;
    }
    for (std::int64_t j = 0, members = col.members(group); j < members; ++j) {
      const std::byte* const in = operand(c, col.member(group, j));
      if (col.exchange == Exchange::gather)
        copies.push_back({&box, {in, out + j * row + offset}});
      else
        copies.push_back(
            {&box, {in + col.position_of(me) * col.from_chunk, out + j * col.to_chunk}});
    }
  }
  copy_all(copies, spread);
}

void CollectiveWork::run(std::int64_t result, std::int64_t task) const {
  const Collective& col = this->col();
  const Coords c = coords(result);
  const std::int64_t me = self(c);
  const int group = col.group_of(me);
  const std::int64_t n = col.members(group);
  const std::int64_t e = size_of(col.dtype);
  std::byte* out = address(*tape, *frame, 0, step->outputs[0], c);
  switch (col.exchange) {
    case Exchange::none: return;
    case Exchange::combine: {
      const std::int64_t first = made.begin + task * kChunk;
      std::byte* const to = aside ? aside + result * aside_each + (first - made.begin) * e
                                  : out + (begin + first) * e;
      Combination(*this, c, group).run(first, std::min(kChunk, made.end - first), to);
      return;
    }
    case Exchange::combine_scatter: {
      const Combination combination(*this, c, group);
      const std::int64_t place = col.position_of(me);
      for (std::int64_t o = 0; o < col.outer; ++o)
        combination.run((o * n + place) * col.run, col.run, out + o * col.run * e);
      return;
    }
    case Exchange::gather: {
      const std::byte* in = operand(c, col.member(group, task));
      const std::int64_t bytes = col.run * e;
      const std::int64_t some = col.outer == 1 ? count * e : bytes;
      for (std::int64_t o = 0; some && o < col.outer; ++o)
        std::memcpy(out + (o * n + task) * bytes + begin * e, in + o * bytes,
                    static_cast<std::size_t>(some));
      return;
    }
    case Exchange::all_to_all: {
      const std::int64_t place = col.position_of(me);
      for (std::int64_t j = 0; j < n; ++j)
        col.box.run(operand(c, col.member(group, j)) + place * col.from_chunk,
                    out + j * col.to_chunk);
      return;
    }
    case Exchange::permute:
    case Exchange::broadcast: {
      const std::int64_t from = col.source.at(me);
      const auto bytes = static_cast<std::size_t>(count * e);
      if (bytes == 0) return;
      if (from < 0)
        std::memset(out + begin * e, 0, bytes);
      else
        std::memcpy(out + begin * e, operand(c, from), bytes);
      return;
    }
  }
}

void run_here(std::span<const CollectiveWork> given, bool spread) {
  InlineVector<CollectiveWork, 8> all;
  for (const CollectiveWork& w : given) {
    if (!w.copies_parts()) {
      all.push_back(w);
      continue;
    }
    profiler::Scope scope(w.step->name, "collective", profiler::kCollectives, w.step->loc);
    w.copy_parts(spread);
  }
  if (all.empty()) return;
  if (!spread || worker_count() == 1) {
    for (const CollectiveWork& w : all) {
      profiler::Scope scope(w.step->name, "collective", profiler::kCollectives, w.step->loc);
      const std::int64_t tasks = w.tasks_each(), n = w.results();
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t t = 0; t < tasks; ++t) w.run(i, t);
    }
    return;
  }
  // Run all tasks of all collectives in one loop. `first[s]` is the first task of collective s.
  InlineVector<std::int64_t, 32> first;
  std::int64_t total = 0;
  for (const CollectiveWork& w : all) {
    first.push_back(total);
    total += w.results() * w.tasks_each();
  }
  profiler::Scope scope(all.size() == 1 ? all[0].step->name : "collectives", "collective",
                        profiler::kCollectives, all.size() == 1 ? all[0].step->loc : SourceLoc());
  const std::int64_t pieces = std::min<std::int64_t>(total, std::int64_t{8} * worker_count());
  parallel_for(pieces, [&](std::int64_t p) {
    const std::int64_t begin = total * p / pieces, end = total * (p + 1) / pieces;
    std::size_t s = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), begin) -
                                             first.begin()) -
                    1;
    for (std::int64_t t = begin; t < end; ++t) {
      while (s + 1 < first.size() && t >= first[s + 1]) ++s;
      const std::int64_t tasks = all[s].tasks_each();
      all[s].run((t - first[s]) / tasks, (t - first[s]) % tasks);
    }
  });
}

void run_collectives(const Tape& tape, const Frame& frame, const Phase& phase, bool spread) {
  if (phase.between) return run_between(tape, frame, phase, spread);
  InlineVector<CollectiveWork, 8> all;
  for (const Step& step : phase.steps) all.push_back(CollectiveWork(tape, frame, step));
  run_here({all.data(), all.size()}, spread && phase.seconds >= kWorthSpreading);
}

}  // namespace tessera::inline v0::runtime

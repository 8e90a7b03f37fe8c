#include "codegen/tape/lives.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera::inline v0::tape {
namespace {

// Whether the value of slot `from` is dead when slot `to` is written, given that both use the same
// memory, instance by instance. `lone` are the axes of size 1.
bool dead_before(const Tape& tape, Mask lone, const std::vector<std::int64_t>& phase_starts,
                 const Life& from, int from_slot, const Life& to, int to_slot) {
  if (from.last < to.first) return true;
  if (from.last_phase != to.phase) return false;
  const Phase& phase = tape.phases[static_cast<std::size_t>(to.phase)];
  if (phase.collective) return false;
  auto by_instance = [&](int slot) {
    return ((tape.slots[static_cast<std::size_t>(slot)].mask ^ phase.mask) & ~lone) == 0;
  };
  if (phase.instances > 1 && !(by_instance(from_slot) && by_instance(to_slot))) return false;
  if (from.exact_last != to.exact_first) return from.exact_last < to.exact_first;
  // Both are used by the same step, which must read each element before it writes it.
  const Step& step = phase.steps[static_cast<std::size_t>(
      to.exact_first - phase_starts[static_cast<std::size_t>(to.phase)])];
  int reads = 0;
  for (const Ref& r : step.inputs) reads += r.slot == from_slot;
  if (reads != 1) return false;
  auto fits = [&](int in, std::size_t out) {
    const Ref &a = step.inputs[static_cast<std::size_t>(in)], &b = step.outputs[out];
    return a.slot == from_slot && b.slot == to_slot && a.offset == 0 && a.cut.empty() &&
           a.absorbed == 0;
  };
  if (const ControlStep* control = step.control())
    for (std::size_t k = 0; k < control->tied.size(); ++k)
      if (control->tied[k] >= 0 && fits(control->tied[k], k)) return true;
  if (const auto* work = std::get_if<RoutineStep>(&step.kind))
    for (auto [in, out] : work->routine->in_place)
      if (fits(in, static_cast<std::size_t>(out))) return true;
  return false;
}

// Finds results that may be written into the memory of a donated argument. A result first gets the
// argument that its own step reads and may overwrite: an update of a few elements then writes
// nothing else, whereas in the memory of another argument it would have to copy the whole array.
// The other candidates are grouped by size, axes and dtype, so that planning takes linear time even
// with thousands of arrays.
void plan_donation(const TapeContext& ctx, Tape& tape, const std::vector<Life>& life) {
  constexpr std::size_t kMostTried = 256;
  const std::vector<bool>& donated = ctx.options.donated;
  if (std::find(donated.begin(), donated.end(), true) == donated.end()) return;
  std::vector<int> arguments_of(donated.size());
  for (const Argument& a : tape.arguments)
    if (a.input < donated.size()) ++arguments_of[a.input];
  std::vector<bool> is_result(tape.arguments.size());
  for (const Result& r : tape.results)
    if (r.argument >= 0) is_result[static_cast<std::size_t>(r.argument)] = true;
  Mask lone = 0;
  for (std::size_t a = 0; a < ctx.axes.size(); ++a)
    if (ctx.axes[a].size == 1) lone |= Mask{1} << a;
  using Form = std::tuple<std::int64_t, Mask, DType>;
  auto form_of = [&](int slot) {
    const Slot& s = tape.slots[static_cast<std::size_t>(slot)];
    return Form{s.bytes, s.mask & ~lone, s.dtype};
  };
  std::map<Form, std::vector<std::size_t>> free;
  for (std::size_t i = 0; i < tape.arguments.size(); ++i) {
    const Argument& a = tape.arguments[i];
    if (a.input < donated.size() && donated[a.input] && !a.uniform && !is_result[i] &&
        arguments_of[a.input] == 1)
      free[form_of(a.slot)].push_back(i);
  }
  std::vector<std::int64_t> phase_starts{0};
  for (const Phase& p : tape.phases)
    phase_starts.push_back(phase_starts.back() + static_cast<std::int64_t>(p.steps.size()));
  auto mesh_of = [&](int region) -> const DeviceMesh& {
    return *ctx.regions[static_cast<std::size_t>(region)].mesh;
  };
  // A whole array is treated like a replicated one. Whether it lives on the region's devices is
  // known only when the program runs.
  auto whole = [&](int region, const Spec& spec) {
    return region < 0 || spmd::without_lone_axes(mesh_of(region), spec).replicated();
  };
  auto same_lie = [&](const Argument& a, const Result& r) {
    if (a.region < 0 || r.region < 0) return whole(a.region, a.spec) && whole(r.region, r.spec);
    return spmd::same_cut(mesh_of(a.region), a.spec, mesh_of(r.region), r.spec);
  };
  auto fits = [&](const Argument& a, const Result& r) {
    if (!(a.type.shape == r.type.shape) || !same_lie(a, r)) return false;
    const int place = tape.place(r.slot);
    return dead_before(tape, lone, phase_starts, life[static_cast<std::size_t>(a.slot)], a.slot,
                       life[static_cast<std::size_t>(place)], place);
  };
  // Devices that share one result would overwrite memory that belongs to a single device.
  auto may_reuse = [&](const Result& r) {
    if (r.slot < 0) return false;
    const Slot& slot = tape.slots[static_cast<std::size_t>(r.slot)];
    const std::vector<std::int64_t>* here = tape.instances_here(slot.mask);
    return tape.stored(slot) == (here ? std::ssize(*here) : tape.instances(slot.mask));
  };
  auto give = [&](Result& r, std::vector<std::size_t>& candidates, std::size_t k) {
    r.reuse = static_cast<int>(candidates[k]);
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(k));
  };
  std::vector<int> argument_at(tape.slots.size(), -1);
  for (const auto& [form, candidates] : free)
    for (std::size_t i : candidates)
      argument_at[static_cast<std::size_t>(tape.arguments[i].slot)] = static_cast<int>(i);
  for (Result& r : tape.results) {
    if (!may_reuse(r)) continue;
    const Life& made = life[static_cast<std::size_t>(tape.place(r.slot))];
    if (made.phase < 0) continue;
    const auto phase = static_cast<std::size_t>(made.phase);
    if (tape.phases[phase].collective) continue;
    const Step& step =
        tape.phases[phase].steps[static_cast<std::size_t>(made.exact_first - phase_starts[phase])];
    for (const Ref& read : step.inputs) {
      const int i = argument_at[static_cast<std::size_t>(read.slot)];
      if (i < 0 || form_of(read.slot) != form_of(r.slot)) continue;
      std::vector<std::size_t>& candidates = free[form_of(r.slot)];
      const auto it = std::find(candidates.begin(), candidates.end(), static_cast<std::size_t>(i));
      if (it == candidates.end() || !fits(tape.arguments[*it], r)) continue;
      give(r, candidates, static_cast<std::size_t>(it - candidates.begin()));
      break;
    }
  }
  for (Result& r : tape.results) {
    if (r.reuse >= 0 || !may_reuse(r)) continue;
    auto same = free.find(form_of(r.slot));
    if (same == free.end()) continue;
    std::vector<std::size_t>& candidates = same->second;
    for (std::size_t k = 0; k < std::min(candidates.size(), kMostTried); ++k)
      if (fits(tape.arguments[candidates[k]], r)) {
        give(r, candidates, k);
        break;
      }
  }
}

}  // namespace

void assign_memory(TapeContext& ctx, DraftTape& draft) {
  Tape& tape = *draft.tape;
  Lives lives(tape);
  for (const Phase& phase : tape.phases) {
    lives.begin(phase);
    for (const Step& step : phase.steps) lives.step(step);
  }
  const std::vector<Life>& life = lives.places();

  if (&draft == &ctx.drafts.front()) plan_donation(ctx, tape, life);  // bodies are not given arrays

  const Layout layout = lay_out(tape, lives);
  for (std::size_t i = 0; i < tape.slots.size(); ++i) {
    Slot& s = tape.slots[i];
    if (s.space != Space::arena || life[i].first < 0) continue;
    tape.temporaries += aligned(s.bytes * tape.stored(s));
    if (life[i].one_phase) s.space = Space::local;
    s.offset = layout.offsets[i];
  }
  tape.arena_bytes = layout.arena;
  tape.local_bytes = layout.local;
  std::int64_t most = 1;
  for (const Phase& phase : tape.phases)
    if (!phase.collective) most = std::max(most, phase.instances);
  for (std::size_t i = 0; i < tape.slots.size(); ++i)
    if (tape.slots[i].over >= 0) {
      const Slot& at = tape.slots[static_cast<std::size_t>(tape.place(static_cast<int>(i)))];
      tape.slots[i].space = at.space;
      tape.slots[i].offset = at.offset;
    }
  tape.workers = std::min<std::int64_t>(most, std::max(1, ctx.options.workers));
  tape.frame_bytes = aligned(tape.table * static_cast<std::int64_t>(sizeof(void*))) +
                     tape.arena_bytes + tape.workers * tape.local_bytes;
}

}  // namespace tessera::inline v0::tape

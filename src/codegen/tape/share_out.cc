// Divides one tape among several processes: each holds the instances of its own devices.
//
// Every process plans the whole tape, so that steps, phases and collectives are the same
// everywhere; then each process drops the instances that belong to others. Values that are equal on
// all devices are computed once in every process.
#include "base/message.h"
#include "codegen/tape/context.h"
#include "codegen/tape/lives.h"
#include "codegen/tape/shares.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <set>

namespace tessera::inline v0::tape {
namespace {

class SharingOut {
 public:
  SharingOut(const TapeContext& ctx, DraftTape& draft)
      : ctx_(ctx), tape_(*draft.tape), fixed_(draft.fixed), processes_(ctx, fixed_) {}

  void run() {
    const auto here = std::make_shared<Here>();
    const auto own = [&](Mask mask) {
      // Every process holds values that are equal on all devices.
      if (mask == 0 || processes_.everywhere(mask)) return;
      here->try_emplace(mask, processes_.shares(mask)[processes_.rank()]);
    };
    for (const Slot& s : tape_.slots) own(s.mask);
    for (Phase& phase : tape_.phases) {
      own(phase.mask);
      for (const Step& step : phase.steps) {
        own(step.mask);
        own(step.inner);
        for (const Ref& r : step.inputs) {
          own(tape_.varies(r));
          own(tape_.slots[static_cast<std::size_t>(r.slot)].mask & step.inner);
        }
        for (const Ref& r : step.outputs)
          own(tape_.slots[static_cast<std::size_t>(r.slot)].mask & step.inner);
        if (!(step.inner & ctx_.between) || !step.mask) continue;
        phase.in_turn = true;
        if (!processes_.go_together(fixed_ | step.mask, step.inner))
          Message(step.name)
              .problem(
                  "devices of several processes go ways of their own, in which they communicate, "
                  "and one process has some of one way with others of another")
              .rule("all processes come to the same collectives in the same order")
              .from(step.loc)
              .advice(
                  "a mesh whose axes part the processes' devices into blocks, as one of all "
                  "devices "
                  "in their order does")
              .raise<ShardingError>();
      }
    }
    tape_.here = here;
    tape_.devices = processes_.devices();
    for (Slot& s : tape_.slots) leave_to_others(s);
    close_up();
    for (Phase& phase : tape_.phases) {
      if (phase.collective) {
        between(phase);
        continue;
      }
      phase.here = tape_.instances_here(phase.mask);
      phase.devices = processes_.devices_of(phase.mask);
      if (std::adjacent_find(phase.devices.begin(), phase.devices.end(), std::not_equal_to<>()) ==
          phase.devices.end())
        phase.devices.clear();
      if (!phase.here) continue;
      const double all = static_cast<double>(phase.instances);
      phase.instances = std::ssize(*phase.here);
      phase.seconds *= static_cast<double>(phase.instances) / all;
    }
  }

 private:
  // Drops the instances of other processes. If an equal instance exists in this process, they map
  // to it, so that readers without the differing axis can still read the first instance.
  void leave_to_others(Slot& s) {
    const std::vector<std::int64_t>* own = tape_.instances_here(s.mask);
    if (!own) return;
    const std::optional<Progressions> before = std::exchange(s.stored, std::nullopt);
    s.computed.clear();
    std::vector<std::pair<std::int64_t, std::int64_t>> stored;
    std::map<std::int64_t, std::int64_t> groups;  // instances that are stored once
    for (const std::int64_t i : *own) {
      std::int64_t place = std::ssize(s.computed);
      if (before) place = groups.try_emplace(before->at(i), place).first->second;
      if (place == std::ssize(s.computed)) s.computed.push_back(i);
      stored.emplace_back(i, place);
    }
    if (s.same) {
      std::map<std::int64_t, std::int64_t> equal;  // by the coordinates along the other axes
      for (const auto& [i, place] : stored)
        equal.try_emplace(instance(s.mask & ~s.same, coordinates(s.mask, i)), place);
      for (std::int64_t i = 0, n = tape_.instances(s.mask); i < n; ++i) {
        if (std::binary_search(own->begin(), own->end(), i)) continue;
        const auto it = equal.find(instance(s.mask & ~s.same, coordinates(s.mask, i)));
        if (it != equal.end()) stored.emplace_back(i, it->second);
      }
      std::sort(stored.begin(), stored.end());
    }
    s.stored.emplace(stored);
  }

  // Compacts pointers and constants to the stored instances.
  void close_up() {
    std::map<std::int64_t, std::int64_t> pointers;  // their number, by their first index
    for (const Slot& s : tape_.slots)
      if (is_in_table(s)) {
        std::int64_t& n = pointers[s.offset];
        n = std::max(n, tape_.stored(s));
      }
    tape_.table = 0;
    for (auto& [_, n] : pointers) tape_.table += std::exchange(n, tape_.table);
    const std::vector<std::byte> constants = std::exchange(tape_.constants, {});
    for (Slot& s : tape_.slots) {
      if (is_in_table(s)) s.offset = pointers[s.offset];
      if (s.space != Space::constant) continue;
      const auto bytes = static_cast<std::size_t>(s.bytes);
      const std::byte* const from = constants.data() + s.offset;
      const std::size_t to = (tape_.constants.size() + 63) / 64 * 64;
      tape_.constants.resize(to + static_cast<std::size_t>(tape_.stored(s)) * bytes);
      for (std::size_t k = 0; bytes && k < static_cast<std::size_t>(tape_.stored(s)); ++k)
        std::memcpy(tape_.constants.data() + to + k * bytes,
                    from + (s.stored ? static_cast<std::size_t>(s.computed[k]) : k) * bytes, bytes);
      s.offset = static_cast<std::int64_t>(to);
    }
    tape_.constants.shrink_to_fit();
  }
  static bool is_in_table(const Slot& s) {
    return s.space == Space::argument || s.space == Space::result;
  }

  // Determines what each process publishes in a phase of collectives, and which processes read it.
  void between(Phase& phase) {
    Between b;
    std::set<int> from, to;
    for (Step& step : phase.steps) {
      b.operands.emplace_back(processes_.count(), 0);
      const Collective& given = step.collective();
      if (std::none_of(given.axes.begin(), given.axes.end(),
                       [&](int a) { return ctx_.between >> a & 1; }))
        continue;
      auto c = std::make_shared<Collective>(given);
      Mask own = 0;
      for (int a : c->axes) own |= Mask{1} << a;
      c->laid = tape_.varies(step.inputs[0]);
      const Shares& laid = processes_.shares(c->laid);
      const std::vector<Portion> portions = portions_of(*c, own, laid);
      std::vector<std::size_t> portion_of(static_cast<std::size_t>(tape_.instances(c->laid)));
      for (std::size_t k = 0; k < portions.size(); ++k)
        for (const std::int64_t i : portions[k].instances)
          portion_of[static_cast<std::size_t>(i)] = k;
      // Determines which process reads from which, over the results of each process's devices.
      std::vector<bool> read(portions.size(), false);
      const Mask whole = step.mask | own;
      const Shares& devices = processes_.shares(whole);
      if (c->exchange == Exchange::combine && c->one_group() && !(step.mask & own) &&
          processes_.everywhere(step.mask))
        for (std::size_t p = 0; p < devices.size(); ++p)
          if (!devices[p].empty()) c->makers.push_back(static_cast<int>(p));
      for (std::size_t reader = 0; reader < devices.size(); ++reader)
        for (const std::int64_t i : devices[reader]) {
          std::vector<std::int64_t> at = coordinates(whole, i);
          const std::int64_t me = device(*c, at);
          for_sources(*c, me, [&](std::int64_t d) {
            const std::size_t k = portion_of[static_cast<std::size_t>(laid_by(*c, at, d))];
            if (has(laid[reader], portions[k])) return;
            read[k] = true;
            if (reader == processes_.rank()) from.insert(portions[k].owner);
            if (portions[k].owner == static_cast<int>(processes_.rank()))
              to.insert(static_cast<int>(reader));
          });
        }
      if (std::find(read.begin(), read.end(), true) == read.end()) continue;
      std::vector<std::pair<std::int64_t, std::int64_t>> owners, numbers;
      for (std::size_t k = 0; k < portions.size(); ++k) {
        const bool mine = has(laid[processes_.rank()], portions[k]);
        const auto owner = static_cast<std::size_t>(portions[k].owner);
        for (const std::int64_t i : portions[k].instances) {
          owners.emplace_back(i, mine ? processes_.rank() : owner);
          numbers.emplace_back(i, b.operands.back()[owner]);
          if (read[k] && owner == processes_.rank()) c->own.push_back(i);
        }
        if (read[k]) ++b.operands.back()[owner];
      }
      std::sort(owners.begin(), owners.end());
      std::sort(numbers.begin(), numbers.end());
      c->owner.emplace(owners);
      c->number = Progressions(numbers);
      step.kind = CollectiveStep{std::move(c)};
    }
    b.from.assign(from.begin(), from.end());
    b.to.assign(to.begin(), to.end());
    if (std::any_of(phase.steps.begin(), phase.steps.end(),
                    [](const Step& s) { return s.collective().owner.has_value(); }))
      phase.between = std::move(b);
  }

  // Instances of the operand that are published together, and the first process that holds them.
  struct Portion {
    std::vector<std::int64_t> instances;
    int owner;
  };
  static bool has(const std::vector<std::int64_t>& share, const Portion& portion) {
    return std::all_of(portion.instances.begin(), portion.instances.end(), [&](std::int64_t i) {
      return std::binary_search(share.begin(), share.end(), i);
    });
  }

  // Also sets c.together.
  std::vector<Portion> portions_of(Collective& c, Mask own, const Shares& laid) const {
    std::vector<int> owner(static_cast<std::size_t>(tape_.instances(c.laid)), 0);
    for (std::size_t p = laid.size(); p-- > 0;)
      for (const std::int64_t i : laid[p]) owner[static_cast<std::size_t>(i)] = static_cast<int>(p);
    std::vector<Portion> portions;
    const bool combines =
        c.exchange == Exchange::combine || c.exchange == Exchange::combine_scatter;
    if (combines && !(own & ~c.laid)) {
      // The operands of each reduction, in order.
      std::map<std::pair<std::int64_t, int>, std::vector<std::int64_t>> combined;
      for (std::int64_t i = 0; i < std::ssize(owner); ++i) {
        std::vector<std::int64_t> at = coordinates(c.laid, i);
        const std::int64_t of = device(c, at), position = c.position_of(of);
        const int group = c.group_of(of);
        for (const int a : c.axes) at[static_cast<std::size_t>(a)] = 0;
        std::vector<std::int64_t>& operands = combined[{instance(c.laid, at), group}];
        operands.resize(static_cast<std::size_t>(c.members(group)));
        operands[static_cast<std::size_t>(position)] = i;
      }
      c.together = combined_together(combined, owner);
      if (c.together > 1) {
        for (const auto& [_, operands] : combined)
          for (auto at = operands.begin(); at != operands.end(); at += c.together)
            portions.push_back({{at, at + c.together}, owner[static_cast<std::size_t>(*at)]});
        return portions;
      }
    }
    for (std::int64_t i = 0; i < std::ssize(owner); ++i)
      portions.push_back({{i}, owner[static_cast<std::size_t>(i)]});
    return portions;
  }
  // Halves the operands, as the reduction tree of reduce() does, until each part belongs to one
  // process.
  template <class Combined>
  static std::int64_t combined_together(const Combined& combined, const std::vector<int>& owner) {
    const auto size = std::ssize(combined.begin()->second);
    const auto of_one_each = [&](std::int64_t together) {
      return std::all_of(combined.begin(), combined.end(), [&](const auto& entry) {
        const std::vector<std::int64_t>& operands = entry.second;
        if (std::ssize(operands) != size) return false;
        for (std::size_t k = 0; k < operands.size(); ++k) {
          const std::size_t first = k - k % static_cast<std::size_t>(together);
          if (owner[static_cast<std::size_t>(operands[k])] !=
              owner[static_cast<std::size_t>(operands[first])])
            return false;
        }
        return true;
      });
    };
    std::int64_t together = size;
    while (!of_one_each(together)) {
      if (together <= 2 || together % 2) return 1;
      together /= 2;
    }
    return together;
  }
  // Calls f for each device, along the collective's axes, from which device `me` receives data.
  template <class F>
  static void for_sources(const Collective& c, std::int64_t me, const F& f) {
    if (c.exchange == Exchange::permute || c.exchange == Exchange::broadcast) {
      if (const std::int64_t d = c.source.at(me); d >= 0) f(d);
      return;
    }
    const int group = c.group_of(me);
    for (std::int64_t k = 0; k < c.members(group); ++k) f(c.member(group, k));
  }
  std::int64_t laid_by(const Collective& c, std::vector<std::int64_t> at,
                       std::int64_t device) const {
    for (std::size_t i = c.axes.size(); i-- > 0; device /= c.sizes[i])
      at[static_cast<std::size_t>(c.axes[i])] = device % c.sizes[i];
    return instance(c.laid, at);
  }
  static std::int64_t device(const Collective& c, const std::vector<std::int64_t>& at) {
    std::int64_t number = 0;
    for (std::size_t k = 0; k < c.axes.size(); ++k)
      number = number * c.sizes[k] + at[static_cast<std::size_t>(c.axes[k])];
    return number;
  }
  std::int64_t instance(Mask mask, const std::vector<std::int64_t>& at) const {
    std::int64_t number = 0;
    for (std::size_t a = 0; a < tape_.axes.size(); ++a)
      if (mask >> a & 1) number = number * tape_.axes[a].size + at[a];
    return number;
  }
  std::vector<std::int64_t> coordinates(Mask mask, std::int64_t number) const {
    std::vector<std::int64_t> at(tape_.axes.size());
    for (std::size_t a = tape_.axes.size(); a-- > 0;)
      if (mask >> a & 1) {
        at[a] = number % tape_.axes[a].size;
        number /= tape_.axes[a].size;
      }
    return at;
  }

  const TapeContext& ctx_;
  Tape& tape_;
  const Mask fixed_;
  Processes processes_;
};

}  // namespace

void share_out(const TapeContext& ctx, DraftTape& draft) { SharingOut(ctx, draft).run(); }

}  // namespace tessera::inline v0::tape

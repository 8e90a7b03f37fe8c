#include "codegen/tape/native.h"

#include "base/message.h"
#include "codegen/kernel/kernel.h"
#include "codegen/kernel/kernel_schedule.h"
#include "codegen/nest/nest.h"
#include "codegen/tape/schedule.h"
#include "transform/pass.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <utility>

namespace tessera::inline v0::tape {
namespace {

using codegen::Nest;
using codegen::NestBlock;
using codegen::NestBranch;
using codegen::NestLoop;
using codegen::NestStep;

// A function may use this much memory of its thread's stack.
constexpr std::int64_t kMostBytes = 64 << 10;
// Larger nests take long to compile, and the work of their steps outweighs the executor's cost per
// step.
constexpr int kMostSteps = 128;
constexpr double kMostSecondsOfBody = 5e-6;

// The steps in the draft's order, except that a step that overwrites a value comes after the
// value's readers.
std::vector<std::size_t> order_of(const DraftTape& draft) {
  const StepGraph graph(draft);
  const std::size_t n = draft.steps.size();
  std::vector<std::size_t> waits(n), order;
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < n; ++i) {
    waits[i] = graph.before[i].size();
    if (waits[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (const StepNumber next : graph.users[i])
      if (--waits[next] == 0) ready.push(next);
  }
  if (order.size() != n) throw InternalError("the steps of a body wait for each other");
  return order;
}

// Steps by the place where they are.
using At = std::pair<const DraftTape*, std::size_t>;

class NestMaker {
 public:
  explicit NestMaker(TapeContext& ctx) : ctx_(ctx) {
    for (PendingKernel& k : ctx.kernels) kernels_[{k.draft, k.step}] = &k;
    for (const PendingUpdate& u : ctx.updates) updates_[{u.draft, u.step}] = &u;
  }

  struct Made {
    Nest nest;
    std::vector<std::shared_ptr<const Tape>> bodies;
    std::vector<DraftTape*> drafts;
  };
  std::optional<Made> make(const Step& step) {
    made_ = {};
    bytes_ = 0;
    steps_ = 0;
    std::optional<NestLoop> loop = loop_of(step);
    if (!loop || bytes_ > kMostBytes) return std::nullopt;
    made_.nest.name = step.name;
    made_.nest.loop = std::move(*loop);
    made_.nest.inputs = step.inputs.size();
    made_.nest.outputs = step.outputs.size();
    return std::move(made_);
  }

 private:
  // The buffers of a block, numbered in the order in which its steps use them.
  class Buffers {
   public:
    Buffers(const Tape& tape, NestBlock& block)
        : tape_(tape), block_(block), number_(tape.slots.size(), -1) {}

    int of(int slot) {
      const auto place = static_cast<std::size_t>(tape_.place(slot));
      int& n = number_[place];
      if (n >= 0) return n;
      n = static_cast<int>(block_.buffers.size());
      const Slot& s = tape_.slots[place];
      codegen::NestBuffer& b = block_.buffers.emplace_back();
      b.bytes = s.bytes;
      if (s.space == Space::constant)
        b.contents.assign(reinterpret_cast<const char*>(tape_.constants.data()) + s.offset,
                          static_cast<std::size_t>(s.bytes));
      return n;
    }
    // Memory of the function itself.
    std::int64_t own_bytes() const {
      std::int64_t bytes = 0;
      for (std::size_t i = 0; i < number_.size(); ++i)
        if (number_[i] >= 0 && tape_.slots[i].space != Space::argument &&
            tape_.slots[i].space != Space::result)
          bytes += tape_.slots[i].bytes;
      return bytes;
    }
    // The spot of a ref of a body, if all devices have the same one.
    std::optional<codegen::Spot> spot(const Ref& r) {
      const Slot& s = tape_.slots[static_cast<std::size_t>(r.slot)];
      if (s.mask != 0 || s.stored || !r.cut.empty() || r.absorbed || r.instance) return {};
      return codegen::Spot{of(r.slot), r.offset};
    }

   private:
    const Tape& tape_;
    NestBlock& block_;
    std::vector<int> number_;
  };

  std::optional<std::vector<NestBlock>> blocks_of(const ControlStep& control) {
    std::vector<NestBlock> blocks;
    for (const auto& body : control.bodies) {
      const auto draft = ctx_.draft_of.find(body.get());
      if (draft == ctx_.draft_of.end()) return {};
      made_.bodies.push_back(body);
      made_.drafts.push_back(draft->second);
      std::optional<NestBlock> block = block_of(*draft->second);
      if (!block) return {};
      blocks.push_back(std::move(*block));
    }
    return blocks;
  }

  std::optional<NestBlock> block_of(const DraftTape& draft) {
    if (std::ssize(draft.steps) > kMostSteps) return {};
    const Tape& tape = *draft.tape;
    NestBlock block;
    Buffers buffers(tape, block);
    for (const Argument& a : tape.arguments) {
      if (tape.slots[static_cast<std::size_t>(a.slot)].mask != 0) return {};
      block.arguments.push_back(buffers.of(a.slot));
    }
    for (const Result& r : tape.results) {
      if (r.slot >= 0 && tape.slots[static_cast<std::size_t>(r.slot)].mask != 0) return {};
      block.results.push_back(r.slot < 0 ? -1 : buffers.of(r.slot));
    }
    double seconds = 0;
    for (const std::size_t i : order_of(draft)) {
      const Step& step = draft.steps[i];
      if (step.mask != 0 || step.inner != 0 || ++steps_ > kMostSteps) return {};
      NestStep made;
      for (const auto& [refs, spots] :
           {std::pair(&step.inputs, &made.inputs), std::pair(&step.outputs, &made.outputs)})
        for (const Ref& r : *refs) {
          const std::optional<codegen::Spot> spot = buffers.spot(r);
          if (!spot) return {};
          spots->push_back(*spot);
        }
      const bool fits =
          std::visit(Overloaded{[&](const RoutineStep&) {
                                  return take_routine({&draft, i}, made, seconds);
                                },
                                [&](const CopyStep& s) {
                                  made.kind = codegen::NestCopy{s.box.bytes()};
                                  return s.box.lines() <= 1;
                                },
                                [&](const ScanStep&) { return take(loop_of(step), made); },
                                [&](const WhileStep&) { return take(loop_of(step), made); },
                                [&](const CondStep& s) { return take(branch_of(step, s), made); },
                                [](const EvaluateStep&) { return false; },
                                [](const CollectiveStep&) { return false; }},
                     step.kind);
      if (!fits) return {};
      block.steps.push_back(std::move(made));
    }
    bytes_ += buffers.own_bytes();
    if (seconds > kMostSecondsOfBody) return {};
    return block;
  }

  template <class Kind>
  static bool take(std::optional<Kind> kind, NestStep& made) {
    if (kind) made.kind = std::move(*kind);
    return kind.has_value();
  }

  // A kernel or an in-place update.
  bool take_routine(const At& at, NestStep& made, double& seconds) {
    if (const auto update = updates_.find(at); update != updates_.end()) {
      made.kind = codegen::NestUpdate{update->second->program};
      seconds += update->second->seconds;
      return true;
    }
    const auto found = kernels_.find(at);
    if (found == kernels_.end()) return false;
    PendingKernel& k = *found->second;
    if (!k.planned) {
      const codegen::KernelSchedule schedule = codegen::schedule_kernel(*k.program);
      k.planned = codegen::planned_kernel(*k.program, schedule);
      codegen::dump_loops(*k.program, schedule);
    }
    const bool one_task = std::all_of(k.planned->stages.begin(), k.planned->stages.end(),
                                      [](const Stage& s) { return s.tasks <= 1; });
    if (!one_task) return false;
    made.kind = codegen::NestKernel{k.program};
    seconds += k.planned->seconds;
    bytes_ += static_cast<std::int64_t>(k.planned->scratch_bytes);
    return true;
  }

  std::optional<NestLoop> loop_of(const Step& step) {
    if (step.inner != 0) return {};
    return std::visit(Overloaded{[&](const ScanStep& s) -> std::optional<NestLoop> {
                                   if (s.length == 0) return {};
                                   std::optional<NestLoop> loop = loop_with(s);
                                   if (!loop) return {};
                                   loop->length = s.length;
                                   loop->reverse = s.reverse;
                                   loop->rows = s.rows;
                                   return loop;
                                 },
                                 [&](const WhileStep& s) -> std::optional<NestLoop> {
                                   std::optional<NestLoop> loop = loop_with(s);
                                   if (loop) loop->cond_consts = s.cond_consts;
                                   return loop;
                                 },
                                 [](const auto&) { return std::optional<NestLoop>(); }},
                      step.kind);
  }

  std::optional<NestLoop> loop_with(const LoopStep& s) {
    std::optional<std::vector<NestBlock>> blocks = blocks_of(s);
    if (!blocks) return {};
    NestLoop loop;
    loop.blocks = std::move(*blocks);
    loop.consts = s.consts;
    loop.carries = s.carries;
    loop.kept = s.kept;
    for (std::size_t k = 0; k < s.carries; ++k) loop.tied.push_back(s.tied_input(k));
    // A carry needs two buffers.
    for (std::size_t k = 0; k < s.carries; ++k) {
      const NestBlock& body = loop.blocks.back();
      const int argument = body.arguments[s.consts + k];
      if (!s.kept[k] && loop.tied[k] < 0)
        bytes_ += 2 * body.buffers[static_cast<std::size_t>(argument)].bytes;
    }
    return loop;
  }

  std::optional<NestBranch> branch_of(const Step& step, const CondStep& s) {
    std::optional<std::vector<NestBlock>> blocks = blocks_of(s);
    if (!blocks) return {};
    NestBranch branch;
    branch.blocks = std::move(*blocks);
    branch.operands = step.inputs.size() - 1 - s.hidden;
    for (std::size_t k = 0; k < step.outputs.size(); ++k) branch.tied.push_back(s.tied_input(k));
    return branch;
  }

  TapeContext& ctx_;
  std::map<At, PendingKernel*> kernels_;
  std::map<At, const PendingUpdate*> updates_;
  Made made_;
  std::int64_t bytes_ = 0;  // of the function's own memory
  int steps_ = 0;
};

bool is_loop(const Step& step) {
  return std::holds_alternative<ScanStep>(step.kind) ||
         std::holds_alternative<WhileStep>(step.kind);
}

std::string nests_text(const std::vector<NativeLoop>& loops) {
  std::string text;
  for (const NativeLoop& l : loops)
    text += l.nest.name + ": " + std::to_string(l.bodies.size()) + " bodies\n";
  return text;
}

}  // namespace

std::vector<NativeLoop> find_native_loops(TapeContext& ctx, const Program& p) {
  std::vector<NativeLoop> found;
  if (ctx.options.evaluate) return found;
  PassRun run("nests", p);
  if (run.off()) return found;
  NestMaker maker(ctx);
  // The draft of a body comes after that of its owner, so the outermost loops are found first.
  for (DraftTape& draft : ctx.drafts) {
    if (draft.native) continue;
    for (std::size_t i = 0; i < draft.steps.size(); ++i) {
      if (!is_loop(draft.steps[i])) continue;
      std::optional<NestMaker::Made> made = maker.make(draft.steps[i]);
      if (!made) continue;
      for (DraftTape* body : made->drafts) body->native = true;
      found.push_back({&draft, i, std::move(made->nest), std::move(made->bodies)});
    }
  }
  run.gave([&] { return found.empty() ? to_string(p) : nests_text(found); });
  return found;
}

void compile_native_loops(std::vector<NativeLoop> loops) {
  if (loops.empty()) return;
  std::vector<Nest> nests;
  for (NativeLoop& l : loops) nests.push_back(std::move(l.nest));
  const std::vector<std::shared_ptr<const Routine>> routines = codegen::compile_nests(nests);
  for (std::size_t i = 0; i < routines.size(); ++i) {
    const NativeLoop& l = loops[i];
    const auto unused = [&](const Ref& r) {
      l.draft->tape->slots[static_cast<std::size_t>(r.slot)].bytes = 0;
    };
    const auto set = [&](LoopStep& s) {
      s.native = Native{routines[i], l.bodies};
      // The function has the second buffers itself.
      for (const Ref& r : s.spare) unused(r);
    };
    Step& step = l.draft->steps[l.step];
    std::visit(Overloaded{[&](ScanStep& s) { set(s); },
                          [&](WhileStep& s) {
                            set(s);
                            unused(s.flag);
                          },
                          [](auto&) {}},
               step.kind);
  }
}

}  // namespace tessera::inline v0::tape

#include "codegen/tape/panels.h"

#include "base/machine.h"
#include "codegen/kernel/kernel.h"
#include "codegen/tape/schedule.h"
#include "transform/pass.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace tessera::inline v0::tape {

namespace {

constexpr std::size_t kMostStepsBetween = 8;

class PanelFinder {
 public:
  explicit PanelFinder(TapeContext& ctx) {
    for (const PendingKernel& k : ctx.kernels)
      if (!k.draft->native) kernels_[k.draft][k.step] = k.program;
  }

  void find(DraftTape& draft, std::vector<PanelChain>& found) {
    const auto kernels = kernels_.find(&draft);
    if (kernels == kernels_.end()) return;
    const bool any = std::any_of(draft.steps.begin(), draft.steps.end(),
                                 [](const Step& s) { return routine_in_panels(s) != nullptr; });
    if (!any) return;
    const StepGraph graph(draft);
    draft_ = &draft, graph_ = &graph, programs_ = &kernels->second;
    readers_.assign(draft.tape->slots.size(), {});
    for (std::size_t i = 0; i < draft.steps.size(); ++i)
      for_each_ref(draft.steps[i], [&](const Ref& r) {
        if (r.slot >= 0) readers_[static_cast<std::size_t>(r.slot)].push_back(i);
      });
    at_.resize(draft.steps.size());
    for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = i;
    joined_.assign(draft.steps.size(), false);
    for (const auto& [step, program] : kernels->second) {
      if (joined_[step]) continue;
      // The last operand that can be made in panels: the others are complete before it.
      PanelChain best;
      for (const Ref& r : draft.steps[step].inputs) {
        const int producer = draft.producer[static_cast<std::size_t>(r.slot)];
        if (producer < 0 || (best.panels && static_cast<std::size_t>(producer) <= best.maker))
          continue;
        PanelChain chain;
        if (begin(chain, static_cast<std::size_t>(producer)) && join(chain, step))
          best = std::move(chain);
      }
      if (!best.panels) continue;
      extend(best);
      put_in_order(best);
      for (PanelValue& v : best.values)
        v.stored = slot(v.slot).space != Space::arena ||
                   std::any_of(readers(v.slot).begin(), readers(v.slot).end(),
                               [&](std::size_t i) { return !best.has(i); });
      joined_[best.maker] = true;
      at_[best.maker] = best.at;
      for (const PanelMember& m : best.members)
        for (const std::size_t i : {m.step, m.order.value_or(m.step)})
          joined_[i] = true, at_[i] = best.at;
      found.push_back(std::move(best));
    }
  }

 private:
  static const Routine* routine_in_panels(const Step& s) {
    const auto* work = std::get_if<RoutineStep>(&s.kind);
    return work && work->routine && work->routine->in_panels ? work->routine.get() : nullptr;
  }

  bool begin(PanelChain& chain, std::size_t maker) const {
    const Step& step = draft_->steps[maker];
    const Routine* routine = routine_in_panels(step);
    if (!routine || joined_[maker] || step.outputs.size() != 1) return false;
    const Type& made = std::get<RoutineStep>(step.kind).output_types[0];
    if (made.bytes() < machine::kLeastPanelResult || !in_its_place(step.outputs[0], step))
      return false;
    chain.draft = draft_;
    chain.maker = maker;
    chain.panels = routine->in_panels();
    chain.form = {chain.panels->columns, chain.panels->column_block};
    if (chain.panels->rows * chain.panels->columns != made.shape.count()) return false;
    add_value(chain, step.outputs[0], made);
    return true;
  }

  // Later steps join as well, as long as each reads a value that the chain computes.
  void extend(PanelChain& chain) const {
    constexpr std::size_t kMostMembers = 8;
    for (std::size_t v = 0; v < chain.values.size(); ++v) {
      const std::vector<std::size_t> users = readers(chain.values[v].slot);
      for (const std::size_t i : users)
        if (chain.members.size() < kMostMembers && i > chain.members.back().step && !joined_[i])
          join(chain, i);
    }
  }

  // Readers write their results in the order of dimensions that the kernel after them would
  // produce.
  void put_in_order(PanelChain& chain) const {
    for (std::size_t k = 0; k < chain.members.size(); ++k) {
      if (!chain.members[k].reader) continue;
      const std::size_t i = chain.members[k].step;
      const Step& step = draft_->steps[i];
      const int made = step.outputs[0].slot;
      const std::vector<std::size_t>& users = readers(made);  // the step itself, too
      if (slot(made).space != Space::arena || users.size() != 2) continue;
      const std::size_t behind = users[0] == i ? users[1] : users[0];
      const auto program = programs_->find(behind);
      const Step& order = draft_->steps[behind];
      if (program == programs_->end() || joined_[behind] || order.mask != step.mask ||
          order.inputs.size() != 1 || order.outputs.size() != 1 || !plain(order.inputs[0]) ||
          !in_its_place(order.outputs[0], order))
        continue;
      const std::optional<std::vector<std::int64_t>> strides =
          codegen::permuted_strides(*program->second);
      const auto& work = std::get<RoutineStep>(step.kind);
      if (!strides ||
          program->second->type(program->second->inputs[0]).shape != work.output_types[0].shape)
        continue;
      PanelChain longer = chain;
      PanelMember& member = longer.members[k];
      member.order = behind;
      member.reader = work.routine->reads_panels(operand_of(chain, step), *chain.panels, *strides);
      if (member.reader && !overwrites(longer, behind) && place(longer)) chain = std::move(longer);
    }
  }

  // The first input that the chain computes.
  static std::size_t operand_of(const PanelChain& chain, const Step& step) {
    std::size_t k = 0;
    while (!chain.value(step.inputs[k].slot)) ++k;
    return k;
  }

  // Adds a step that reads a value of the chain, if it can run on panels.
  bool join(PanelChain& chain, std::size_t i) const {
    const Step& step = draft_->steps[i];
    const auto* work = std::get_if<RoutineStep>(&step.kind);
    if (!work || i <= chain.maker || step.mask != draft_->steps[chain.maker].mask) return false;
    PanelChain longer = chain;
    longer.members.push_back({i, nullptr});
    const auto program = programs_->find(i);
    if (program != programs_->end() ? !kernel_fits(longer, step, program->second)
                                    : !reader_fits(longer, step, *work))
      return false;
    if (overwrites(longer, i) || !place(longer)) return false;
    chain = std::move(longer);
    return true;
  }

  bool kernel_fits(PanelChain& chain, const Step& step, const ProgramPtr& program) const {
    const std::int64_t rows = chain.panels->rows, count = rows * chain.panels->columns;
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      const PanelValue* v = chain.value(step.inputs[k].slot);
      if (!v) continue;
      const Type& read = program->type(program->inputs[k]);
      if (!read_once(step, k) || size_of(read.dtype) != v->element_bytes ||
          read.shape.count() != (v->whole ? count : rows) ||
          !codegen::runs_on_panels(program, k, chain.form))
        return false;
    }
    const auto& types = std::get<RoutineStep>(step.kind).output_types;
    for (std::size_t k = 0; k < step.outputs.size(); ++k) {
      const std::int64_t n = types[k].shape.count();
      const bool of_rows = n == rows && chain.form.whole_rows();
      if ((n != count && !of_rows) || !in_its_place(step.outputs[k], step)) return false;
    }
    for (std::size_t k = 0; k < step.outputs.size(); ++k)
      add_value(chain, step.outputs[k], types[k]);
    return true;
  }

  bool reader_fits(PanelChain& chain, const Step& step, const RoutineStep& work) const {
    if (!work.routine || !work.routine->reads_panels || step.outputs.size() != 1) return false;
    const std::size_t operand = operand_of(chain, step);
    if (std::count_if(step.inputs.begin(), step.inputs.end(),
                      [&](const Ref& r) { return chain.value(r.slot) != nullptr; }) != 1)
      return false;
    const PanelValue* v = chain.value(step.inputs[operand].slot);
    const Type& read = work.input_types[operand];
    if (!v->whole || !read_once(step, operand) || size_of(read.dtype) != v->element_bytes ||
        read.shape.count() != chain.panels->rows * chain.panels->columns ||
        !in_its_place(step.outputs[0], step))
      return false;
    // If the result is not much smaller than the rows, storing the rows costs little compared to
    // the product, and the product should rather be fused with its own epilogue.
    if (2 * work.output_types[0].bytes() > read.bytes()) return false;
    chain.members.back().reader = work.routine->reads_panels(operand, *chain.panels, {});
    return chain.members.back().reader != nullptr;
  }

  void add_value(PanelChain& chain, const Ref& r, const Type& type) const {
    const std::int64_t rows = chain.panels->rows, element = size_of(type.dtype);
    const bool whole = type.shape.count() == rows * chain.panels->columns;
    chain.values.push_back({r.slot, element * (whole ? chain.panels->columns : 1), element, whole});
  }

  static bool plain(const Ref& r) {
    return r.offset == 0 && r.cut.empty() && r.absorbed == 0 && !r.one;
  }
  bool in_its_place(const Ref& r, const Step& step) const {
    const Slot& s = slot(r.slot);
    return plain(r) && s.mask == step.mask && s.over < 0 && !s.overwritten;
  }
  static bool read_once(const Step& step, std::size_t input) {
    const Ref& r = step.inputs[input];
    return plain(r) && std::count_if(step.inputs.begin(), step.inputs.end(),
                                     [&](const Ref& x) { return x.slot == r.slot; }) == 1;
  }

  // Whether a step of the chain overwrites a value that another one reads, so that the reader has
  // to be complete first.
  bool overwrites(const PanelChain& chain, std::size_t added) const {
    const Tape& tape = *draft_->tape;
    const auto over = [&](std::size_t writer, std::size_t reader) {
      if (writer == reader) return false;
      for (const Ref& out : draft_->steps[writer].outputs)
        for (const Ref& in : draft_->steps[reader].inputs)
          if (in.slot != out.slot && tape.place(out.slot) == tape.place(in.slot)) return true;
      return false;
    };
    if (over(added, chain.maker) || over(chain.maker, added)) return true;
    return std::any_of(chain.members.begin(), chain.members.end(), [&](const PanelMember& m) {
      return over(added, m.step) || over(m.step, added);
    });
  }

  // Decides where the fused step runs. All dependencies of its steps must come before it, and all
  // their readers after it. The values that they read should not stay alive for longer than before.
  // A value that was dead after a kernel should still be, so that results can take its memory.
  bool place(PanelChain& chain) const {
    std::vector<std::size_t> steps{chain.maker};
    for (const PanelMember& m : chain.members) {
      steps.push_back(m.step);
      if (m.order) steps.push_back(*m.order);
    }
    std::sort(steps.begin(), steps.end());
    const auto possible = [&](std::size_t at) {
      return std::all_of(steps.begin(), steps.end(), [&](std::size_t s) {
        const std::vector<StepNumber>&before = graph_->before[s], &users = graph_->users[s];
        return std::all_of(before.begin(), before.end(),
                           [&](std::size_t i) { return chain.has(i) || at_[i] < at; }) &&
               std::all_of(users.begin(), users.end(),
                           [&](std::size_t i) { return chain.has(i) || at_[i] > at; });
      });
    };
    const auto read_between = [&](const PanelMember& m) {
      const Step& step = draft_->steps[m.step];
      const auto between = [&](std::size_t i) {
        return !chain.has(i) && at_[i] > chain.maker && at_[i] < m.step;
      };
      return !m.reader && std::any_of(step.inputs.begin(), step.inputs.end(), [&](const Ref& r) {
        return !chain.value(r.slot) &&
               std::any_of(readers(r.slot).begin(), readers(r.slot).end(), between);
      });
    };
    chain.at = chain.maker;
    if (possible(chain.at) &&
        std::none_of(chain.members.begin(), chain.members.end(), read_between))
      return true;
    if (steps.back() - chain.maker > kMostStepsBetween) return false;
    for (std::size_t k = 1; k < steps.size(); ++k)
      if (possible(chain.at = steps[k])) return true;
    return false;
  }

  const Slot& slot(int i) const { return draft_->tape->slots[static_cast<std::size_t>(i)]; }
  const std::vector<std::size_t>& readers(int slot) const {
    return readers_[static_cast<std::size_t>(slot)];
  }

  std::map<DraftTape*, std::map<std::size_t, ProgramPtr>> kernels_;
  // These belong to the draft at hand.
  DraftTape* draft_ = nullptr;
  const StepGraph* graph_ = nullptr;
  const std::map<std::size_t, ProgramPtr>* programs_ = nullptr;  // of its kernels
  std::vector<std::vector<std::size_t>> readers_;  // by slot; the steps that write it, too
  std::vector<std::size_t> at_;                    // by step: the step where it runs
  std::vector<bool> joined_;                       // by step
};

}  // namespace

bool PanelChain::has(std::size_t step) const {
  return step == maker || std::any_of(members.begin(), members.end(), [&](const PanelMember& m) {
           return m.step == step || m.order == step;
         });
}

const PanelValue* PanelChain::value(int slot) const {
  const auto it = std::find_if(values.begin(), values.end(),
                               [&](const PanelValue& v) { return v.slot == slot; });
  return it == values.end() ? nullptr : &*it;
}

std::vector<PanelChain> find_panels(TapeContext& ctx, const Program& p) {
  std::vector<PanelChain> found;
  if (ctx.options.evaluate) return found;
  PassRun run("panels", p);
  if (run.off()) return found;
  PanelFinder finder(ctx);
  for (DraftTape& draft : ctx.drafts) {
    if (draft.native) continue;
    finder.find(draft, found);
  }
  // A kernel that only permutes a result needs no code.
  std::erase_if(ctx.kernels, [&](const PendingKernel& k) {
    return std::any_of(found.begin(), found.end(), [&](const PanelChain& chain) {
      return chain.draft == k.draft &&
             std::any_of(chain.members.begin(), chain.members.end(),
                         [&](const PanelMember& m) { return m.order == k.step; });
    });
  });
  run.gave([&] {
    std::string text;
    for (const PanelChain& chain : found) {
      text += chain.draft->steps[chain.maker].name;
      for (const PanelMember& m : chain.members) text += " and " + chain.draft->steps[m.step].name;
      text += "\n";
    }
    return text;
  });
  return found;
}

}  // namespace tessera::inline v0::tape

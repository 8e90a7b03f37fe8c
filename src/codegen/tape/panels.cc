#include "codegen/tape/panels.h"

#include "base/machine.h"
#include "base/thread_kept.h"
#include "codegen/kernel/kernel.h"
#include "codegen/tape/schedule.h"
#include "transform/pass.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace tessera::inline v0::tape {

namespace {

constexpr std::size_t kMostStepsBetween = 8;

// Memory of this thread for a panel of a result that is not stored.
std::byte* panel_memory(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  thread_local const ThreadKept<std::vector<std::byte>> kept;
  if (kept->size() < bytes + kLine) kept->resize(bytes + kLine);
  const auto at = reinterpret_cast<std::uintptr_t>(kept->data());
  return reinterpret_cast<std::byte*>((at + kLine - 1) / kLine * kLine);
}

class PanelFinder {
 public:
  explicit PanelFinder(TapeContext& ctx) {
    for (const PendingKernel& k : ctx.kernels)
      if (!k.draft->native) kernels_[k.draft][k.step] = k.program;
  }

  void find(DraftTape& draft, std::vector<PanelPair>& found) {
    const auto kernels = kernels_.find(&draft);
    if (kernels == kernels_.end()) return;
    const bool any = std::any_of(draft.steps.begin(), draft.steps.end(),
                                 [](const Step& s) { return routine_in_panels(s) != nullptr; });
    if (!any) return;
    const StepGraph graph(draft);
    readers_.assign(draft.tape->slots.size(), {});
    for (std::size_t i = 0; i < draft.steps.size(); ++i)
      for_each_ref(draft.steps[i], [&](const Ref& r) {
        if (r.slot >= 0) readers_[static_cast<std::size_t>(r.slot)].push_back(i);
      });
    at_.resize(draft.steps.size());
    for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = i;
    joined_.assign(draft.steps.size(), false);
    for (const auto& [step, program] : kernels->second) {
      // The last operand that can be made in panels: the others are complete before it.
      PanelPair best;
      for (std::size_t i = 0; i < draft.steps[step].inputs.size(); ++i) {
        PanelPair pair;
        pair.draft = &draft;
        pair.kernel = step;
        pair.operand = i;
        if (fits(pair, program, graph) && (!best.panels || pair.maker > best.maker))
          best = std::move(pair);
      }
      if (!best.panels) continue;
      joined_[best.maker] = true;
      at_[best.maker] = at_[best.kernel] = best.first ? best.maker : best.kernel;
      found.push_back(std::move(best));
    }
  }

 private:
  static const Routine* routine_in_panels(const Step& s) {
    const auto* work = std::get_if<RoutineStep>(&s.kind);
    return work && work->routine && work->routine->in_panels ? work->routine.get() : nullptr;
  }

  bool fits(PanelPair& pair, const ProgramPtr& program, const StepGraph& graph) const {
    DraftTape& draft = *pair.draft;
    const Tape& tape = *draft.tape;
    const Step& kernel = draft.steps[pair.kernel];
    const Ref& r = kernel.inputs[pair.operand];
    const int producer = draft.producer[static_cast<std::size_t>(r.slot)];
    if (producer < 0 || static_cast<std::size_t>(producer) >= pair.kernel) return false;
    pair.maker = static_cast<std::size_t>(producer);
    if (joined_[pair.maker]) return false;  // with another kernel
    const Step& maker = draft.steps[pair.maker];
    const Routine* routine = routine_in_panels(maker);
    if (!routine || maker.mask != kernel.mask || maker.outputs.size() != 1) return false;
    const Slot& slot = tape.slots[static_cast<std::size_t>(r.slot)];
    const auto plain = [](const Ref& ref) {
      return ref.offset == 0 && ref.cut.empty() && ref.absorbed == 0 && !ref.one;
    };
    if (!plain(r) || slot.mask != maker.mask || slot.over >= 0 || slot.overwritten) return false;
    if (std::count_if(kernel.inputs.begin(), kernel.inputs.end(),
                      [&](const Ref& x) { return x.slot == r.slot; }) != 1)
      return false;
    const Type& made = std::get<RoutineStep>(maker.kind).output_types[0];
    const Type& read = program->type(program->inputs[pair.operand]);
    if (made.dtype != read.dtype || made.shape.count() != read.shape.count()) return false;
    if (made.bytes() < machine::kLeastPanelResult) return false;
    pair.stored = slot.space != Space::arena ||
                  std::any_of(readers(r.slot).begin(), readers(r.slot).end(),
                              [&](std::size_t i) { return i != pair.maker && i != pair.kernel; });
    // A kernel that overwrites what the routine reads runs when the routine is complete.
    for (const Ref& out : kernel.outputs)
      for (const Ref& in : maker.inputs)
        if (tape.place(out.slot) == tape.place(in.slot)) return false;
    if (!place(pair, graph)) return false;
    pair.panels = routine->in_panels();
    pair.form = {pair.panels->columns, pair.panels->column_block};
    if (pair.panels->rows * pair.panels->columns == made.shape.count() &&
        codegen::runs_on_panels(program, pair.operand, pair.form))
      return true;
    pair.panels = nullptr;
    return false;
  }

  // Decides where the joint step runs. All that the two steps wait for must be before it, and all
  // that waits for them behind it. What they read should not be needed for longer than before, and
  // remain dead behind the kernel where it was, so that results can take its memory.
  bool place(PanelPair& pair, const StepGraph& graph) const {
    const DraftTape& draft = *pair.draft;
    const auto between = [&](std::size_t i) { return at_[i] > pair.maker && at_[i] < pair.kernel; };
    const std::vector<StepNumber>&before = graph.before[pair.kernel],
          &after = graph.users[pair.maker];
    const auto read_between = [&](const Ref& r) {
      return std::any_of(readers(r.slot).begin(), readers(r.slot).end(), between);
    };
    const Step& kernel = draft.steps[pair.kernel];
    pair.first = std::none_of(before.begin(), before.end(), between) &&
                 std::none_of(kernel.inputs.begin(), kernel.inputs.end(), read_between);
    return pair.first || (pair.kernel - pair.maker <= kMostStepsBetween &&
                          std::none_of(after.begin(), after.end(), between));
  }

  const std::vector<std::size_t>& readers(int slot) const {
    return readers_[static_cast<std::size_t>(slot)];
  }

  std::map<DraftTape*, std::map<std::size_t, ProgramPtr>> kernels_;
  std::vector<std::vector<std::size_t>> readers_;  // by slot; the steps that write it, too
  std::vector<std::size_t> at_;                    // by step: the step where it runs
  std::vector<bool> joined_;                       // by step
};

// The routine of a joint step. Its operands are those of the maker and the others of the kernel,
// and its results are those of the kernel and, if it is stored, that of the maker.
std::shared_ptr<const Routine> joint_routine(const PanelPair& pair, const Routine& maker,
                                             const std::shared_ptr<const Routine>& kernel,
                                             std::size_t maker_inputs, std::size_t kernel_inputs,
                                             std::size_t kernel_outputs, std::int64_t size) {
  auto joint = std::make_shared<Routine>();
  joint->name = maker.name + "+" + kernel->name;
  joint->stages = pair.panels->before;
  joint->scratch_bytes = pair.panels->scratch_bytes;
  joint->bytes = maker.bytes + kernel->bytes;
  joint->library = maker.library || kernel->library;
  joint->seconds = maker.seconds + kernel->seconds;
  for (const auto& [in, out] : kernel->in_place) {
    const auto i = static_cast<std::size_t>(in);
    if (i != pair.operand)
      joint->in_place.emplace_back(static_cast<int>(maker_inputs + i - (i > pair.operand ? 1 : 0)),
                                   out);
  }
  Stage stage;
  stage.tasks = pair.panels->tasks;
  stage.run = [panels = pair.panels, kernel, maker_inputs, kernel_inputs, kernel_outputs, size,
               operand = pair.operand, stored = pair.stored](const RoutineArgs& args,
                                                             std::int64_t begin, std::int64_t end) {
    InlineVector<const void*, 16> in;
    for (std::size_t i = 0; i < kernel_inputs; ++i)
      in.push_back(i == operand ? nullptr : args.inputs[maker_inputs + i - (i > operand ? 1 : 0)]);
    const auto offset = [&](const Panel& p) { return (p.row * panels->columns + p.column) * size; };
    const PanelMaker::Place place = [&](const Panel& p) -> void* {
      if (stored) {
        in[operand] = args.outputs[kernel_outputs];
        return static_cast<std::byte*>(args.outputs[kernel_outputs]) + offset(p);
      }
      std::byte* const at =
          panel_memory(static_cast<std::size_t>(((p.m - 1) * panels->columns + p.n) * size));
      // Where the whole result would begin.
      in[operand] = reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(at) -
                                                  static_cast<std::uintptr_t>(offset(p)));
      return at;
    };
    const PanelMaker::Made made = [&](const Panel& p) {
      kernel->run_panel({in.data(), args.outputs, nullptr}, p);
    };
    for (std::int64_t task = begin; task < end; ++task) panels->run(args, task, place, made);
  };
  joint->stages.push_back(std::move(stage));
  if (maker.operand_form) {
    joint->form_operand = maker.form_operand;
    joint->operand_form = [=, form_of = maker.operand_form] {
      auto form = std::make_shared<OperandForm>(*form_of());
      PanelPair with_form = pair;
      with_form.panels = form->reader->in_panels();
      form->reader = joint_routine(with_form, *form->reader, kernel, maker_inputs, kernel_inputs,
                                   kernel_outputs, size);
      return form;
    };
  }
  return joint;
}

Step joint_step(const PanelPair& pair) {
  const Step& maker = pair.draft->steps[pair.maker];
  const Step& kernel = pair.draft->steps[pair.kernel];
  const auto& maker_kind = std::get<RoutineStep>(maker.kind);
  const auto& kernel_kind = std::get<RoutineStep>(kernel.kind);
  const Type& made = maker_kind.output_types[0];
  RoutineStep kind;
  Step step = maker;
  step.outputs = kernel.outputs;
  kind.input_types = maker_kind.input_types;
  kind.output_types = kernel_kind.output_types;
  for (std::size_t i = 0; i < kernel.inputs.size(); ++i) {
    if (i == pair.operand) continue;
    step.inputs.push_back(kernel.inputs[i]);
    kind.input_types.push_back(kernel_kind.input_types[i]);
  }
  if (pair.stored) {
    step.outputs.push_back(maker.outputs[0]);
    kind.output_types.push_back(made);
  }
  kind.routine = joint_routine(pair, *maker_kind.routine, kernel_kind.routine, maker.inputs.size(),
                               kernel.inputs.size(), kernel.outputs.size(), size_of(made.dtype));
  step.seconds = kind.routine->seconds;
  step.name = maker.name + "+" + kernel_kind.routine->name;
  // What is stored is written once and not read; what is not stored is neither.
  step.work = {maker.work.flops + kernel.work.flops,
               std::max(0.0, maker.work.bytes + kernel.work.bytes -
                                 (pair.stored ? 1 : 2) * static_cast<double>(made.bytes()))};
  step.kind = std::move(kind);
  return step;
}

// Removes steps of a draft. `into[i]` is the step that replaces step i: itself if it stays.
void renumber(DraftTape& draft, const std::vector<std::size_t>& into) {
  const std::size_t n = draft.steps.size();
  std::vector<std::size_t> number(n);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (into[i] == i) number[i] = kept++;
  for (std::size_t i = 0; i < n; ++i) number[i] = number[into[i]];
  std::vector<std::vector<std::size_t>> after(kept);
  for (std::size_t i = 0; i < n; ++i)
    for (const std::size_t p : draft.after[i])
      if (number[p] != number[i]) after[number[i]].push_back(number[p]);
  draft.after = std::move(after);
  for (int& p : draft.producer)
    if (p >= 0) p = static_cast<int>(number[static_cast<std::size_t>(p)]);
  std::vector<Step> steps;
  for (std::size_t i = 0; i < n; ++i)
    if (into[i] == i) steps.push_back(std::move(draft.steps[i]));
  draft.steps = std::move(steps);
}

}  // namespace

std::vector<PanelPair> find_panels(TapeContext& ctx, const Program& p) {
  std::vector<PanelPair> found;
  if (ctx.options.evaluate) return found;
  PassRun run("panels", p);
  if (run.off()) return found;
  PanelFinder finder(ctx);
  for (DraftTape& draft : ctx.drafts) {
    if (draft.native) continue;
    finder.find(draft, found);
  }
  run.gave([&] {
    std::string text;
    for (const PanelPair& pair : found)
      text +=
          pair.draft->steps[pair.maker].name + " and " + pair.draft->steps[pair.kernel].name + "\n";
    return text;
  });
  return found;
}

void join_panels(const std::vector<PanelPair>& pairs) {
  for (std::size_t i = 0; i < pairs.size();) {
    DraftTape& draft = *pairs[i].draft;
    std::vector<std::size_t> into(draft.steps.size());
    for (std::size_t s = 0; s < into.size(); ++s) into[s] = s;
    for (; i < pairs.size() && pairs[i].draft == &draft; ++i) {
      const PanelPair& pair = pairs[i];
      const std::size_t stays = pair.first ? pair.maker : pair.kernel;
      draft.steps[stays] = joint_step(pair);
      into[pair.first ? pair.kernel : pair.maker] = stays;
    }
    renumber(draft, into);
  }
}

}  // namespace tessera::inline v0::tape

// The routines of fused steps (panels.h).
#include "base/message.h"
#include "base/thread_kept.h"
#include "codegen/tape/panels.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace tessera::inline v0::tape {

namespace {

constexpr std::size_t kLineBytes = 64;

std::size_t in_lines(std::size_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

// Memory of this thread for panels that are not stored, and for the data that readers keep.
std::byte* panel_memory(std::size_t bytes) {
  thread_local const ThreadKept<std::vector<std::byte>> kept;
  if (kept->size() < bytes + kLineBytes) kept->resize(bytes + kLineBytes);
  const auto at = reinterpret_cast<std::uintptr_t>(kept->data());
  return reinterpret_cast<std::byte*>((at + kLineBytes - 1) / kLineBytes * kLineBytes);
}

// The location of an operand or result of a fused step's part.
struct PartPlace {
  int value = -1;         // of the chain's values, or
  std::size_t index = 0;  // among the fused step's operands or results
};

struct JointPart {
  std::shared_ptr<const Routine> kernel;
  std::shared_ptr<const PanelReader> reader;
  std::vector<PartPlace> inputs, outputs;
  std::size_t scratch = 0, task_memory = 0;  // offsets
};

// A value of the chain: an operand or result of its parts.
struct PanelHome {
  bool stored = false;
  std::size_t at = 0;  // the fused step's result, or an offset in the thread's memory
  std::int64_t row_bytes = 0, element_bytes = 0;
};

struct JointChain {
  std::shared_ptr<const PanelMaker> panels;
  std::vector<JointPart> parts;
  std::vector<PanelHome> values;
  std::size_t memory = 0;  // of the thread

  using Inputs = InlineVector<const void*, 16>;
  using Outputs = InlineVector<void*, 8>;

  // The operands of a part; null for those in panels.
  static Inputs inputs_of(const JointPart& part, const RoutineArgs& args) {
    Inputs in;
    for (const PartPlace& p : part.inputs)
      in.push_back(p.value < 0 ? args.inputs[p.index] : nullptr);
    return in;
  }
  static void* scratch_of(const JointPart& part, const RoutineArgs& args) {
    return args.scratch ? static_cast<std::byte*>(args.scratch) + part.scratch : nullptr;
  }

  void run(const RoutineArgs& args, std::int64_t task) const {
    std::byte* const memory_at = panel_memory(memory);
    // The addresses at which the whole values begin or would begin.
    InlineVector<void*, 8> whole;
    const auto offset = [](const PanelHome& v, const Panel& p) {
      return p.row * v.row_bytes +
             (v.row_bytes == v.element_bytes ? 0 : p.column * v.element_bytes);
    };
    const PanelMaker::Place place = [&](const Panel& p) -> void* {
      if (p.m > panels->panel_rows)
        throw InternalError("a panel of " + std::to_string(p.m) + " rows was announced with " +
                            std::to_string(panels->panel_rows));
      whole.clear();
      for (const PanelHome& v : values)
        whole.push_back(
            v.stored ? args.outputs[v.at]
                     : reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory_at + v.at) -
                                               static_cast<std::uintptr_t>(offset(v, p))));
      return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(whole[0]) +
                                     static_cast<std::uintptr_t>(offset(values[0], p)));
    };
    const PanelMaker::Made made = [&](const Panel& p) {
      for (const JointPart& part : parts) {
        Inputs in = inputs_of(part, args);
        Outputs out;
        const void* operand = nullptr;
        for (std::size_t i = 0; i < part.inputs.size(); ++i)
          if (const int v = part.inputs[i].value; v >= 0)
            in[i] = operand = whole[static_cast<std::size_t>(v)];
        for (const PartPlace& o : part.outputs)
          out.push_back(o.value >= 0 ? whole[static_cast<std::size_t>(o.value)]
                                     : args.outputs[o.index]);
        if (part.reader)
          part.reader->run({in.data(), out.data(), scratch_of(part, args)}, p, operand,
                           memory_at + part.task_memory);
        else
          part.kernel->run_panel({in.data(), out.data(), nullptr}, p);
      }
    };
    panels->run(args, task, place, made);
  }
};

// The form of the maker's operand, with a reader that computes the whole chain. Null if the maker
// makes other panels when it reads the form.
std::shared_ptr<const OperandForm> form_of_joint(const std::shared_ptr<const OperandForm>& own,
                                                 const Routine& plain, const JointChain& joint) {
  if (!own || !own->reader->in_panels) return nullptr;
  const std::shared_ptr<const PanelMaker> panels = own->reader->in_panels();
  const PanelMaker& usual = *joint.panels;
  if (!panels || panels->rows != usual.rows || panels->columns != usual.columns ||
      panels->column_block != usual.column_block || panels->panel_rows != usual.panel_rows ||
      panels->matrix_rows != usual.matrix_rows || panels->block_rows != usual.block_rows ||
      panels->tasks != usual.tasks || panels->scratch_bytes > usual.scratch_bytes)
    return nullptr;
  auto reading = std::make_shared<JointChain>(joint);
  reading->panels = panels;
  auto reader = std::make_shared<Routine>(plain);
  reader->stages = panels->before;
  reader->stages.insert(reader->stages.end(),
                        plain.stages.begin() + static_cast<std::ptrdiff_t>(usual.before.size()),
                        plain.stages.end() - 1);
  reader->stages.push_back(
      {panels->tasks, [reading](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
         for (std::int64_t task = begin; task < end; ++task) reading->run(args, task);
       }});
  auto form = std::make_shared<OperandForm>(*own);
  form->reader = std::move(reader);
  return form;
}

// Joins the steps of a chain.
Step joint_step(const PanelChain& chain) {
  const std::vector<Step>& steps = chain.draft->steps;
  const Step& maker = steps[chain.maker];
  const auto& maker_kind = std::get<RoutineStep>(maker.kind);
  auto joint = std::make_shared<JointChain>();
  auto routine = std::make_shared<Routine>(*maker_kind.routine);
  routine->in_place.clear();
  routine->in_panels = nullptr;
  routine->reads_panels = nullptr;
  routine->form_operand = -1;
  routine->operand_form = nullptr;
  joint->panels = chain.panels;
  routine->stages = chain.panels->before;
  routine->scratch_bytes = chain.panels->scratch_bytes;

  Step step = maker;
  step.outputs.clear();
  RoutineStep kind;
  kind.input_types = maker_kind.input_types;
  const auto result = [&](const Ref& r, const Type& type) {
    step.outputs.push_back(r);
    kind.output_types.push_back(type);
    return step.outputs.size() - 1;
  };
  const auto value_of = [&](const Ref& r) {
    const PanelValue* v = chain.value(r.slot);
    return v ? static_cast<int>(v - chain.values.data()) : -1;
  };
  for (const PanelValue& v : chain.values)
    joint->values.push_back({v.stored, 0, v.row_bytes, v.element_bytes});
  const auto home = [&](int v) -> PanelHome& { return joint->values[static_cast<std::size_t>(v)]; };

  for (const PanelMember& m : chain.members) {
    const Step& member = steps[m.step];
    const auto& work = std::get<RoutineStep>(member.kind);
    JointPart part;
    if (!m.reader) part.kernel = work.routine;
    part.reader = m.reader;
    for (std::size_t i = 0; i < member.inputs.size(); ++i) {
      const int v = value_of(member.inputs[i]);
      part.inputs.push_back({v, step.inputs.size()});
      step.work.bytes -= v < 0 ? 0 : static_cast<double>(work.input_types[i].bytes());
      if (v >= 0) continue;
      step.inputs.push_back(member.inputs[i]);
      kind.input_types.push_back(work.input_types[i]);
    }
    const Step& writer = m.order ? steps[*m.order] : member;
    const auto& written = std::get<RoutineStep>(writer.kind).output_types;
    for (std::size_t i = 0; i < writer.outputs.size(); ++i) {
      const int v = value_of(writer.outputs[i]);
      if (v >= 0 && !home(v).stored) {
        step.work.bytes -= static_cast<double>(written[i].bytes());
        part.outputs.push_back({v, 0});
        continue;
      }
      const std::size_t index = result(writer.outputs[i], written[i]);
      if (v >= 0) home(v).at = index;
      part.outputs.push_back({v, index});
    }
    for (const auto& [in, out] : work.routine->in_place) {
      const PartPlace &from = part.inputs[static_cast<std::size_t>(in)],
                      &to = part.outputs[static_cast<std::size_t>(out)];
      if (from.value < 0 && (to.value < 0 || home(to.value).stored))
        routine->in_place.emplace_back(static_cast<int>(from.index), static_cast<int>(to.index));
    }
    if (m.reader) {
      part.scratch = in_lines(routine->scratch_bytes);
      routine->scratch_bytes = part.scratch + m.reader->scratch_bytes;
      part.task_memory = joint->memory;
      joint->memory += in_lines(m.reader->task_bytes);
      for (const Stage& s : m.reader->before)
        routine->stages.push_back(
            {s.tasks,
             [run = s.run, part](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
               const JointChain::Inputs in = JointChain::inputs_of(part, args);
               run({in.data(), nullptr, JointChain::scratch_of(part, args)}, begin, end);
             }});
    }
    routine->name += "+" + work.routine->name;
    routine->bytes += work.routine->bytes;
    routine->library = routine->library || work.routine->library;
    routine->seconds += work.routine->seconds;
    step.name += "+" + work.routine->name;
    step.work = {step.work.flops + member.work.flops, step.work.bytes + member.work.bytes};
    joint->parts.push_back(std::move(part));
  }
  const Type& made = maker_kind.output_types[0];
  if (chain.values[0].stored)
    home(0).at = result(maker.outputs[0], made);
  else
    step.work.bytes -= static_cast<double>(made.bytes());
  step.work.bytes = std::max(0.0, step.work.bytes);
  for (PanelHome& v : joint->values) {
    if (v.stored) continue;
    v.at = joint->memory;
    joint->memory += in_lines(static_cast<std::size_t>(chain.panels->panel_rows * v.row_bytes));
  }

  routine->stages.push_back(
      {chain.panels->tasks, [joint](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
         for (std::int64_t task = begin; task < end; ++task) joint->run(args, task);
       }});
  if (maker_kind.routine->operand_form) {
    const auto form = [form_of = maker_kind.routine->operand_form, plain = *routine, joint] {
      return form_of_joint(form_of(), plain, *joint);
    };
    routine->form_operand = maker_kind.routine->form_operand;
    routine->operand_form = form;
  }
  step.seconds = routine->seconds;
  kind.routine = std::move(routine);
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

void join_panels(const std::vector<PanelChain>& chains) {
  for (std::size_t i = 0; i < chains.size();) {
    DraftTape& draft = *chains[i].draft;
    std::vector<std::size_t> into(draft.steps.size());
    for (std::size_t s = 0; s < into.size(); ++s) into[s] = s;
    for (; i < chains.size() && chains[i].draft == &draft; ++i) {
      const PanelChain& chain = chains[i];
      Step joint = joint_step(chain);
      into[chain.maker] = chain.at;
      for (const PanelMember& m : chain.members)
        into[m.step] = into[m.order.value_or(m.step)] = chain.at;
      draft.steps[chain.at] = std::move(joint);
    }
    renumber(draft, into);
  }
}

}  // namespace tessera::inline v0::tape

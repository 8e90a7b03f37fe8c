#include "codegen/tape/planner.h"

#include "base/message.h"
#include "codegen/kernel/kernel.h"
#include "codegen/tape/forms.h"
#include "codegen/tape/lives.h"
#include "codegen/tape/native.h"
#include "codegen/tape/panels.h"
#include "codegen/tape/tape_verify.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace tessera::inline v0::tape {
namespace {

std::string to_string(const std::set<int>& processes) {
  std::string text = processes.size() == 1 ? "process " : "processes ";
  for (const int p : processes) text += (p == *processes.begin() ? "" : ", ") + std::to_string(p);
  return text;
}

// For each slot of the program, whether a device may read what it wrote before other devices have
// written theirs. This excludes results of the call and operands of collectives.
std::vector<bool> read_at_once(const DraftTape& program) {
  std::vector<bool> at_once(program.tape->slots.size());
  for (const Step& s : program.steps)
    if (!s.is_collective())
      for (const Ref& r : s.inputs) at_once[static_cast<std::size_t>(r.slot)] = true;
  for (std::size_t i = 0; i < at_once.size(); ++i)
    if (program.tape->slots[i].space == Space::result) at_once[i] = false;
  return at_once;
}

void compile_pending(TapeContext& ctx, const Program& p) {
  std::vector<NativeLoop> native = find_native_loops(ctx, p);
  const std::vector<PanelChain> chains = find_panels(ctx, p);
  std::map<std::pair<const DraftTape*, std::size_t>, codegen::PanelForm> form_of;
  for (const PanelChain& chain : chains)
    for (const PanelMember& m : chain.members)
      if (!m.reader) form_of[{chain.draft, m.step}] = chain.form;
  std::vector<ProgramPtr> programs;
  std::vector<std::int64_t> times;
  std::vector<codegen::PanelForm> panels;
  const Together& all = ctx.options.together;
  const std::int64_t most = all.count > 1 ? all.devices : ctx.instances(~Mask{0});
  const DraftTape& program = ctx.drafts.front();
  const std::vector<bool> at_once = read_at_once(program);
  for (const PendingKernel& k : ctx.kernels) {
    if (k.draft->native) continue;
    programs.push_back(k.program);
    const auto form = form_of.find({k.draft, k.step});
    panels.push_back(form == form_of.end() ? codegen::PanelForm{} : form->second);
    const Step& step = k.draft->steps[k.step];
    // The results of a body are read by its next iteration.
    const bool later = k.draft == &program &&
                       std::none_of(step.outputs.begin(), step.outputs.end(), [&](const Ref& r) {
                         return at_once[static_cast<std::size_t>(r.slot)];
                       });
    times.push_back(later ? std::min(ctx.instances(step.mask), most) : 1);
  }
  const std::vector<std::shared_ptr<const Routine>> routines =
      codegen::compile_kernels(programs, times, panels);
  auto next = routines.begin();
  for (const PendingKernel& k : ctx.kernels) {
    Step& step = k.draft->steps[k.step];
    const auto routine = k.draft->native ? k.planned : *next++;
    // Keeps the scopes that precede the name.
    step.name = step.name.substr(0, step.name.rfind('/') + 1) + routine->name;
    step.seconds = routine->seconds;
    std::get<RoutineStep>(step.kind).routine = routine;
  }
  compile_native_loops(std::move(native));
  join_panels(chains);
}

// Values that are equal on all devices exist in every process of the program. All its meshes must
// therefore have devices of the same processes.
void check_processes(const Program& p, TapeContext& ctx, Tape& tape) {
  const Together& all = ctx.options.together;
  const auto processes_of = [&](const Region& r) {
    std::set<int> has;
    for (const int d : r.mesh->devices) has.insert(static_cast<int>(d / all.devices));
    return has;
  };
  std::set<int> first;
  for (const Region& r : ctx.regions) {
    const std::set<int> has = processes_of(r);
    if (first.empty()) first = has;
    if (has != first)
      Message(p.name)
          .problem("it runs on several meshes: one has devices of " + to_string(first) +
                   ", another one of " + to_string(has))
          .rule("the meshes of one program lie on the same processes")
          .advice("a call for each mesh")
          .raise<ShardingError>();
  }
  tape.elsewhere = !first.empty() && !first.contains(all.rank);
}

// The estimate for one instance, now that the times of the bodies are known. `native`: the step is
// part of a function.
double seconds_of(const Step& step, bool native) {
  const auto once = [native](const ControlStep& s) {
    const double around = native || s.native ? 1e-9 : 1e-7;
    double seconds = 0;
    for (const auto& body : s.bodies) seconds += body->seconds + around;
    return seconds;
  };
  return std::visit(
      Overloaded{[&](const ScanStep& s) { return once(s) * static_cast<double>(s.length); },
                 [&](const WhileStep& s) { return once(s) * 10; },
                 [&](const CondStep& s) {
                   return s.bodies.empty() ? 0.0 : once(s) / static_cast<double>(s.bodies.size());
                 },
                 [&](const OpStep&) { return step.seconds; },
                 [&](const CopyStep&) { return step.seconds; },
                 [&](const CollectiveStep&) { return step.seconds; }},
      step.kind);
}

// Finishes bodies before the steps that contain them. A body's draft comes after its owner's draft,
// so the drafts are visited backwards.
void finish(TapeContext& ctx, std::uint64_t signature) {
  for (std::size_t d = ctx.drafts.size(); d-- > 0;) {
    DraftTape& draft = ctx.drafts[d];
    for (Step& s : draft.steps) s.seconds = seconds_of(s, draft.native);
    draft.tape->axes = ctx.axes;
    draft.tape->regions = ctx.regions;
    draft.tape->devices = static_cast<double>(ctx.instances(~Mask{0}));
    draft.tape->signature = signature + d;
    draft.tape->listed = ctx.options.listed;
    add_scratch(ctx, draft);
    schedule(ctx, draft);
    if (ctx.others) share_out(ctx, draft);
    assign_memory(ctx, draft);
  }
}

}  // namespace

std::span<const std::string_view> tape_passes() {
  static constexpr std::string_view names[] = {"joint_products", "operands", "updates", "fuse",
                                               "stretches",      "nests",    "panels",  "forms"};
  return names;
}

std::shared_ptr<const Tape> make_tape(const Program& p, const TapeOptions& options) {
  TapeContext ctx;
  ctx.options = options;
  ctx.options.workers = std::max(1, options.workers);
  const std::vector<Mask> none(p.inputs.size(), 0);
  Lowered top = lower(ctx, p, {none, none}, nullptr, Scope{}, 0, true);
  if (options.together.count > 1) check_processes(p, ctx, *top.draft->tape);
  compile_pending(ctx, p);
  find_forms(ctx, p);
  finish(ctx, options.together.count > 1 ? hash_of(p) : 0);
#ifdef TESSERA_VERIFY_PASSES
  verify(*top.draft->tape);
#endif
  return top.draft->tape;
}

}  // namespace tessera::inline v0::tape

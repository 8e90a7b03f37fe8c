#include "codegen/kernel/kernel.h"

#include "base/settings.h"
#include "codegen/kernel/emitter.h"
#include "codegen/kernel/kernel_schedule_print.h"
#include "codegen/kernel/key.h"
#include "codegen/kernel/llvm_ir.h"
#include "codegen/kernel/machine.h"

#include <algorithm>
#include <cstdio>

namespace tessera::inline v0::codegen {

namespace {

bool results_exceed_caches(const Program& p, std::int64_t times) {
  std::int64_t bytes = 0;
  for (Var v : p.outputs) bytes += p.type(v).bytes();
  return bytes >= (kPastCachesFrom + times - 1) / times;
}

std::string name_of(const Program& p) {
  std::string name;
  std::size_t more = 0;
  for (const Equation& e : p.equations) {
    if (e.op->literal || e.op->spreads) continue;
    if (name.size() > 48)
      ++more;
    else
      name += (name.empty() ? "" : "+") + e.op->name;
  }
  if (name.empty()) name = p.equations.empty() ? "copy" : p.equations.back().op->name;
  return more ? name + "+" + std::to_string(more) + " more" : name;
}

// Options with which a kernel is compiled, besides its program.
struct Form {
  bool any_length, past_caches;
};

MachineRequest request_for(const Canonical& c, Form form) {
  const ProgramPtr p = c.program;
  MachineRequest r;
  r.key =
      (form.any_length ? "n" : "s") + std::string(form.past_caches ? "p" : "c") + kernel_key(*p);
  r.plan = [p, form](Machine& m) {
    m.schedule = schedule_kernel(*p, form.any_length);
    if (form.past_caches) write_past_caches(m.schedule, *p);
    dump_loops(*p, m.schedule);
    return m.schedule.stages.size();
  };
  r.emit = [p](const Machine& m, llvm::Module& module, SymbolNames names) {
    KernelEmitter emitter(*p, m.schedule, module);
    for (std::size_t i = 0; i < names.size(); ++i)
      emitter.emit_stage(m.schedule.stages[i], names[i]);
  };
  return r;
}

std::shared_ptr<const Routine> make_routine(const Program& p, const MachinePtr& machine,
                                            std::int64_t length) {
  std::shared_ptr<Routine> r = planned_kernel(p, machine->schedule, length);
  r->bytes = machine->code_bytes;
  for (std::size_t i = 0; i < r->stages.size(); ++i) {
    StageSchedule s = machine->schedule.stages[i];
    if (length) set_length(s, length);
    r->stages[i].run = [machine, fn = reinterpret_cast<KernelFn>(machine->code->addresses[i]),
                        units = s.units, step = s.units_per_task,
                        length](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
      fn(a.inputs, a.outputs, a.scratch, begin * step, std::min(end * step, units), length);
    };
  }
  return r;
}

}  // namespace

void dump_loops(const Program& p, const KernelSchedule& schedule) {
  if (settings::flag("TESSERA_DUMP_LOOPS"))
    std::fputs(("kernel " + name_of(p) + "\n" + to_string(p, schedule) + "\n").c_str(), stderr);
}

std::shared_ptr<Routine> planned_kernel(const Program& p, const KernelSchedule& schedule,
                                        std::int64_t length) {
  auto r = std::make_shared<Routine>();
  r->name = name_of(p);
  r->scratch_bytes = schedule.scratch_bytes;
  r->in_place = schedule.in_place;
  for (StageSchedule s : schedule.stages) {
    if (length) set_length(s, length);
    r->seconds += s.seconds;
    r->stages.push_back({s.tasks(), {}});
  }
  return r;
}

std::vector<std::shared_ptr<const Routine>> compile_kernels(std::span<const ProgramPtr> kernels,
                                                            std::span<const std::int64_t> times) {
  std::vector<MachineRequest> requests;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Canonical c = canonical_kernel(kernels[i]);
    lengths.push_back(c.length);
    requests.push_back(request_for(
        c, {c.length != 0, results_exceed_caches(*kernels[i], times.empty() ? 1 : times[i])}));
  }
  const std::vector<MachinePtr> machines = make_machines(std::move(requests));
  std::vector<std::shared_ptr<const Routine>> routines;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    routines.push_back(make_routine(*kernels[i], machines[i], lengths[i]));
  return routines;
}

bool is_emitted(const Equation& eqn) {
  return (eqn.op->lowering == Lowering::emitted && eqn.op->emit) ||
         eqn.op->lowering == Lowering::view;
}

}  // namespace tessera::inline v0::codegen

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
  PanelForm panels;
};

MachineRequest request_for(const Canonical& c, Form form) {
  const ProgramPtr p = c.program;
  MachineRequest r;
  r.key =
      (form.any_length ? "n" : "s") + std::string(form.past_caches ? "p" : "c") + kernel_key(*p);
  if (form.panels.columns)
    r.key += "rows" + std::to_string(form.panels.columns) + "/" +
             std::to_string(form.panels.column_block);
  r.effort = Effort::kernel;
  r.plan = [p, form](Machine& m) {
    m.schedule = schedule_kernel(*p, form.any_length, form.panels);
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

// Runs a kernel of any length on a panel: on the whole panel at once if it has whole rows,
// otherwise row by row. All arrays have `length` elements, or are scalars.
std::function<void(const RoutineArgs&, const Panel&)> run_panel_of_any_length(
    const Program& p, const MachinePtr& machine, std::int64_t length, std::int64_t columns) {
  const auto size_in = [&](Var v) {
    return p.type(v).shape.count() == length ? size_of(p.type(v).dtype) : 0;
  };
  std::vector<std::int64_t> inputs, outputs;  // bytes per element; 0: a scalar
  for (Var v : p.inputs) inputs.push_back(size_in(v));
  for (Var v : p.outputs) outputs.push_back(size_in(v));
  return [machine, fn = reinterpret_cast<KernelFn>(machine->code->addresses[0]), inputs, outputs,
          columns,
          block = machine->schedule.stages[0].block](const RoutineArgs& a, const Panel& panel) {
    const bool whole = panel.n == columns;
    const std::int64_t count = whole ? panel.m * columns : panel.n;
    InlineVector<const void*, 16> in;
    InlineVector<void*, 8> out;
    for (std::int64_t row = panel.row; row < panel.row + (whole ? 1 : panel.m); ++row) {
      const std::int64_t at = row * columns + panel.column;
      in.clear(), out.clear();
      for (std::size_t i = 0; i < inputs.size(); ++i)
        in.push_back(static_cast<const char*>(a.inputs[i]) + at * inputs[i]);
      for (std::size_t i = 0; i < outputs.size(); ++i)
        out.push_back(static_cast<char*>(a.outputs[i]) + at * outputs[i]);
      fn(in.data(), out.data(), a.scratch, 0, (count + block - 1) / block, count);
    }
  };
}

// Runs a kernel that was compiled for panels: each row consists of equally many units.
std::function<void(const RoutineArgs&, const Panel&)> run_panel_of_units(const MachinePtr& machine,
                                                                         PanelForm panels) {
  const StageSchedule& s = machine->schedule.stages[0];
  const std::int64_t units = s.units / (s.shape.count() / panels.columns);
  return [machine, fn = reinterpret_cast<KernelFn>(machine->code->addresses[0]), units, panels](
             const RoutineArgs& a, const Panel& panel) {
    if (panel.n == panels.columns)
      return fn(a.inputs, a.outputs, a.scratch, panel.row * units, (panel.row + panel.m) * units,
                0);
    const std::int64_t first = panel.column / panels.column_block,
                       last =
                           (panel.column + panel.n + panels.column_block - 1) / panels.column_block;
    for (std::int64_t row = panel.row; row < panel.row + panel.m; ++row)
      fn(a.inputs, a.outputs, a.scratch, row * units + first, row * units + last, 0);
  };
}

std::shared_ptr<const Routine> make_routine(const Program& p, const MachinePtr& machine,
                                            std::int64_t length, PanelForm panels) {
  std::shared_ptr<Routine> r = planned_kernel(p, machine->schedule, length);
  r->bytes = machine->code_bytes;
  if (panels.columns && length)
    r->run_panel = run_panel_of_any_length(p, machine, length, panels.columns);
  else if (panels.columns && !machine->schedule.panel_inputs.empty())
    r->run_panel = run_panel_of_units(machine, panels);
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
                                                            std::span<const std::int64_t> times,
                                                            std::span<const PanelForm> panels) {
  const auto panels_of = [&](std::size_t i) { return panels.empty() ? PanelForm{} : panels[i]; };
  std::vector<MachineRequest> requests;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Canonical c = canonical_kernel(kernels[i]);
    lengths.push_back(c.length);
    requests.push_back(request_for(
        c, {c.length != 0, results_exceed_caches(*kernels[i], times.empty() ? 1 : times[i]),
            c.length ? PanelForm{} : panels_of(i)}));
  }
  const std::vector<MachinePtr> machines = make_machines(std::move(requests));
  std::vector<std::shared_ptr<const Routine>> routines;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    routines.push_back(make_routine(*kernels[i], machines[i], lengths[i], panels_of(i)));
  return routines;
}

bool runs_on_panels(const ProgramPtr& kernel, std::size_t input, PanelForm panels) {
  const std::int64_t count = kernel->type(kernel->inputs[input]).shape.count();
  if (const Canonical c = canonical_kernel(kernel); c.length) return c.length == count;
  const std::vector<bool> reads = schedule_kernel(*kernel, false, panels).panel_inputs;
  return input < reads.size() && reads[input];
}

bool is_emitted(const Equation& eqn) {
  return (eqn.op->lowering == Lowering::emitted && eqn.op->emit) ||
         eqn.op->lowering == Lowering::view;
}

}  // namespace tessera::inline v0::codegen

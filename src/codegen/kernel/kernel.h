// Compiles programs of emitted ops to machine code.
#pragma once

#include "codegen/kernel/kernel_schedule.h"
#include "ir/program.h"
#include "ir/routine.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tessera::inline v0::codegen {

/// Returns one routine per program. A program consists of emitted (and view) ops only, and is
/// compiled to a single pass over memory if possible; inputs and outputs are dense row-major
/// buffers. Equal programs are compiled once. Programs that are new to the process and the disk
/// cache are batched into modules and compiled on all cores. Thread-safe. `times`, if given, is for
/// each program the number of devices whose results it writes before any of them is read; the total
/// size decides whether results bypass the caches. `panels`, if given, states for each program the
/// panels on which its routine should be able to run (`Routine::run_panel`).
std::vector<std::shared_ptr<const Routine>> compile_kernels(
    std::span<const ProgramPtr> kernels, std::span<const std::int64_t> times = {},
    std::span<const PanelForm> panels = {});
/// Whether a kernel that is compiled for these panels can run on them, and reads only the same
/// panel of its input number `input`.
bool runs_on_panels(const ProgramPtr& kernel, std::size_t input, PanelForm panels);

/// If the kernel only permutes the dimensions of its only operand, the stride in its result, in
/// elements, of each dimension of the operand.
std::optional<std::vector<std::int64_t>> permuted_strides(const Program& kernel);

/// The routine of a kernel before it is compiled: its stages have no code. `length` is that of the
/// arrays if the schedule is for any length, and otherwise 0.
std::shared_ptr<Routine> planned_kernel(const Program& p, const KernelSchedule& schedule,
                                        std::int64_t length = 0);
/// Prints the loops of a kernel if TESSERA_DUMP_LOOPS is set.
void dump_loops(const Program& p, const KernelSchedule& schedule);

/// Whether the kernel compiler supports this equation.
bool is_emitted(const Equation& eqn);

/// Counts kernels and nests (codegen/nest).
struct KernelStats {
  std::int64_t compiled = 0;  // by LLVM in this process
  std::int64_t from_disk = 0;
  std::int64_t from_memory = 0;
  double seconds = 0;  // spent in LLVM
};
KernelStats kernel_stats();

}  // namespace tessera::inline v0::codegen

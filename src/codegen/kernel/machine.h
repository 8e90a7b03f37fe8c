// Machine code by content: code with the same key is compiled once per process, and cached on disk.
#pragma once

#include "codegen/kernel/jit.h"
#include "codegen/kernel/kernel_schedule.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace tessera::inline v0::codegen {

/// The functions compiled for one key. Their code stays while anything holds the machine.
struct Machine {
  KernelSchedule schedule;                 // of a kernel
  std::unique_ptr<const LinkedCode> code;  // null if there are no functions
  std::size_t code_bytes = 0;
  std::string key;
  ~Machine();
};
using MachinePtr = std::shared_ptr<const Machine>;

/// The type of a compiled function; KernelEmitter::emit_stage describes the arguments.
using KernelFn = void (*)(const void* const* inputs, void* const* outputs, void* scratch,
                          std::int64_t begin, std::int64_t end, std::int64_t length);

using SymbolNames = std::span<const std::string>;

/// A machine that make_machines compiles.
struct MachineRequest {
  /// Machines of equal keys have the same schedule and code.
  std::string key;
  /// Prepares the machine and returns the number of its functions.
  std::function<std::size_t(Machine&)> plan;
  /// Writes the functions, under these names.
  std::function<void(const Machine&, llvm::Module&, SymbolNames)> emit;
  Effort effort = Effort::loop;
  /// Whether kernel_stats() counts it.
  bool counted = true;
};

/// Returns a machine per request. Those that are new to the process and the disk cache are compiled
/// on all cores. Thread-safe.
std::vector<MachinePtr> make_machines(std::vector<MachineRequest> requests);

}  // namespace tessera::inline v0::codegen

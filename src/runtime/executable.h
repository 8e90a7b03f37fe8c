// A compiled program, ready to run.
#pragma once

#include "base/machine.h"
#include "ir/program.h"
#include "runtime/array_data.h"
#include "runtime/holds.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera::inline v0::runtime {

/// While it lives, the CompileOptions that this thread makes have this `bytes_worth_a_phase`. Tests
/// use it for programs that public functions compile, which take no CompileOptions.
class PhaseBytes {
 public:
  explicit PhaseBytes(std::int64_t bytes) : before_(now_) { now_ = bytes; }
  ~PhaseBytes() { now_ = before_; }
  PhaseBytes(const PhaseBytes&) = delete;
  PhaseBytes& operator=(const PhaseBytes&) = delete;
  static std::int64_t now() { return now_; }

 private:
  static constinit thread_local std::int64_t now_;
  const std::int64_t before_;
};

struct CompileOptions {
  std::string name;           // for profiles and errors
  std::vector<bool> donated;  // by input: a result may reuse its memory
  /// As in tape::TapeOptions.
  std::int64_t bytes_worth_a_phase = PhaseBytes::now();
};

struct MemoryPlan {
  std::int64_t arguments = 0, outputs = 0, temporaries = 0;  // bytes, all devices
};

/// Immutable and shared; may run on any number of threads at once. Each platform has its own
/// subclass.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Inputs correspond to the program's. They are moved to where it needs them (sharded over the
  /// mesh of a top-level shard_map, else on one device), also from other platforms. Throws before
  /// anything runs if an input cannot be used. Results may be pending. `holds` must hold these
  /// inputs, with none refused.
  virtual std::vector<ArrayDataPtr> run(std::span<const ArrayDataPtr> inputs,
                                        Holds& holds) const = 0;
  /// Takes the inputs that the options declare as donated; TraceError if one was donated before.
  std::vector<ArrayDataPtr> run(std::span<const ArrayDataPtr> inputs) const;
  virtual const CompileOptions& options() const = 0;
  virtual const Program& program() const = 0;
  virtual MemoryPlan memory() const = 0;
  /// The program's execution as text: segments, kernels, calls, collectives, and the devices of
  /// each.
  virtual std::string schedule() const = 0;
};

/// The user's line of the eager call that is running on this thread, for errors of its executable.
class CallerLine {
 public:
  explicit CallerLine(const SourceLoc& loc) : before_(now_) { now_ = &loc; }
  ~CallerLine() { now_ = before_; }
  CallerLine(const CallerLine&) = delete;
  CallerLine& operator=(const CallerLine&) = delete;
  static SourceLoc now() { return now_ ? *now_ : SourceLoc(); }

 private:
  static thread_local const SourceLoc* now_;
  const SourceLoc* before_;
};

/// Compiles a program for a platform, or returns the executable of a program with the same
/// structure. Thread-safe.
std::shared_ptr<const Executable> compile(const ProgramPtr& p, const CompileOptions& options = {},
                                          Backend& backend = host_backend());

}  // namespace tessera::inline v0::runtime

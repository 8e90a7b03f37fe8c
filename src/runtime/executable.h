// A compiled program, ready to run.
#pragma once

#include "ir/program.h"
#include "runtime/array_data.h"
#include "runtime/holds.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera::inline v0::runtime {

struct CompileOptions {
  std::string name;           // for profiles and errors
  std::vector<bool> donated;  // by input: its memory may become a result's
};

struct MemoryPlan {
  std::int64_t arguments = 0, outputs = 0, temporaries = 0;  // bytes, all devices
};

/// Immutable and shared; any number of threads may run it at once. Each platform has its own kind.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Inputs are as the program's; they are placed as it needs (sharded over the mesh of a shard_map
  /// at the top, else on one device), from other platforms too. Throws before anything runs when an
  /// input cannot be used. Results may be pending. `holds` are of these inputs, and none is
  /// refused.
  virtual std::vector<ArrayDataPtr> run(std::span<const ArrayDataPtr> inputs,
                                        Holds& holds) const = 0;
  /// Takes the inputs that the options say are donated; TraceError where one was before.
  std::vector<ArrayDataPtr> run(std::span<const ArrayDataPtr> inputs) const;
  virtual const CompileOptions& options() const = 0;
  virtual const Program& program() const = 0;
  virtual MemoryPlan memory() const = 0;
  /// What it does as text: segments, kernels, calls, collectives, and which devices each runs on.
  virtual std::string schedule() const = 0;
};

/// The user's line of the eager call under way on this thread: what errors of its executable say.
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

/// Compiles for a platform, or finds a program of the same structure among those compiled before.
/// Thread-safe.
std::shared_ptr<const Executable> compile(const ProgramPtr& p, const CompileOptions& options = {},
                                          Backend& backend = default_backend());

}  // namespace tessera::inline v0::runtime

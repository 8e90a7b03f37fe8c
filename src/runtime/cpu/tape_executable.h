// A program compiled for the CPU, and the course of its calls.
#pragma once

#include "codegen/tape/planner.h"
#include "runtime/cpu/bind.h"
#include "runtime/cpu/variant.h"
#include "runtime/executable.h"
#include "runtime/kept.h"

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::runtime {

/// Runs in host memory; long calls run from the queue.
class TapeExecutable : public Executable,
                       public Kept,
                       public std::enable_shared_from_this<TapeExecutable> {
 public:
  TapeExecutable(ProgramPtr p, CompileOptions options, tape::Apart apart, bool evaluate);

  using Executable::run;
  std::vector<ArrayDataPtr> run(std::span<const ArrayDataPtr> inputs, Holds& holds) const override;
  const Program& program() const override { return *program_; }
  std::string_view name() const { return options_.name.empty() ? program_->name : options_.name; }
  const CompileOptions& options() const override { return options_; }
  MemoryPlan memory() const override;
  std::string schedule() const override { return to_string(*base_->tape); }
  /// Approximate size of the executable itself.
  std::int64_t bytes() const;

 private:
  std::shared_ptr<const Variant> plan(std::vector<bool> uniform, bool evaluate) const;
  const std::shared_ptr<const Variant>& variant_for(std::span<const ArrayDataPtr> inputs) const;
  void check(std::span<const ArrayDataPtr> inputs) const;
  void check_devices(const Variant& v) const;
  void check_places(const Variant& v, std::span<const ArrayDataPtr> inputs) const;

  ProgramPtr program_;
  CompileOptions options_;
  tape::Apart apart_;
  bool evaluate_;
  bool several_;  // there are other processes
  bool communicates_;
  std::shared_ptr<const Variant> base_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const std::shared_ptr<const Variant>>> variants_;
  Fits fits_;
};

}  // namespace tessera::inline v0::runtime

// A program compiled by a plug-in.
#pragma once

#include "platforms/client.h"
#include "platforms/compile.h"
#include "platforms/parts.h"
#include "runtime/executable.h"
#include "runtime/kept.h"
#include "runtime/memory_stats.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::platforms {

/// Immutable; may run on any number of threads at once. A call returns when the plug-in has
/// accepted it, before it is complete, unless a part of it runs on the host.
class FarExecutable : public runtime::Executable, public runtime::Kept {
 public:
  /// Compiles the program. Throws DeviceError with the plug-in's text if it refuses.
  FarExecutable(runtime::Backend& backend, const Client& client, const stablehlo::Target& target,
                ProgramPtr program, runtime::CompileOptions options);

  using Executable::run;
  std::vector<runtime::ArrayDataPtr> run(std::span<const runtime::ArrayDataPtr> inputs,
                                         runtime::Holds& holds) const override;
  const runtime::CompileOptions& options() const override { return options_; }
  const Program& program() const override { return *program_; }
  runtime::MemoryPlan memory() const override;
  std::string schedule() const override;
  /// The memory of a device during a call, as reported by the plug-in.
  runtime::PlannedMemory planned() const;
  /// Approximate size of the executable in memory of the host.
  std::int64_t bytes() const;

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  /// Where a value comes from: output `index` of a step or, if `step` is kNone, that input of the
  /// program.
  struct Source {
    std::size_t step, index;
  };
  struct Step {
    Part part;
    std::optional<FarPart> far = {};      // absent for a part that the host runs
    std::vector<std::string> loops = {};  // the ops of a far part that are written as loops
    std::shared_ptr<const runtime::Executable> near = nullptr;
    std::vector<Source> inputs = {};
    bool is_all = false;  // it is the only step, with the inputs of the program
  };

  /// Runs a step on the platform; a step without maps over devices runs at `place`.
  std::vector<runtime::ArrayDataPtr> run_far(const Step& step,
                                             std::span<const runtime::ArrayDataPtr> inputs,
                                             const runtime::LayoutPtr& place,
                                             runtime::Holds& holds) const;

  runtime::Backend& backend_;
  const Client& client_;
  ProgramPtr program_;
  runtime::CompileOptions options_;
  const std::string name_;
  std::vector<Step> steps_;
  ProgramPtr simplified_;
  /// By result: its source, and whether an earlier result is the same value.
  std::vector<Source> results_;
  std::vector<bool> is_again_;
};

}  // namespace tessera::inline v0::platforms

// A platform of the runtime whose devices a plug-in drives.
#pragma once

#include "platforms/client.h"
#include "platforms/executable.h"
#include "runtime/backend.h"
#include "runtime/compiled_programs.h"
#include "stablehlo/emit/target.h"

#include <tessera/platform.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::platforms {

class FarBackend : public runtime::Backend {
 public:
  /// `name` is the users' name for the platform. `target` describes the libraries that it has.
  FarBackend(std::string name, std::unique_ptr<const Client> client,
             const stablehlo::Target& target);

  int device_count() const override { return static_cast<int>(client_->device_count()); }
  runtime::MemoryStats memory_stats(int device) const override;
  unsigned mode() const override { return compile_mode(); }
  bool partitions() const override { return partitioner() == Partitioner::platform; }
  std::shared_ptr<const runtime::Executable> compile(
      const ProgramPtr& program, const runtime::CompileOptions& options) override;
  /// Compiles the program. Nothing for programs that need several devices.
  std::optional<runtime::PlannedMemory> plan_memory(
      const Program& program, const std::vector<bool>& donated) const override;
  runtime::Placed to_device(const Type& block, const runtime::Shard& host, int device) override;
  std::shared_ptr<runtime::Completion> to_host(const Type& block, const runtime::Shard& from,
                                               std::byte* host) override;
  runtime::Placed copy(const Type& block, const runtime::Shard& from, int device) override;

  const Client& client() const { return *client_; }

 private:
  const std::unique_ptr<const Client> client_;
  const stablehlo::Target& target_;
  runtime::CompiledPrograms<FarExecutable> compiled_;
};

}  // namespace tessera::inline v0::platforms

// Compiles a part of a program with a plug-in.
#pragma once

#include "platforms/client.h"
#include "platforms/parts.h"
#include "runtime/executable.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::inline v0::platforms {

/// An executable of the plug-in, destroyed with this object.
class Loaded {
 public:
  Loaded(const Client& client, PJRT_LoadedExecutable* executable);
  ~Loaded();
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  PJRT_LoadedExecutable* get() const { return executable_; }
  /// Zeros if the plug-in does not report it.
  const runtime::MemoryPlan& memory() const { return memory_; }
  /// Bytes of results that take the memory of donated arguments.
  std::int64_t reused() const { return reused_; }

 private:
  const Client& client_;
  PJRT_LoadedExecutable* const executable_;
  runtime::MemoryPlan memory_;
  std::int64_t reused_ = 0;
};

/// A part that runs on the platform.
struct FarPart {
  /// The devices in the order of the module's partitions; empty for a part of one device, which
  /// runs on any.
  std::vector<int> devices = {};
  /// The layouts of inputs and outputs over these devices. An output without a layout is unsharded
  /// on the first of them. Empty for a part of one device.
  std::vector<runtime::LayoutPtr> inputs = {}, outputs = {};
  std::vector<Type> types = {};       // of the outputs
  runtime::LayoutPtr home = nullptr;  // the first of the devices
  std::vector<bool> donated = {};     // by input of the part
  std::string module = {};            // StableHLO
  std::shared_ptr<const Loaded> loaded = nullptr;
};

/// The precision that users set for products (tessera/platform.h), as StableHLO spells it.
std::string precision_text();
/// All settings of tessera/platform.h that change what is compiled, as a number.
unsigned compile_mode();

/// `before` is that of flat_maps. Throws DeviceError in the name of `name` if the plug-in rejects
/// the module (with its text), or if maps of the part are over different devices.
FarPart compile_part(const Part& part, const std::vector<bool>& donated, runtime::Backend& backend,
                     const Client& client, const stablehlo::Target& target, std::string_view name,
                     const std::vector<std::pair<MeshRef, MeshRef>>& before = {});

}  // namespace tessera::inline v0::platforms

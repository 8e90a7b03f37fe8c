// A program as it was compiled for a set of devices: what each argument and result is, and how the
// blocks of the caller form the arrays of the runtime.
#pragma once

#include "pjrt/client.h"
#include "pjrt/element.h"
#include "pjrt/options.h"
#include "runtime/executable.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::pjrt {

/// An argument or result of the program, as the module declares it.
struct Port {
  const Element* element;
  bool is_token = false;
  Type whole = {};                      // of the array over all devices
  Type block = {};                      // of a device's shard
  runtime::LayoutPtr layout = nullptr;  // of `whole`; null if the program is for one device
  std::string sharding = {};            // the message OpSharding
  PJRT_MemoryDescription const* memory = nullptr;
  Shape order = {};  // of the dimensions in memory, as callers see it; the minor one is first
  /// The program returns the result in another layout, and each call moves it to `layout`.
  bool is_moved = false;
};

struct Argument : Port {
  bool is_taken = false;  // donated: each call takes its memory
};

struct Compiled {
  std::string name, fingerprint;
  std::string code, options;  // what was compiled, for serialisation
  CompileSettings settings;
  std::shared_ptr<Machine> machine;
  std::vector<Argument> arguments;  // as declared, tokens included
  std::vector<Port> results;
  std::vector<runtime::ArrayDataPtr> constants;  // inputs of the program after the arguments
  std::shared_ptr<const runtime::Executable> executable;
  bool calls_python = false;  // it has callbacks, which cannot be serialized
  /// The per-device program, with its collectives, as the text of a module. It is the module as it
  /// was given if there is one device, if the program has callbacks, or if StableHLO cannot express
  /// it.
  std::string optimized_program() const;
  double flops = 0, bytes_accessed = 0;  // of one device

  std::size_t device_count() const { return settings.devices.size(); }
};

/// Compiles a module, given as bytecode or text. Throws what the importer and the compiler throw.
std::shared_ptr<const Compiled> compile(const std::shared_ptr<Machine>& machine,
                                        std::string_view code, std::string_view options);

/// The program, with its options, as bytes that only this version of the plug-in reads.
std::string serialized(const Compiled& compiled);
/// Compiles a serialised program; throws a Failure if another version serialised it.
std::shared_ptr<const Compiled> deserialized(const std::shared_ptr<Machine>& machine,
                                             std::string_view bytes,
                                             std::optional<std::string_view> options);

}  // namespace tessera::inline v0::pjrt

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
  Type whole = {};                      // the array over all devices
  Type block = {};                      // what one device has
  runtime::LayoutPtr layout = nullptr;  // of `whole`; null if the program is for one device
  std::string sharding = {};            // the message OpSharding
  PJRT_MemoryDescription const* memory = nullptr;
  Shape order = {};  // of the dimensions in memory, as callers see it: the minor one first
  /// The program returns the result with another layout, from which each call moves it to `layout`.
  bool is_moved = false;
};

struct Argument : Port {
  bool is_taken = false;  // each call takes its memory
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
  bool calls_python = false;  // it has callbacks, which no text of it can hold
  /// The program of one of several devices, with its collectives, as the text of a module; for one
  /// device, if it has callbacks, or if it cannot be written, the module as it was given.
  std::string optimized_program() const;
  double flops = 0, bytes_accessed = 0;  // of one device

  std::size_t device_count() const { return settings.devices.size(); }
};

/// Compiles a module, bytecode or text. Throws what its reading and compilation throw.
std::shared_ptr<const Compiled> compile(const std::shared_ptr<Machine>& machine,
                                        std::string_view code, std::string_view options);

/// The program, with its options, as bytes that only this version of the plug-in reads.
std::string serialized(const Compiled& compiled);
/// Compiles a program that was serialised; throws a Failure if it was not by this version.
std::shared_ptr<const Compiled> deserialized(const std::shared_ptr<Machine>& machine,
                                             std::string_view bytes,
                                             std::optional<std::string_view> options);

}  // namespace tessera::inline v0::pjrt

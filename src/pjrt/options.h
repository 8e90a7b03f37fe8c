// The options of a compilation, and the protocol buffers that say where a program runs.
#pragma once

#include "ir/mesh.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::pjrt {

/// What of CompileOptionsProto concerns us.
struct CompileSettings {
  std::int64_t replicas = 1, partitions = 1;
  /// The device of each (replica, partition), replica-major; empty if the options do not say.
  std::vector<std::int64_t> devices = {};
  /// The caller names the device at each call.
  bool portable = false;
};

/// Throws a Failure with the code INVALID_ARGUMENT if the bytes are no options, or if a compiler
/// option has an unknown name or a value of another type.
CompileSettings read_compile_options(std::string_view bytes);

/// The message DeviceAssignmentProto of these settings.
std::string device_assignment(const CompileSettings& settings);

/// The message OpSharding for arrays of this rank. Along the axes of `unreduced` the devices have
/// terms of a reduction, "sum" or another one, whose result is the array.
std::string sharding_proto(const DeviceMesh& mesh, const Spec& spec, int rank,
                           const std::vector<std::string>& unreduced = {},
                           std::string_view reduction = "sum");
/// The same for arrays that every device has whole.
std::string replicated_proto();

}  // namespace tessera::inline v0::pjrt

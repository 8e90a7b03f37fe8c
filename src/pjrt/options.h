// The options of a compilation, and the protocol buffers for device assignments and shardings.
#pragma once

#include "ir/mesh.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::pjrt {

/// The fields of CompileOptionsProto that the plug-in uses.
struct CompileSettings {
  std::int64_t replicas = 1, partitions = 1;
  /// The device of each (replica, partition), replica-major; empty if the options do not have them.
  std::vector<std::int64_t> devices = {};
  /// The caller names the device at each call.
  bool portable = false;
};

/// Throws a Failure with the code INVALID_ARGUMENT if the bytes are not a CompileOptionsProto, or
/// if a compiler option has an unknown name or a value of another type.
CompileSettings read_compile_options(std::string_view bytes);

/// The settings' device assignment as a serialized DeviceAssignmentProto.
std::string device_assignment(const CompileSettings& settings);

/// A serialized OpSharding for arrays of this rank. Along the axes of `unreduced` the devices have
/// partial results, and the array is their reduction ("sum" or another one).
std::string sharding_proto(const DeviceMesh& mesh, const Spec& spec, int rank,
                           const std::vector<std::string>& unreduced = {},
                           std::string_view reduction = "sum");
/// The same for replicated arrays.
std::string replicated_proto();

}  // namespace tessera::inline v0::pjrt

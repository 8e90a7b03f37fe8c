// Python functions that programs call: JAX's callbacks.
#pragma once

#include "ir/callback.h"
#include "pjrt/callbacks_abi.h"
#include "stablehlo/import/import.h"

#include <memory>
#include <vector>

namespace tessera::inline v0::pjrt {

/// The Python functions that a program calls.
class PythonFunctions {
 public:
  /// The function for a host call in a module (stablehlo::ImportOptions::host_function). Throws a
  /// Failure if one of its element types has no buffers.
  std::shared_ptr<const HostFunction> add(const stablehlo::HostCall& call);
  bool empty() const { return all_.empty(); }
  /// Reports shardings, after partitioning, to the functions that only ask how a value is sharded.
  /// `devices` are the ids of the mesh's devices in row-major order; an empty list stands for the
  /// first devices.
  void tell_placements(const std::vector<int>& devices) const;

 private:
  std::vector<std::shared_ptr<const HostFunction>> all_;
};

}  // namespace tessera::inline v0::pjrt

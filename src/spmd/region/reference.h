// Evaluates a per-device program on all devices of a mesh, with the ops' evaluators and with
// collectives written from their definitions. It is the oracle for the executor: slow, and
// independent of the code it checks.
#pragma once

#include "ir/host_array.h"
#include "ir/mesh.h"
#include "ir/program.h"

#include <functional>
#include <span>
#include <vector>

namespace tessera::inline v0::spmd {

/// Called for each evaluated equation, except collectives and equations that run programs, with the
/// number of devices that evaluated it together.
using Evaluated = std::function<void(const Program& p, const Equation& eqn, std::size_t devices)>;

/// Called once per collective and group of participating devices, with the bytes that each device
/// receives (reference_collectives.h).
using Exchanged = std::function<void(const Equation& eqn, std::span<const std::int64_t> received)>;

/// `inputs[d]` are the inputs of device d, where d is row-major over the mesh; the results are
/// indexed likewise. Devices whose predicates agree run a branch or a loop iteration together.
/// Throws CollectiveError if a collective waits for a device that never reaches it.
std::vector<std::vector<HostArray>> evaluate_spmd(const Program& body, const MeshShape& mesh,
                                                  std::span<const std::vector<HostArray>> inputs,
                                                  const Evaluated& evaluated = {},
                                                  const Exchanged& exchanged = {});

/// The block of `whole` that `spec` assigns to a device.
HostArray block_of(const HostArray& whole, const Spec& spec, const MeshShape& mesh,
                   std::int64_t device);
/// Assembles the whole array from the devices' blocks. If several devices hold a block, the first
/// one's is used.
HostArray assemble(std::span<const HostArray> blocks, const Spec& spec, const MeshShape& mesh);

}  // namespace tessera::inline v0::spmd

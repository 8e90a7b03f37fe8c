// Runs a per-device program on every device of a mesh at once, with the ops' evaluators and
// collectives written from their definitions: the oracle for the executor. Slow, and independent of
// everything it judges.
#pragma once

#include "ir/host_array.h"
#include "ir/mesh.h"
#include "ir/program.h"

#include <functional>
#include <span>
#include <vector>

namespace tessera::inline v0::spmd {

/// Is told of each equation that was evaluated, but for collectives and what runs programs, and on
/// how many devices at once.
using Evaluated = std::function<void(const Program& p, const Equation& eqn, std::size_t devices)>;

/// Is told of each collective that was evaluated, once for each line of devices that it is among:
/// the bytes that each of them receives (reference_collectives.h).
using Exchanged = std::function<void(const Equation& eqn, std::span<const std::int64_t> received)>;

/// `inputs[d]` are device d's, d row-major over the mesh; so are the results. Devices whose
/// predicates agree run a branch or a round of a loop together. Throws CollectiveError when a
/// collective waits for a device that does not come.
std::vector<std::vector<HostArray>> evaluate_spmd(const Program& body, const MeshShape& mesh,
                                                  std::span<const std::vector<HostArray>> inputs,
                                                  const Evaluated& evaluated = {},
                                                  const Exchanged& exchanged = {});

/// The block of `whole` that `spec` gives to a device.
HostArray block_of(const HostArray& whole, const Spec& spec, const MeshShape& mesh,
                   std::int64_t device);
/// The whole from the devices' blocks; where several devices hold one block, the first one's.
HostArray assemble(std::span<const HostArray> blocks, const Spec& spec, const MeshShape& mesh);

}  // namespace tessera::inline v0::spmd

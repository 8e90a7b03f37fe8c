// What a step does, by the costs of its ops: what the runtime counts and plans predict.
#pragma once

#include "ir/op.h"
#include "ir/program.h"
#include "spmd/place/links.h"

namespace tessera::inline v0::tape {

/// By the op's rule and the types of its operands and results, in whole numbers, so that sums are
/// exact; nothing of an equation that only hands values on.
Cost cost_of(const Program& p, const Equation& eqn);

/// Bytes that one equation reads and writes as a step of its own: its operands and results, or
/// less where its rule says that it needs less of them.
double bytes_alone(const Program& p, const Equation& eqn);

/// Bytes that a kernel reads and writes. What it passes on inside takes none; of an operand counts
/// what its readers need, each element once.
double bytes_of_kernel(const Program& kernel);

/// A broadcast is a permutation.
spmd::MoveKind kind_of(Exchange exchange);

/// Bytes that a device receives in an equation that exchanges among so many devices, by the formulas
/// of spmd/place/links.h, whatever it shares with others here: that which receives most, so in the largest
/// of unequal groups. 0 where nothing is exchanged, and where a device is alone.
std::int64_t received_bytes(const Program& p, const Equation& eqn, std::int64_t devices);

/// The same among the axes of a mesh that the equation names, and the shares along each of them: what
/// plans predict and the runtime counts. Of groups they are in proportion to those among all devices.
/// Equations that one message carries (transform/messages.h) name the same axes: their bytes add up,
/// and the latency of a link is paid once.
struct Received {
  std::int64_t bytes = 0;
  spmd::Crossings along;
};
Received received_along(const Program& p, std::span<const Equation* const> message,
                        const spmd::AtomMesh& atoms, const spmd::Links& links);

}  // namespace tessera::inline v0::tape

// The work of a step, from the cost rules of its ops. The runtime counts it and explain() predicts
// it.
#pragma once

#include "ir/op.h"
#include "ir/program.h"
#include "spmd/place/links.h"

namespace tessera::inline v0::tape {

/// Evaluates the op's cost rule on the operand and result types. Costs are whole numbers, so that
/// sums are exact. Equations that only forward or view values cost nothing.
Cost cost_of(const Program& p, const Equation& eqn);

/// Bytes that an equation reads and writes as a separate step: its operands and results, or fewer
/// if the op's cost rule gives fewer.
double bytes_alone(const Program& p, const Equation& eqn);

/// Bytes that a kernel reads and writes. Values that stay inside the kernel count nothing; for an
/// operand, only the elements that its readers need count, each once.
double bytes_of_kernel(const Program& kernel);

/// A broadcast counts as a permutation.
spmd::MoveKind kind_of(Exchange exchange);

/// Bytes that a device receives in an equation that communicates among this many devices, by the
/// formulas of spmd/place/links.h, even if the devices share memory here. If the groups are
/// unequal, this is the device of the largest group. 0 if nothing is communicated or the device is
/// alone.
std::int64_t received_bytes(const Program& p, const Equation& eqn, std::int64_t devices);

/// The bytes that a device receives, and their distribution over the mesh axes that the equations
/// name: explain() predicts them and the runtime counts them. With groups, the distribution is
/// scaled from the one among all devices. The equations of one message (transform/messages.h) name
/// the same axes; their bytes add up, and the latency of a link is paid once.
struct Received {
  std::int64_t bytes = 0;
  spmd::Crossings along;
};
Received received_along(const Program& p, std::span<const Equation* const> message,
                        const spmd::AtomMesh& atoms, const spmd::Links& links);

}  // namespace tessera::inline v0::tape

// The cost of the communication inside an equation whose work is divided, as emitted by the op's
// own rule (Op::local).
#pragma once

#include "spmd/partition/division.h"
#include "spmd/reshard/routes.h"

namespace tessera::inline v0::spmd {

struct MoveCost {
  double seconds = 0;
  int collectives = 0;
  void add(const MoveCost& other) {
    seconds += other.seconds;
    collectives += other.collectives;
  }
};
/// Elements that windows read of operand i beyond a device's own part.
MoveCost fetching_cost(const AtomMesh& mesh, const DivisionRule& rule, std::size_t operand,
                       const Division& division, const Routes& routes);
/// Totals of parts, and candidates where the best elements are selected.
MoveCost settling_cost(const AtomMesh& mesh, const DivisionRule& rule, const Division& division,
                       const Routes& routes);

}  // namespace tessera::inline v0::spmd

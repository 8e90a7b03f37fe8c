// What the devices send one another within an equation whose work is divided, by the op's own rule
// (Op::local).
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
/// What windows read of operand i beyond a device's part of it.
MoveCost fetching_cost(const AtomMesh& mesh, const DivisionRule& rule, std::size_t operand,
                       const Division& division, const Routes& routes);
/// Totals of parts, and what parts offer where the best are chosen.
MoveCost settling_cost(const AtomMesh& mesh, const DivisionRule& rule, const Division& division,
                       const Routes& routes);

}  // namespace tessera::inline v0::spmd

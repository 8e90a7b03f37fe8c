// Places the arguments and results of a program on its devices, as its module declares them.
#pragma once

#include "pjrt/compiled.h"
#include "spmd/partition/program_shardings.h"
#include "stablehlo/import/import.h"

#include <memory>
#include <vector>

namespace tessera::inline v0::pjrt {

/// Fills in the arguments. Those whose sharding is not declared are replicated.
void place_arguments(Compiled& c, const stablehlo::Signature& signature);

/// A program for several devices.
struct Divided {
  ProgramPtr program;                                 // the per-device program if `how` is set
  std::shared_ptr<const spmd::ProgramShardings> how;  // null: the program runs as it is
};
/// Partitions the imported program. The arguments must have been placed.
Divided divided(const Compiled& c, const stablehlo::Signature& signature, const ProgramPtr& whole);

/// Fills in the results of the program that runs. `outputs` are those of the imported program.
void place_results(Compiled& c, const stablehlo::Signature& signature,
                   const std::vector<stablehlo::NamedType>& outputs, const Program& program);

/// Decides which arguments are donated: those whose memory a result is declared to use. If an
/// argument is declared as donated without a particular result, it is if there is a result of its
/// size that no other argument serves.
void take_arguments(Compiled& c, const stablehlo::Signature& signature);

}  // namespace tessera::inline v0::pjrt

// Places the arguments and results of a program on its devices, as its module declares them.
#pragma once

#include "pjrt/compiled.h"
#include "spmd/partition/program_shardings.h"
#include "stablehlo/import/import.h"

#include <memory>
#include <vector>

namespace tessera::inline v0::pjrt {

/// Fills in the arguments. Every device has the whole of those whose sharding is not declared.
void place_arguments(Compiled& c, const stablehlo::Signature& signature);

/// A program for several devices.
struct Divided {
  ProgramPtr program;  // with a part for each device, if `how` is set
  std::shared_ptr<const spmd::ProgramShardings> how;  // null: the program runs as it is
};
/// Partitions the imported program for the arguments, which are placed already.
Divided divided(const Compiled& c, const stablehlo::Signature& signature, const ProgramPtr& whole);

/// Fills in the results of the program that runs. `outputs` are those of the imported program.
void place_results(Compiled& c, const stablehlo::Signature& signature,
                   const std::vector<stablehlo::NamedType>& outputs, const Program& program);

/// Decides which arguments each call takes: those whose memory a result is declared to use. If the
/// caller leaves open which result may use an argument's memory, the argument is taken if there is
/// a result of its size that no other argument serves.
void take_arguments(Compiled& c, const stablehlo::Signature& signature);

}  // namespace tessera::inline v0::pjrt

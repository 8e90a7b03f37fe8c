// Emits a program as the text of a StableHLO module.
#pragma once

#include "ir/program.h"

#include <string>
#include <vector>

namespace tessera::inline v0::stablehlo {

struct Exported {
  std::string name = "main";  // of the module
  std::vector<std::string> inputs, outputs;
  /// The operands of the program that follow the named inputs.
  std::vector<Literal> constants;
};

/// A module whose public function @main is the program. Arguments carry their names as locations,
/// results as `jax.result_info`. Throws TraceError if an op has no form in StableHLO.
std::string emit_module(const Program& p, const Exported& names);

}  // namespace tessera::inline v0::stablehlo

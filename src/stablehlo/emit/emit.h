// A program as the text of a StableHLO module.
#pragma once

#include "ir/program.h"

#include <string>
#include <vector>

namespace tessera::inline v0::stablehlo {

struct Exported {
  std::string name = "main";  // of the module
  std::vector<std::string> inputs, outputs;
  /// What the program takes behind the named inputs.
  std::vector<Literal> constants;
};

/// A module whose public function @main is the program. Arguments have their names as locations,
/// results as `jax.result_info`. TraceError where an op has no form in StableHLO.
std::string emit_module(const Program& p, const Exported& names);

}  // namespace tessera::inline v0::stablehlo

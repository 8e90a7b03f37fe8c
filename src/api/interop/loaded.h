// What is behind a loaded function.
#pragma once

#include "stablehlo/import/import.h"

#include <tessera/stablehlo.h>

namespace tessera::inline v0::detail {

struct LoadedModule {
  ProgramPtr program;  // (arguments..., constants...) -> results
  std::vector<ArrayType> inputs, outputs;
  std::vector<Array> constants;
  std::string name;
};

/// The text of a file; IoError where it cannot be read.
stablehlo::SourcePtr read_source(const std::string& path, const SourceLoc& loc);
/// The only module of a text; IoError where there are several.
stablehlo::ModuleSyntax only_module(const stablehlo::SourcePtr& source);
/// The constants of an imported function as arrays.
std::vector<Array> constants_of(const stablehlo::Imported& imported);

}  // namespace tessera::inline v0::detail

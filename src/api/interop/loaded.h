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

/// The bytes of a file; IoError where it cannot be read.
stablehlo::SourcePtr read_source(const std::string& path, const SourceLoc& loc);
/// The parts of a file that hold modules of their own: one of a portable artifact or of a file of
/// jax.export, and those of a text that lines "// -----" separate.
std::vector<stablehlo::Part> parts_of_file(const stablehlo::Source& source);
std::vector<stablehlo::ModuleSyntax> modules_of(const stablehlo::SourcePtr& source,
                                                stablehlo::Part part);
/// The only module of a file; IoError where there are several.
stablehlo::ModuleSyntax only_module(const stablehlo::SourcePtr& source);
/// The constants of an imported function as arrays.
std::vector<Array> constants_of(const stablehlo::Imported& imported);

}  // namespace tessera::inline v0::detail

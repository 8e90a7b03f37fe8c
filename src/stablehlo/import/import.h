// A function of a module as a program.
#pragma once

#include "ir/program.h"
#include "stablehlo/import/data.h"
#include "stablehlo/text/syntax.h"

#include <string>
#include <vector>

namespace tessera::inline v0::stablehlo {

struct NamedType {
  std::string name;
  Type type;
};

/// What `check.` operations ask of two arrays.
struct Check {
  enum Kind { equal, close, almost_equal } kind = equal;
  double tolerance = 0;  // almost_equal: absolute; close: in units of the last place
  double least = 0;      // close: fewest units that some element differs by
  std::string place;     // "model.mlir, line 3, column 7"
};

struct Imported {
  /// (arguments..., constants...) -> (results..., for each check the two arrays).
  ProgramPtr program;
  std::vector<NamedType> inputs, outputs;
  std::vector<Literal> constants;
  std::vector<Check> checks;
};

/// IoError where the module has no such function, or where something in it is not supported, with
/// the place.
Imported import_function(const ModuleSyntax& module, const std::string& function);

}  // namespace tessera::inline v0::stablehlo

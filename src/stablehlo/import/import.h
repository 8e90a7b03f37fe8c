// A function of a module as a program.
#pragma once

#include "ir/program.h"
#include "stablehlo/import/data.h"
#include "stablehlo/text/syntax.h"

#include <stdexcept>
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

/// A `shape_assertion` of the module that the arguments' shapes break; what() is its text.
struct BrokenAssertion : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ImportOptions {
  /// What the function is called with, where it leaves dimensions open (-1 in `Imported::inputs`);
  /// empty: it leaves none.
  std::vector<Shape> arguments = {};
  /// Where a mesh has as many devices its shardings are kept; 0: none are.
  std::int64_t devices = 0;
};

/// IoError where the module has no such function, or where something in it is not supported, with
/// the place.
/// The arguments and results that a function declares; -1 stands for dimensions that it leaves open.
struct Signature {
  std::vector<NamedType> inputs, outputs;
  /// Whether a dimension of an argument is open.
  bool open = false;
};
Signature signature_of(const ModuleSyntax& module, const std::string& function);

Imported import_function(const ModuleSyntax& module, const std::string& function,
                         const ImportOptions& options = {});

}  // namespace tessera::inline v0::stablehlo

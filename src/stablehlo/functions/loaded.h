// The state behind a loaded function.
#pragma once

#include "api/trace/trace.h"
#include "stablehlo/import/import.h"

#include <tessera/stablehlo.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace tessera::inline v0::detail {

struct LoadedProgram {
  ProgramPtr program;  // (arguments..., constants...) -> results
  std::vector<Array> constants;
  mutable EarlierRuns runs;
};

struct LoadedModule {
  std::vector<ArrayType> inputs, outputs;
  std::string name;
  /// The program for arguments of these shapes. Throws ShapeError if the module asserts other
  /// shapes.
  std::shared_ptr<const LoadedProgram> program(std::span<const Array> arguments,
                                               const SourceLoc& loc) const;

  /// The only program, if no dimension is dynamic.
  std::shared_ptr<const LoadedProgram> fixed;
  /// Otherwise the syntax from which one program per set of sizes is imported, and the programs of
  /// recent sizes.
  stablehlo::ModuleSyntax syntax;
  stablehlo::ImportOptions options;
  struct Settled {
    std::shared_ptr<const LoadedProgram> program;
    std::uint64_t used = 0;
  };
  static constexpr std::size_t kMostSizes = 64;
  mutable std::mutex mutex;
  mutable std::uint64_t calls = 0;
  mutable std::map<std::vector<std::vector<std::int64_t>>, Settled> by_shapes;
};

/// The bytes of a file; throws IoError if it cannot be read.
stablehlo::SourcePtr read_source(const std::string& path, const SourceLoc& loc);
/// The parts of a file that each hold a module: one for a portable artifact or a file of
/// jax.export, and as many as lines "// -----" separate for a text.
std::vector<stablehlo::Part> parts_of_file(const stablehlo::Source& source);
std::vector<stablehlo::ModuleSyntax> modules_of(const stablehlo::SourcePtr& source,
                                                stablehlo::Part part);
/// The only module of a file; throws IoError if there are several.
stablehlo::ModuleSyntax only_module(const stablehlo::SourcePtr& source);
/// The constants of an imported function as arrays.
std::vector<Array> constants_of(const stablehlo::Imported& imported);

}  // namespace tessera::inline v0::detail

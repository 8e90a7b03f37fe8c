// Imports a function of a module as a program.
#pragma once

#include "ir/callback.h"
#include "ir/combiner.h"
#include "ir/mesh.h"
#include "ir/program.h"
#include "stablehlo/import/data.h"
#include "stablehlo/text/syntax.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::stablehlo {

/// The sharding that a module declares for an argument or a result.
struct DeclaredSharding {
  /// With the module's order of the devices. A mesh without axes has one device, of any id.
  MeshRef mesh;
  Spec spec;
  Ints open;  // dimensions that the partitioner may shard further
  /// The axes along which the devices hold partial results, and the combiner of the reduction whose
  /// result is the array.
  Strings unreduced;
  Combiner combiner = Combiner::add;
  bool has_terms() const { return mesh->size_of(unreduced) > 1; }
};

/// The type and the sharding of the array of partial results that stands for an unreduced array:
/// the unreduced axes shard its dimension 0 into rows.
Type rows_of(const Type& type, const DeclaredSharding& sharding);
DeclaredSharding rows_of(DeclaredSharding sharding);

struct NamedType {
  std::string name;
  Type type;
  bool donated = false;  // whether the caller donates the argument
  // The fields below are filled only by signature_of.
  std::string element = {};      // the element type as StableHLO spells it: "f32", "ui8", "i4"
  std::string memory_kind = {};  // empty if the module declares none
  std::string layout = {};       // "{0,1}", minor dimension first; "default", "auto" or empty
  /// The declared result that takes the argument's memory.
  std::optional<std::int64_t> result = {};
  std::optional<DeclaredSharding> sharding = {};
  /// Set by import_function if the program returns a result as an array of the values that the
  /// devices have along the unreduced axes (rows_of). The module claims that the values are equal,
  /// but they are not, so none of them can be preferred.
  std::optional<DeclaredSharding> own_values = {};
};

/// The comparison of two arrays that a `check.` operation makes.
struct Check {
  enum Kind { equal, close, almost_equal } kind = equal;
  double tolerance = 0;  // almost_equal: absolute; close: in ulps
  double least = 0;      // close: some element must differ by at least this many ulps
  std::string place;     // "model.mlir, line 3, column 7"
};

struct Imported {
  /// (arguments..., constants...) -> (results..., the two arrays of each check).
  ProgramPtr program;
  std::vector<NamedType> inputs, outputs;
  std::vector<Literal> constants;
  std::vector<Check> checks;
};

/// A `shape_assertion` of the module that the shapes of the arguments violate; what() is its text.
struct BrokenAssertion : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A call of a host function, which has a number chosen by the module's writer. The element types
/// are those that the module declares ("f32", "i4", "f8E4M3FN"), in order.
struct HostCall {
  std::int64_t index = 0;
  /// The function is never called, but is given its operand's sharding (HostFunction::placed).
  bool only_placed = false;
  std::vector<std::string_view> operands, results;
};

struct ImportOptions {
  /// The shapes of the arguments of a call if the function has dynamic dimensions (-1 in
  /// `Imported::inputs`); empty if it has none.
  std::vector<Shape> arguments = {};
  /// Shardings of meshes with this many devices are kept; 0: none are.
  std::int64_t devices = 0;
  /// The platform of these devices; empty for the CPU.
  std::string platform = {};
  /// Whether the caller has one value per device, which may differ where the module has one array.
  /// The program then takes an argument that is declared as unreduced as an array of its partial
  /// results (rows_of) and returns `NamedType::own_values`. Otherwise it takes the reduced array
  /// and returns the value of the first device.
  bool has_rows = false;
  /// Returns the function that the module's custom call `tessera_python_callback` calls, or to
  /// which its `tessera_inspect_sharding` reports a sharding. If absent, such calls are errors.
  std::function<std::shared_ptr<const HostFunction>(const HostCall&)> host_function = {};
};

/// The declared arguments and results of a function; -1 stands for a dynamic dimension.
struct Signature {
  std::vector<NamedType> inputs, outputs;
  /// Whether an argument has a dynamic dimension.
  bool open = false;
  /// By declared argument and by declared result, the index of its (first) array among `inputs` or
  /// `outputs`; -1 for a token.
  std::vector<std::int64_t> arguments, results;
  std::int64_t replicas = 1, partitions = 1;
  /// The module's meshes over all these devices.
  std::vector<MeshRef> meshes;
  /// Whether the function is written for one of these devices, so that the types of its inputs and
  /// outputs have a leading dimension with one row per device.
  bool per_device = false;
};
/// Throws IoError if the module has no such function. A sharding that cannot be read is left out;
/// importing the function with `ImportOptions::devices` reports what is wrong with it.
Signature signature_of(const ModuleSyntax& module, const std::string& function);

/// Throws IoError with the position if the module has no such function, or uses something that is
/// not supported.
Imported import_function(const ModuleSyntax& module, const std::string& function,
                         const ImportOptions& options = {});

}  // namespace tessera::inline v0::stablehlo

// From syntax to programs: functions, regions and operations. What an operation becomes is a table
// (table.cc).
#pragma once

#include "stablehlo/import/data.h"
#include "stablehlo/import/import.h"
#include "stablehlo/import/narrow.h"
#include "stablehlo/import/scope.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace tessera::inline v0::stablehlo {

class Importer;

/// An operation that is being imported: its operands as values of the program, its attributes read
/// with their defaults. Everything that does not fit is an IoError with the place.
class Reading {
 public:
  Reading(Importer& importer, const Scope& scope, const OperationSyntax& op);
  ~Reading();
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  Importer& importer;
  const Scope& scope;
  const OperationSyntax& op;
  Builder& b;
  std::vector<Bound> operands;
  Values in;  // all operands' arrays
  /// Types of results whose shapes operands settle, which are among the operands no more; empty where
  /// they are as declared.
  std::vector<Type> settled_results;

  [[noreturn]] void refuse(const std::string& problem, const std::string& rule = {},
                           const std::string& advice = {}) const;
  void need_operands(std::size_t n) const;
  void need_regions(std::size_t n) const;

  const AttributeSyntax* find(std::string_view name) const { return op.find(name); }
  const AttributeSyntax& need(std::string_view name) const;
  Ints ints(std::string_view name) const;
  Ints ints_or(std::string_view name, Ints otherwise) const;
  /// Pairs of numbers, one a dimension: padding.
  IntLists rows_or(std::string_view name, IntLists otherwise) const;
  std::int64_t integer(std::string_view name) const;
  std::int64_t integer_or(std::string_view name, std::int64_t otherwise) const;
  bool flag_or(std::string_view name, bool otherwise) const;
  double real_or(std::string_view name, double otherwise) const;
  /// Of an enumeration, a symbol or a string.
  std::string word_or(std::string_view name, std::string otherwise) const;
  /// Fields of a struct: #stablehlo.gather<...>.
  Ints field(const AttributeSyntax& fields, std::string_view name) const;

  /// The declared type of a result; refuses what is no array of known shape.
  Type result(std::size_t i = 0) const;
  DType result_dtype(std::size_t i = 0) const;
  /// The shape of the only result: as declared, or where dimensions are open what an operand says.
  Shape result_shape(std::size_t operand) const;
  /// The integers that an operand holds, which decide a shape; refuses what the arguments' shapes
  /// do not settle.
  Ints settled(std::size_t operand) const;
  /// Refuses dimensions that x does not have.
  void check_dims(const Ints& dims, int rank, const char* what) const;
  const Known* known(Value v) const { return scope.level().known(v); }
  /// The integers that an operand holds, where they are known.
  std::optional<Ints> known_integers(Value v) const;
  /// The scalar that fills x, where it is known, as a double.
  std::optional<double> known_number(Value v) const;
};

/// A region as a program of its own: its arguments, then what it reads from outside.
/// "(f32[2], i32[])".
std::string text_of(const std::vector<Type>& types);
/// Whether an array is of a declared type, whose dimensions may be open.
bool fits(const Type& declared, const Type& got);
bool fits(const std::vector<Type>& declared, const std::vector<Type>& got);

struct RegionProgram {
  std::shared_ptr<Program> program;
  Values captured;  // of the level around
};

/// What is done with the arguments and results of a region inside it, by number.
struct RegionEnds {
  std::function<Value(std::size_t, Value)> argument = {}, result = {};
};

/// The devices that a function is imported for: each runs it. Device (r, p) is number
/// r * partitions + p.
struct Devices {
  std::int64_t replicas = 1, partitions = 1;
  DeviceMesh mesh;
  /// The axes along which the program is for one device; along the others the partitioner divides
  /// it.
  Strings manual = {};
  /// Whether values are typed with the axes along which they differ.
  bool typed = false;
  std::int64_t count() const { return replicas * partitions; }
};

using Rule = Values (*)(Reading& r);
/// How an operation is imported.
struct Import {
  Rule rule;
  const Op* ours = nullptr;  // the elementwise op that it is by its spelling, where it is one
};
/// Null where nothing imports it.
const Import* import_of(std::string_view name);

class Importer {
 public:
  Importer(const ModuleSyntax& module, const ImportOptions& options);

  Imported import(const std::string& function);
  Signature signature(const std::string& function) const;

  const ModuleSyntax& module;
  const ImportOptions options;
  std::optional<Devices> devices;  // none: one, which knows of no others
  /// The results of a function on these arguments, written where the scope is.
  std::vector<Bound> call(const Reading& r, const std::string& function,
                          const std::vector<Bound>& arguments);
  /// A region whose arguments have these types, or where there are none those that it declares.
  RegionProgram region(const Reading& r, const RegionSyntax& region,
                       const std::vector<Type>& arguments = {}, const RegionEnds& ends = {});
  /// As `region`, where numbers that constants and shapes settle outside are constants inside.
  RegionProgram settled_region(const Reading& r, const RegionSyntax& region);
  /// The results of a region on these arguments, written where it stands.
  std::vector<Bound> in_place(const Reading& r, const RegionSyntax& region,
                              const std::vector<Bound>& arguments);
  /// A region that reads nothing from outside but such numbers.
  ProgramPtr closed_region(const Reading& r, const RegionSyntax& region);
  const FunctionSyntax& need_function(const Reading& r, const std::string& name) const;
  /// A function as a program of its own; each is made once.
  ProgramPtr function(const Reading& r, const std::string& function);
  /// A constant in the program; a large one becomes an input.
  Value constant(const Scope& scope, const AttributeSyntax& data);
  /// Equality that a test wants; of the outermost program.
  void add_check(const Reading& r, Check check, Value got, Value want);

  /// By the scalars of the reflectors that JAX makes Q of, the matrix that they are of.
  std::vector<std::pair<Value, Value>> reflected;
  /// x as a sharding says that it shall lie; x itself where shardings are not kept, and where it
  /// says nothing.
  Value constrained(Value x, const AttributeSyntax& sharding, const Ints& open = {}) const;
  /// The mesh of a sharding, and how it cuts an array of so many dimensions.
  MeshRef mesh_of(const AttributeSyntax& sharding) const;
  struct Cut {
    Spec spec;
    Ints open;
    /// The axes along which the devices have parts of a sum, of which the array is the whole, or of
    /// another reduction.
    Strings unreduced = {};
    std::string_view reduction = "sum";
  };
  Cut cut_of(const AttributeSyntax& sharding, int rank) const;
  /// The same of shardings that are texts; nothing where it says of no array how it lies.
  std::optional<MeshRef> mesh_of_tiles(const AttributeSyntax& sharding, int rank) const;
  /// The mesh whose axes the module's shardings of the older form go along, over so many devices.
  const MeshRef& tile_mesh(std::int64_t devices) const;
  Cut cut_of_tiles(const AttributeSyntax& sharding, int rank, const MeshRef& mesh) const;
  /// The axes along which such a sharding says that the array is a device's own.
  Strings manual_of_tiles(const AttributeSyntax& sharding, const MeshRef& mesh) const;
  /// What an argument or result says of where it lies, in either form; null where it says nothing.
  static const AttributeSyntax* sharding_in(const Attributes& attributes);

  const Type& type(const TypeSyntax& t) const;
  /// As `type`, where dimensions may be open: -1.
  const Type& declared(const TypeSyntax& t) const { return known_type(t).type; }
  /// The types of the arrays in it, as declared: one of a tensor, several of a tuple, none of a
  /// token.
  std::vector<Type> leaf_types(const TypeSyntax& t) const;

  /// What operands are read into: an operation hands its memory on to the next one.
  struct Operands {
    std::vector<Bound> bound;
    Values values;
  } spare;

 private:
  struct KnownType {
    Type type;
    const Narrow* narrow = nullptr;  // of elements narrower than any dtype
  };
  const KnownType& known_type(const TypeSyntax& t) const;
  const FunctionSyntax& entry(const std::string& function) const;
  Value constrained_by_tiles(Value x, const AttributeSyntax& sharding, const Ints& open) const;
  Value lying(Value x, const MeshRef& mesh, const Spec& spec, const Ints& open) const;
  /// A program is partitioned over one mesh: that of its first computation for each device, or else
  /// of its first sharding that is kept.
  bool is_partitioned_over(const MeshRef& mesh) const;
  Strings labels_of(const FunctionSyntax& f) const;
  /// Replicas and partitions that the function communicates between outside of regions of its own.
  std::optional<Devices> devices_of(const FunctionSyntax& f) const;
  Imported import_on_devices(const FunctionSyntax& f, const Signature& s, const Devices& d);
  std::vector<Bound> block(Scope& scope, const RegionSyntax& region);
  void operation(Scope& scope, const OperationSyntax& op);
  void bind(const OperationSyntax& op, const Scope& scope, const Values& results);
  void within_types(const OperationSyntax& op, Values& results) const;
  void count(const OperationSyntax& op);

  Imported out_;
  Level* top_ = nullptr;
  Values checked_;
  std::size_t operations_ = 0;
  std::vector<Bound> bound_;  // the results of the operation that is read last
  int depth_ = 0;
  std::vector<const FunctionSyntax*> calls_;  // under way
  std::unordered_map<std::string_view, const FunctionSyntax*> functions_;
  mutable std::optional<MeshRef> tile_mesh_, partitioned_over_;
  mutable std::map<std::string, MeshRef, std::less<>> meshes_;  // by symbol
  Memory rewritten_;  // of blocks that are imported in another form
  mutable std::unordered_map<const TypeData*, KnownType> types_;
  mutable const TypeData* last_type_ = nullptr;  // that was asked for
  mutable const KnownType* last_known_type_ = nullptr;
  std::unordered_map<const FunctionSyntax*, ProgramPtr> programs_;
  std::unordered_map<const AttributeSyntax*, Value> large_;
};

/// `p`, whose inputs and outputs are scalars, element by element on arrays of one shape.
Values elementwise(Builder& b, const Program& p, const Values& arrays, const Shape& shape);

}  // namespace tessera::inline v0::stablehlo

// Converts syntax to programs: functions, regions and operations. table.cc maps each operation to
// its rule.
#pragma once

#include "stablehlo/import/data.h"
#include "stablehlo/import/import.h"
#include "stablehlo/import/narrow.h"
#include "stablehlo/import/origins.h"
#include "stablehlo/import/scope.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace tessera::inline v0::stablehlo {

class Importer;

/// An operation that is being imported: its operands as values of the program, and access to its
/// attributes with their defaults. Every mismatch is an IoError with the position.
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
  Values in;  // the arrays of all operands
  /// The types of the results if operands give their shapes; those operands are removed. Empty if
  /// the types are as declared.
  std::vector<Type> settled_results;

  [[noreturn]] void refuse(const std::string& problem, const std::string& rule = {},
                           const std::string& advice = {}) const;
  void need_operands(std::size_t n) const;
  void need_regions(std::size_t n) const;

  const AttributeSyntax* find(std::string_view name) const { return op.find(name); }
  const AttributeSyntax& need(std::string_view name) const;
  Ints ints(std::string_view name) const;
  Ints ints_or(std::string_view name, Ints otherwise) const;
  /// Pairs of numbers, one per dimension, such as padding.
  IntLists rows_or(std::string_view name, IntLists otherwise) const;
  std::int64_t integer(std::string_view name) const;
  std::int64_t integer_or(std::string_view name, std::int64_t otherwise) const;
  bool flag_or(std::string_view name, bool otherwise) const;
  double real_or(std::string_view name, double otherwise) const;
  /// The text of an enumeration value, a symbol or a string.
  std::string word_or(std::string_view name, std::string otherwise) const;
  /// A field of a struct such as #stablehlo.gather<...>.
  Ints field(const AttributeSyntax& fields, std::string_view name) const;

  /// The declared type of a result; fails unless it is an array of known shape.
  Type result(std::size_t i = 0) const;
  DType result_dtype(std::size_t i = 0) const;
  /// The shape of the only result: the declared one or, if that has dynamic dimensions, the one
  /// that an operand holds.
  Shape result_shape(std::size_t operand) const;
  /// The integers of an operand that decides a shape; fails unless the shapes of the arguments
  /// determine them.
  Ints settled(std::size_t operand) const;
  /// Fails if `dims` contains a dimension that x does not have.
  void check_dims(const Ints& dims, int rank, const char* what) const;
  const Known* known(Value v) const { return scope.level().known(v); }
  /// The integers of an operand, if they are known.
  std::optional<Ints> known_integers(Value v) const;
  /// The scalar that fills x as a double, if it is known.
  std::optional<double> known_number(Value v) const;
};

/// Types as a list: "(f32[2], i32[])".
std::string text_of(const std::vector<Type>& types);
/// Whether an array has a declared type, which may have dynamic dimensions.
bool fits(const Type& declared, const Type& got);
bool fits(const std::vector<Type>& declared, const std::vector<Type>& got);

/// A region as a separate program: its inputs are its arguments, then the captured values.
struct RegionProgram {
  std::shared_ptr<Program> program;
  Values captured;  // of the outer level
};

/// Hooks that transform the arguments and results of a region, given their indices.
struct RegionEnds {
  std::function<Value(std::size_t, Value)> argument = {}, result = {};
};

/// The devices that a function is imported for; each runs it. Device (r, p) has the number r *
/// partitions + p.
struct Devices {
  std::int64_t replicas = 1, partitions = 1;
  DeviceMesh mesh;
  /// The axes along which the program is written per device; the partitioner divides it along the
  /// others.
  Strings manual = {};
  /// Whether values are typed with the axes over which they vary.
  bool typed = false;
  std::int64_t count() const { return replicas * partitions; }
};

using Rule = Values (*)(Reading& r);
/// The import rule of an operation.
struct Import {
  Rule rule;
  const Op* ours = nullptr;  // the elementwise op with this spelling, if there is one
};
/// Null if no rule imports the operation.
const Import* import_of(std::string_view name);

class Importer {
 public:
  Importer(const ModuleSyntax& module, const ImportOptions& options);

  Imported import(const std::string& function);
  Signature signature(const std::string& function) const;

  const ModuleSyntax& module;
  const ImportOptions options;
  std::optional<Devices> devices;  // absent if the function is for one device
  /// Inlines a function on these arguments into the current scope; returns its results.
  std::vector<Bound> call(const Reading& r, const std::string& function,
                          const std::vector<Bound>& arguments);
  /// A region with arguments of these types, or if none are given, of the types that it declares.
  RegionProgram region(const Reading& r, const RegionSyntax& region,
                       const std::vector<Type>& arguments = {}, const RegionEnds& ends = {});
  /// As `region`; numbers outside that constants and shapes determine become constants inside.
  RegionProgram settled_region(const Reading& r, const RegionSyntax& region);
  /// Inlines a region on these arguments; returns its results.
  std::vector<Bound> in_place(const Reading& r, const RegionSyntax& region,
                              const std::vector<Bound>& arguments);
  /// A region that reads nothing from outside except such numbers.
  ProgramPtr closed_region(const Reading& r, const RegionSyntax& region);
  const FunctionSyntax& need_function(const Reading& r, const std::string& name) const;
  /// A function as a separate program; each is imported once.
  ProgramPtr function(const Reading& r, const std::string& function);
  /// A constant of the program; a large one becomes an input.
  Value constant(const Scope& scope, const AttributeSyntax& data);
  /// Adds a comparison that a test asks for to the outermost program.
  void add_check(const Reading& r, Check check, Value got, Value want);

  /// Pairs of the scalars of Householder reflectors, from which JAX forms Q, and the matrix that
  /// was factored.
  std::vector<std::pair<Value, Value>> reflected;
  /// The partial results of a reduction, as rows along these axes of the mesh (device_rows.h), and
  /// the spec of the array that is their reduction.
  struct Terms {
    Value rows;
    MeshRef mesh;
    Strings axes;
    Combiner combiner = Combiner::add;
    Spec spec;
  };
  /// The reduction of the partial results, from which `terms_of` then finds them.
  Value reduced(Terms terms);
  /// Null if the partial results of the array are not known.
  const Terms* terms_of(Value x) const;
  /// The first device's value of values that differ between devices, which are rows as partial
  /// results are.
  Value first_of(Terms values);
  /// Constrains x to a sharding; returns x itself if shardings are not kept or this one is
  /// unspecified.
  Value constrained(Value x, const AttributeSyntax& sharding, const Ints& open = {}) const;
  /// The same for an argument or result of the program. It is reduced even if it is declared as
  /// unreduced.
  Value constrained_whole(Value x, const AttributeSyntax& sharding) const;
  /// Constrains x to a spec over a mesh. The `open` dimensions may be sharded further.
  Value lying(Value x, const MeshRef& mesh, const Spec& spec, const Ints& open) const;
  /// The module's meshes with this number of devices, except those that cannot be read.
  std::vector<MeshRef> meshes_over(std::int64_t devices) const;
  /// The mesh of a sharding; and (cut_of) how it partitions an array of rank `rank`.
  MeshRef mesh_of(const AttributeSyntax& sharding) const;
  struct Cut {
    Spec spec;
    Ints open;
    /// The axes along which the devices hold partial results, whose reduction is the array.
    Strings unreduced = {};
    Combiner combiner = Combiner::add;
  };
  Cut cut_of(const AttributeSyntax& sharding, int rank) const;
  /// As mesh_of, for shardings given as text; nothing if the text specifies no sharding.
  std::optional<MeshRef> mesh_of_tiles(const AttributeSyntax& sharding, int rank) const;
  /// The mesh of `devices` devices whose axes fit all of the module's shardings in the older form.
  const MeshRef& tile_mesh(std::int64_t devices) const;
  /// The sharding among the attributes of an argument or result of rank `rank`, even if shardings
  /// are not kept; nothing if there is none, or it cannot be read.
  std::optional<DeclaredSharding> declared_sharding(const Attributes& attributes, int rank) const;
  Cut cut_of_tiles(const AttributeSyntax& sharding, int rank, const MeshRef& mesh) const;
  /// The axes along which such a sharding makes the array manual (a device's own).
  Strings manual_of_tiles(const AttributeSyntax& sharding, const MeshRef& mesh) const;
  /// The sharding among the attributes of an argument or result, in either form; null if there is
  /// none.
  static const AttributeSyntax* sharding_in(const Attributes& attributes);

  const Type& type(const TypeSyntax& t) const;
  /// As `type`, but dimensions may be dynamic: -1.
  const Type& declared(const TypeSyntax& t) const { return known_type(t).type; }
  /// The declared types of the arrays in a type: one for a tensor, several for a tuple, none for a
  /// token.
  std::vector<Type> leaf_types(const TypeSyntax& t) const;

  /// The first array of each sharding group.
  std::map<std::int64_t, Value> sharding_groups;

  /// Storage for operands that each operation passes on to the next, to avoid allocations.
  struct Operands {
    std::vector<Bound> bound;
    Values values;
  } spare;

 private:
  struct KnownType {
    Type type;
    const Narrow* narrow = nullptr;  // of element types narrower than any dtype
  };
  const KnownType& known_type(const TypeSyntax& t) const;
  const FunctionSyntax& entry(const std::string& function) const;
  std::optional<DeclaredSharding> declared_by_tiles(const AttributeSyntax& sharding,
                                                    int rank) const;
  std::optional<DeclaredSharding> taken_in_rows(const Attributes& attributes, int rank) const;
  const Terms* returned_in_rows(Value x, const Attributes& attributes) const;
  Value constrained_by_tiles(Value x, const AttributeSyntax& sharding, const Ints& open) const;
  /// The mesh that the program is partitioned over: that of its first manual computation or, if
  /// there is none, of its first kept sharding, which `mesh` then is.
  const MeshRef& partitioned_over(const MeshRef& mesh) const;
  Strings labels_of(const FunctionSyntax& f) const;
  void declare(const ArgumentSyntax& a, NamedType described, std::vector<NamedType>& arrays,
               std::vector<std::int64_t>& first) const;
  /// The replicas and partitions that the module declares; one of each if it declares impossible
  /// numbers.
  Devices module_devices() const;
  /// The replicas and partitions that the function communicates between, outside of manual regions.
  std::optional<Devices> devices_of(const FunctionSyntax& f) const;
  Imported import_on_devices(const FunctionSyntax& f, const Signature& s, const Devices& d);
  std::vector<Bound> block(Scope& scope, const RegionSyntax& region);
  void operation(Scope& scope, const OperationSyntax& op);
  void bind(const OperationSyntax& op, const Scope& scope, const Values& results);
  void within_types(const OperationSyntax& op, Values& results) const;
  void count(const OperationSyntax& op);

  Imported out_;
  Origins origins_;
  const BlockOrigins* innermost_ = nullptr;  // of the blocks that are being imported
  Level* top_ = nullptr;
  Values checked_;
  std::size_t operations_ = 0;
  std::vector<Bound> bound_;  // results of the last operation
  int depth_ = 0;
  std::vector<const FunctionSyntax*> calls_;  // calls in progress
  std::unordered_map<std::string_view, const FunctionSyntax*> functions_;
  using TermsOfValues = std::map<std::pair<const Builder*, Var>, Terms>;
  TermsOfValues terms_;       // by the result of their reduction
  TermsOfValues own_values_;  // by the first of them
  mutable std::optional<MeshRef> tile_mesh_, partitioned_over_;
  mutable std::map<std::string, MeshRef, std::less<>> meshes_;  // by symbol
  Memory rewritten_;  // for blocks that are rewritten before they are imported
  mutable std::unordered_map<const TypeData*, KnownType> types_;
  mutable const TypeData* last_type_ = nullptr;  // the type asked for last
  mutable const KnownType* last_known_type_ = nullptr;
  std::unordered_map<const FunctionSyntax*, ProgramPtr> programs_;
  std::unordered_map<const AttributeSyntax*, Value> large_;
};

/// Applies `p`, whose inputs and outputs are scalars, to each element of arrays of one shape.
Values elementwise(Builder& b, const Program& p, const Values& arrays, const Shape& shape);

}  // namespace tessera::inline v0::stablehlo

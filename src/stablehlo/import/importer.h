// From syntax to programs: functions, regions and operations. What an operation becomes is a table
// (table.cc).
#pragma once

#include "stablehlo/import/data.h"
#include "stablehlo/import/import.h"
#include "stablehlo/import/scope.h"

#include <functional>
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

  Importer& importer;
  const Scope& scope;
  const OperationSyntax& op;
  Builder& b;
  std::vector<Bound> operands;
  Values in;  // all operands' arrays

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
  /// Refuses dimensions that x does not have.
  void check_dims(const Ints& dims, int rank, const char* what) const;
  const Known* known(Value v) const { return scope.level().known(v); }
  /// The integers that an operand holds, where they are known.
  std::optional<Ints> known_integers(Value v) const;
  /// The scalar that fills x, where it is known, as a double.
  std::optional<double> known_number(Value v) const;
};

/// A region as a program of its own: its arguments, then what it reads from outside.
struct RegionProgram {
  std::shared_ptr<Program> program;
  Values captured;  // of the level around
};

/// The devices that a function is imported for: each runs it.
struct Devices {
  std::int64_t replicas = 1, partitions = 1;
  std::int64_t count() const { return replicas * partitions; }
};

using Rule = Values (*)(Reading& r);
/// What imports an operation; null where none does.
Rule rule_of(std::string_view name);

class Importer {
 public:
  explicit Importer(const ModuleSyntax& module);

  Imported import(const std::string& function);

  const ModuleSyntax& module;
  std::optional<Devices> devices;  // none: one, which knows of no others
  /// The results of a function on these arguments, written where the scope is.
  std::vector<Bound> call(const Reading& r, const std::string& function,
                          const std::vector<Bound>& arguments);
  /// A region whose arguments have these types, or where there are none those that it declares.
  RegionProgram region(const Reading& r, const RegionSyntax& region);
  /// A region that reads nothing from outside but numbers.
  ProgramPtr closed_region(const Reading& r, const RegionSyntax& region);
  /// A constant in the program; a large one becomes an input.
  Value constant(const Scope& scope, const AttributeSyntax& data);
  /// Equality that a test wants; of the outermost program.
  void add_check(const Reading& r, Check check, Value got, Value want);

  Type type(const TypeSyntax& t) const;
  /// The types of the arrays in it: one of a tensor, several of a tuple, none of a token.
  std::vector<Type> leaf_types(const TypeSyntax& t) const;

 private:
  std::vector<Bound> block(Scope& scope, const RegionSyntax& region);
  void operation(Scope& scope, const OperationSyntax& op);
  std::vector<Bound> bind(const OperationSyntax& op, const Scope& scope, Values results) const;
  void count(const OperationSyntax& op);

  Imported out_;
  Level* top_ = nullptr;
  Values checked_;
  std::size_t operations_ = 0;
  int depth_ = 0;
  std::vector<const FunctionSyntax*> calls_;  // under way
  std::unordered_map<std::string, const FunctionSyntax*> functions_;
  std::unordered_map<const AttributeSyntax*, Value> large_;
};

/// `p`, whose inputs and outputs are scalars, element by element on arrays of one shape.
Values elementwise(Builder& b, const Program& p, const Values& arrays, const Shape& shape);

}  // namespace tessera::inline v0::stablehlo

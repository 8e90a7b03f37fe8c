// Names of values while functions and regions are imported.
#pragma once

#include "ir/builder.h"
#include "ops/build.h"
#include "stablehlo/text/syntax.h"

#include <map>
#include <memory>
#include <unordered_map>

namespace tessera::inline v0::stablehlo {

/// What a name of a module stands for: an array, a tuple of arrays, a token (no arrays).
struct Bound {
  Values leaves;
  const TypeSyntax* type = nullptr;
};

/// A number that fills a value, or all of its elements, known while the program is written.
struct Known {
  Literal literal;
  Shape shape;
};

/// A program that is being written, and what it reads of the program around it.
class Level {
 public:
  /// `outer` is the level of the program around; null for the outermost.
  Level(std::string name, Level* outer) : builder_(std::move(name)), outer_(outer) {}

  Builder& builder() { return builder_; }
  Level* outer() const { return outer_; }
  /// A value of this program, or of one around it, as one of this program. A known number is written
  /// again; others become inputs behind the declared ones.
  Value here(Value v);
  /// Values of the outer level, in the order of the inputs that `here` made.
  const Values& captured() const { return captured_; }

  void know(Value v, Known known) { known_[v.var] = std::move(known); }
  const Known* known(Value v) const;
  /// A known value as equations.
  Value write(const Known& known);

 private:
  Builder builder_;
  Level* outer_;
  Values captured_;
  std::map<std::pair<Builder*, Var>, Value> inputs_;
  std::unordered_map<Var, Known> known_;
};

/// The names that a block sees: its own, and those of the blocks around it in its function.
class Scope {
 public:
  Scope(Level& level, const Scope* outer, const ModuleSyntax& module)
      : level_(level), outer_(outer), module_(module) {}

  Level& level() const { return level_; }
  Builder& builder() const { return level_.builder(); }
  const ModuleSyntax& module() const { return module_; }
  /// IoError where the name is taken.
  void define(std::string_view name, std::size_t at, std::vector<Bound> values);
  /// IoError where there is no such value.
  Bound read(const UseSyntax& use) const;

 private:
  Level& level_;
  const Scope* outer_;
  const ModuleSyntax& module_;
  std::unordered_map<std::string_view, std::vector<Bound>> names_;
};

}  // namespace tessera::inline v0::stablehlo

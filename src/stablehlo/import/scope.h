// Names of values while functions and regions are imported.
#pragma once

#include "ir/builder.h"
#include "ops/build.h"
#include "stablehlo/text/syntax.h"

#include <tessera/inline_vector.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tessera::inline v0::stablehlo {

/// What a name of a module stands for: an array, a tuple of arrays, a token (no arrays).
struct Bound {
  InlineVector<Value, 1> leaves;
  const TypeSyntax* type = nullptr;
};

/// Names and what they stand for. A module has as many as it has operations, so that none has memory
/// of its own.
class NameTable {
 public:
  /// False where the name is there.
  bool add(std::string_view name, std::span<const Bound> values);
  std::optional<std::span<const Bound>> find(std::string_view name) const;
  /// Room for so many names more.
  void reserve(std::size_t names);

 private:
  struct Entry {
    std::string_view name;
    std::uint32_t first = 0, count = 0;  // among the values
  };
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  /// Numbers are themselves, so that what is defined in turn lies side by side. Names that meet go on
  /// by steps of their own, or runs of numbers would make long ways of it.
  static std::size_t hash_of(std::string_view name);
  /// Where the name is, or where it would go.
  std::size_t slot_of(std::string_view name) const;
  void make_slots(std::size_t names);

  std::vector<Bound> values_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t>
      slots_;  // a power of two, at most half of them taken: entries, or kNone
};

/// A number that fills a value, or all of its elements, known while the program is written.
struct Known {
  Literal literal;
  Shape shape;
};

/// Axes of a mesh one after the other.
struct AxisRange {
  std::size_t begin = 0, end = 0;
};

/// A program that is being written, and what it reads of the program around it.
class Level {
 public:
  /// `outer` is the level of the program around; null for the outermost.
  Level(std::string name, Level* outer) : builder_(std::move(name)), outer_(outer) {}

  Builder& builder() { return builder_; }
  Level* outer() const { return outer_; }
  bool is_inside(const Level& level) const {
    return this == &level || (outer_ && outer_->is_inside(level));
  }
  /// A value of this program, or of one around it, as one of this program. A known number is written
  /// again; others become inputs behind the declared ones.
  Value here(Value v);
  /// Values of the outer level, in the order of the inputs that `here` made.
  const Values& captured() const { return captured_; }

  void know(Value v, Known known);
  const Known* known(Value v) const;
  /// As `known`, of what constants and shapes settle: it is computed where that is little work.
  const Known* settle(Value v);
  /// The equation of this program that gives v; null where none does.
  const Equation* made_by(Value v);
  /// Values that are the device's place along some axes of its mesh.
  void place(Value v, AxisRange range) { places_[v.var] = range; }
  const AxisRange* place_of(Value v) const {
    const auto it = v.builder == &builder_ ? places_.find(v.var) : places_.end();
    return it == places_.end() ? nullptr : &it->second;
  }
  /// A known value as equations.
  Value write(const Known& known);

 private:
  Builder builder_;
  Level* outer_;
  Values captured_;
  std::map<std::pair<Builder*, Var>, Value> inputs_;
  std::vector<std::uint32_t> known_at_;  // by variable, as far as there are known ones
  std::deque<Known> all_known_;
  std::unordered_map<Var, AxisRange> places_;
  std::unordered_map<Var, Value> from_outside_;  // what inputs that `here` made stand for
  std::unordered_set<Var> open_;                 // not settled
};

/// The names that a block sees: its own, and those of the blocks around it in its function.
class Scope {
 public:
  Scope(Level& level, const Scope* outer, const ModuleSyntax& module)
      : level_(level), outer_(outer), module_(module) {}

  Level& level() const { return level_; }
  Builder& builder() const { return level_.builder(); }
  const ModuleSyntax& module() const { return module_; }
  void reserve(std::size_t names) { names_.reserve(names); }
  /// IoError where the name is taken.
  void define(std::string_view name, std::size_t at, std::span<const Bound> values);
  void define(std::string_view name, std::size_t at, const Bound& value) {
    define(name, at, std::span(&value, 1));
  }
  /// IoError where there is no such value.
  Bound read(const UseSyntax& use) const;

 private:
  Level& level_;
  const Scope* outer_;
  const ModuleSyntax& module_;
  NameTable names_;
};

}  // namespace tessera::inline v0::stablehlo

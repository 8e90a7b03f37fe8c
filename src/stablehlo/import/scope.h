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

/// The value of a name in a module: an array, a tuple of arrays, or a token (no arrays).
struct Bound {
  InlineVector<Value, 1> leaves;
  const TypeSyntax* type = nullptr;
};

/// A hash table from names to their values. Modules define one name per operation, so names have no
/// allocation of their own.
class NameTable {
 public:
  /// Returns false if the name exists.
  bool add(std::string_view name, std::span<const Bound> values);
  std::optional<std::span<const Bound>> find(std::string_view name) const;
  /// Reserves space for this many more names.
  void reserve(std::size_t names);

 private:
  struct Entry {
    std::string_view name;
    std::uint32_t first = 0, count = 0;  // among the values
  };
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  /// The hash of a numeric name is the number, so that values defined in turn are adjacent.
  /// Collisions are resolved by double hashing, because linear probing over runs of numbers would
  /// be slow.
  static std::size_t hash_of(std::string_view name);
  /// The slot of the name, or the one where it would be inserted.
  std::size_t slot_of(std::string_view name) const;
  void make_slots(std::size_t names);

  std::vector<Bound> values_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t>
      slots_;  // indices of entries, or kNone; the size is a power of two, at most half is in use
};

/// A value that is known during import, or the number that fills all its elements.
struct Known {
  Literal literal;
  Shape shape;
};

/// A contiguous range of a mesh's axes.
struct AxisRange {
  std::size_t begin = 0, end = 0;
};

/// A program that is being built, and the values that it reads from the program around it.
class Level {
 public:
  /// `outer` is the level of the surrounding program; null for the outermost one.
  Level(std::string name, Level* outer) : builder_(std::move(name)), outer_(outer) {}

  Builder& builder() { return builder_; }
  Level* outer() const { return outer_; }
  bool is_inside(const Level& level) const {
    return this == &level || (outer_ && outer_->is_inside(level));
  }
  /// A value of this program or a surrounding one, as a value of this program. A known number is
  /// written again; other values become inputs that follow the declared ones.
  Value here(Value v);
  /// From here on, `equal` replaces `old`, a value of this program.
  void read_instead(Value old, Value equal) { instead_[old.var] = equal; }
  /// Values of the outer level, in the order of the inputs that `here` created.
  const Values& captured() const { return captured_; }

  void know(Value v, Known known);
  const Known* known(Value v) const;
  /// As `known`, but also evaluates values determined by constants and shapes if that is little
  /// work.
  const Known* settle(Value v);
  /// The equation of this program that defines v, or null.
  const Equation* made_by(Value v);
  /// Records and returns which values are the device's position along some axes of its mesh.
  void place(Value v, AxisRange range) { places_[v.var] = range; }
  const AxisRange* place_of(Value v) const {
    const auto it = v.builder == &builder_ ? places_.find(v.var) : places_.end();
    return it == places_.end() ? nullptr : &it->second;
  }
  /// Writes a known value as equations.
  Value write(const Known& known);

 private:
  Builder builder_;
  Level* outer_;
  Values captured_;
  std::map<std::pair<Builder*, Var>, Value> inputs_;
  std::vector<std::uint32_t> known_at_;  // by variable, up to the last known one
  std::deque<Known> all_known_;
  std::unordered_map<Var, AxisRange> places_;
  std::unordered_map<Var, Value> from_outside_;  // the outer values of the inputs by `here`
  std::unordered_set<Var> open_;                 // variables that settle() cannot evaluate
  std::unordered_map<Var, Value> instead_;       // equal values that are read instead
};

/// The names visible in a block: its own, and those of the surrounding blocks of its function.
class Scope {
 public:
  Scope(Level& level, const Scope* outer, const ModuleSyntax& module)
      : level_(level), outer_(outer), module_(module) {}

  Level& level() const { return level_; }
  Builder& builder() const { return level_.builder(); }
  const ModuleSyntax& module() const { return module_; }
  void reserve(std::size_t names) { names_.reserve(names); }
  /// Throws IoError if the name is taken.
  void define(std::string_view name, std::size_t at, std::span<const Bound> values);
  void define(std::string_view name, std::size_t at, const Bound& value) {
    define(name, at, std::span(&value, 1));
  }
  /// Throws IoError if the value is undefined.
  Bound read(const UseSyntax& use) const;

 private:
  Level& level_;
  const Scope* outer_;
  const ModuleSyntax& module_;
  NameTable names_;
};

}  // namespace tessera::inline v0::stablehlo

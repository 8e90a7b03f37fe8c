// Builds a program equation by equation. Every trace and every transformation writes through a
// Builder.
#pragma once

#include "ir/program.h"

#include <optional>
#include <span>

namespace tessera::inline v0 {

class Builder;

/// A variable of the program that a builder is writing. Cheap to copy; invalid once the builder has
/// finished.
struct Value {
  Builder* builder = nullptr;
  Var var = 0;

  const Type& type() const;
  DType dtype() const { return type().dtype; }
  const Shape& shape() const { return type().shape; }
  int rank() const { return shape().rank(); }
  bool operator==(const Value&) const = default;
};
using Values = std::vector<Value>;
/// An absent value is a symbolic zero (of a tangent or a cotangent).
using MaybeValue = std::optional<Value>;
using MaybeValues = std::vector<MaybeValue>;

class Builder {
 public:
  explicit Builder(std::string name = "");
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Value input(Type type);
  /// Appends an equation and returns its results, whose types are inferred by the op (which may
  /// throw the user's ShapeError or DTypeError). All inputs must be values of this builder. In a
  /// typed per-device program, if the operands of an ordinary op vary over different axes, a
  /// `pvary` is emitted first for each operand that varies over fewer axes than the others.
  Values emit(const Op& op, std::span<const Value> inputs, Attrs attrs = {});
  Values emit(std::string_view op, std::span<const Value> inputs, Attrs attrs = {});
  /// For ops with exactly one result.
  Value emit1(std::string_view op, std::initializer_list<Value> inputs, Attrs attrs = {});
  Value emit1(std::string_view op, std::span<const Value> inputs, Attrs attrs = {});

  /// Returns `x` typed as varying over `axes` as well, through a `pvary` if its type lacks any of
  /// them.
  Value vary_over(Value x, const AxisSet& axes);

  /// Copies the equations of `p` into this program with its inputs bound to `inputs`; returns its
  /// outputs.
  Values inline_program(const Program& p, std::span<const Value> inputs);
  /// Copies one equation of another program with its inputs already mapped.
  Values copy(const Equation& eqn, std::span<const Value> inputs);

  const Type& type(Var v) const { return program_->types[v]; }
  const Program& so_far() const { return *program_; }
  /// The equation of `so_far` that defines `v`; nullptr for an input. The pointer is invalidated by
  /// the next emit.
  const Equation* producer(Var v) const {
    return made_by_[v] == kInput ? nullptr : &program_->equations[made_by_[v]];
  }
  /// The index of that equation; kInput for an input.
  std::size_t producer_index(Var v) const { return made_by_[v]; }
  static constexpr std::size_t kInput = static_cast<std::size_t>(-1);
  /// Ends the program. The builder must not be used afterwards.
  std::shared_ptr<Program> finish(std::span<const Value> outputs);
  /// Like finish, but also removes equations whose results are not needed.
  std::shared_ptr<Program> finish_pruned(std::span<const Value> outputs);

  /// The user's source line and the name stack that new equations are given.
  SourceLoc loc;
  std::string scope;

 private:
  std::shared_ptr<Program> program_;
  std::vector<std::size_t> made_by_;  // by variable
};

inline const Type& Value::type() const { return builder->type(var); }

/// Sets a builder's location for a scope.
class AtLocation {
 public:
  AtLocation(Builder& b, const SourceLoc& loc) : b_(b), saved_(b.loc) {
    if (loc) b.loc = loc;
  }
  ~AtLocation() { b_.loc = saved_; }

 private:
  Builder& b_;
  SourceLoc saved_;
};

/// Removes equations whose results reach no output and that have no effects. Keeps inputs.
std::shared_ptr<Program> prune(const Program& p);

}  // namespace tessera::inline v0

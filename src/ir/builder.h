// Builds a program equation by equation. Every transformation and every trace writes through one of
// these.
#pragma once

#include "ir/program.h"

#include <optional>
#include <span>

namespace tessera::inline v0 {

class Builder;

/// A variable of the program that a builder is writing. Cheap to copy; dead once the builder has
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
/// Absent means: symbolically zero (tangents, cotangents).
using MaybeValue = std::optional<Value>;
using MaybeValues = std::vector<MaybeValue>;

class Builder {
 public:
  explicit Builder(std::string name = "");
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Value input(Type type);
  /// Infers the result types, which may throw the user's ShapeError or DTypeError, and appends the
  /// equation. All inputs must be values of this builder. In a typed per-device program, where
  /// operands of an ordinary op vary over different axes, those that vary over fewer go through a
  /// `pvary` first.
  Values emit(const Op& op, std::span<const Value> inputs, Attrs attrs = {});
  Values emit(std::string_view op, std::span<const Value> inputs, Attrs attrs = {});
  /// For ops of one result.
  Value emit1(std::string_view op, std::initializer_list<Value> inputs, Attrs attrs = {});
  Value emit1(std::string_view op, std::span<const Value> inputs, Attrs attrs = {});

  /// `x` typed as varying over `axes` too: a `pvary` where its type lacks some.
  Value vary_over(Value x, const AxisSet& axes);

  /// Copies the equations of `p` here with its inputs bound to `inputs`; gives its outputs.
  Values inline_program(const Program& p, std::span<const Value> inputs);
  /// Copies one equation of another program with its inputs already mapped.
  Values copy(const Equation& eqn, std::span<const Value> inputs);

  const Type& type(Var v) const { return program_->types[v]; }
  const Program& so_far() const { return *program_; }
  /// The equation of `so_far` that makes `v`; nullptr for an input. Good until the next one is
  /// written.
  const Equation* producer(Var v) const {
    return made_by_[v] == kInput ? nullptr : &program_->equations[made_by_[v]];
  }
  /// Its place among the equations; kInput for an input.
  std::size_t producer_index(Var v) const { return made_by_[v]; }
  static constexpr std::size_t kInput = static_cast<std::size_t>(-1);
  /// Ends the program. The builder must not be used afterwards.
  std::shared_ptr<Program> finish(std::span<const Value> outputs);
  /// As finish, and removes equations whose results nobody needs.
  std::shared_ptr<Program> finish_pruned(std::span<const Value> outputs);

  /// The user's line and name stack that new equations get.
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

// The interfaces by which an op describes the value of its result at one output index. The code
// generator implements these interfaces and the files of ops are written against them. Fusion is
// the composition of these rules.
#pragma once

#include "ir/attrs.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tessera::inline v0 {

struct Equation;

/// A symbolic integer over the kernel's loop variables. The code generator simplifies it and knows
/// its stride along the vectorised loop, so affine maps cost nothing. Copies are cheap.
class Index {
 public:
  struct Node;
  Index() = default;
  Index(std::int64_t constant);
  explicit Index(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  const Node* node() const { return node_.get(); }
  const std::shared_ptr<const Node>& ptr() const { return node_; }

 private:
  std::shared_ptr<const Node> node_;
};
Index operator+(const Index& a, const Index& b);
Index operator-(const Index& a, const Index& b);
Index operator*(const Index& a, std::int64_t b);
/// Floor division by a positive constant, and its non-negative remainder.
Index floor_div(const Index& a, std::int64_t b);
Index floor_mod(const Index& a, std::int64_t b);

/// A scalar in the kernel, or one scalar per lane in a vectorised loop. Copies are cheap.
struct Lane {
  const void* handle = nullptr;
  DType dtype = DType::float32;
};

/// lo <= index < hi
struct Bound {
  Index index;
  std::int64_t lo, hi;
};

/// Elementwise arithmetic of the emitter, with the semantics of the ops of the same names: integers
/// wrap, integer division by zero and shifts past the width are defined as in docs/ops.md, max and
/// min propagate NaN, and nothing is contracted or reassociated. Complex numbers are not ordered,
/// and their abs is real.
enum class Arith {
  // unary
  neg,
  abs,
  sign,
  floor,
  ceil,
  round_nearest_even,
  round_away,
  is_finite,
  not_,
  sqrt,
  rsqrt,
  cbrt,
  exp,
  exp2,
  expm1,
  log,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  logistic,
  erf,
  erfc,
  erf_inv,
  lgamma,
  popcount,
  clz,
  // complex numbers; real and imag return one part
  real,
  imag,
  conj,
  // binary
  add,
  sub,
  mul,
  div,
  rem,
  pow,
  atan2,
  max,
  min,
  and_,
  or_,
  xor_,
  shift_left,
  shift_right_logical,
  shift_right_arithmetic,
  complex,  // from a real and an imaginary part
  // comparisons, which return booleans; a comparison with NaN is false, except ne
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
};

class Emitter {
 public:
  virtual ~Emitter() = default;

  virtual const Type& operand_type(int i) const = 0;
  virtual const Type& result_type() const = 0;

  /// The element of operand i at an index that is in bounds (or made so by an enclosing `guarded`).
  virtual Lane operand(int i, std::span<const Index> at) = 0;
  Lane operand(int i, std::initializer_list<Index> at) {
    return operand(i, std::span<const Index>(at.begin(), at.size()));
  }

  virtual Lane constant(DType dtype, double value) = 0;
  virtual Lane constant(DType dtype, std::int64_t value) = 0;
  virtual Lane literal(const Literal& literal, std::span<const Index> at) = 0;
  /// The value of the index as a number (for iota).
  virtual Lane number(const Index& index, DType dtype) = 0;
  /// A data value used as an index (for gather), clamped to [lo, hi].
  virtual Index index(const Lane& number, std::int64_t lo, std::int64_t hi) = 0;

  virtual Lane unary(Arith op, Lane x) = 0;
  virtual Lane binary(Arith op, Lane x, Lane y) = 0;
  virtual Lane select(Lane condition, Lane on_true, Lane on_false) = 0;
  /// Saturates from float to integer (NaN gives 0) and wraps between integers; to bool, 0 is false.
  virtual Lane convert(Lane x, DType to) = 0;
  virtual Lane bitcast(Lane x, DType to) = 0;

  /// Evaluates to `inside()` where all bounds hold and to `outside` elsewhere; loads in `inside`
  /// are executed only where the bounds hold.
  virtual Lane guarded(std::span<const Bound> bounds, const std::function<Lane()>& inside,
                       Lane outside) = 0;

  /// Folds `element` over the row-major box `extents`, starting from `init`, which must be an
  /// identity of `combine` because partial results start from it too. A rule calls this at most
  /// once. The association depends on the shape alone (one partial result per lane, then a fixed
  /// tree), so results depend neither on fusion nor on the number of workers.
  virtual Lane reduce(std::span<const std::int64_t> extents, Lane init,
                      const std::function<Lane(std::span<const Index>)>& element,
                      const std::function<Lane(Lane, Lane)>& combine) = 0;
  /// Like reduce, but over several values at once and strictly in row-major order (for argmax and
  /// for select within a window).
  virtual std::vector<Lane> fold(
      std::span<const std::int64_t> extents, std::vector<Lane> init,
      const std::function<std::vector<Lane>(std::span<const Index>, std::span<const Lane>)>&
          step) = 0;
};

/// The value of result `result` of `eqn` at output index `at`.
using EmitRule =
    std::function<Lane(Emitter& e, const Equation& eqn, int result, std::span<const Index> at)>;

/// An element that an in-place update writes: its position in the updated operand, and the value
/// that replaces the old one or, by Op::combiner, is combined with it. Nothing is written where
/// `inside` is false; a Lane without a handle is always true.
struct Write {
  std::vector<Index> at;
  Lane value;
  Lane inside;
};
/// Returns the element that `eqn` writes for the element `at` of the operand `Op::written`.
using WriteRule = std::function<Write(Emitter& e, const Equation& eqn, std::span<const Index> at)>;

}  // namespace tessera::inline v0

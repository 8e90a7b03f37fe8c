// A dry run of a kernel's emit rules. It records which memory is read at which indices and how much
// work there is, and emits nothing.
#pragma once

#include "codegen/kernel/composer.h"
#include "codegen/kernel/reduce_shape.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tessera::inline v0::codegen {

struct Access {
  Var var;
  Index flat;
  double times;  // per element of the output
  bool guarded;
};

class Tracer : public Composer {
 public:
  /// `buffers` are the variables that are read from memory; inputs always are.
  Tracer(const Program& p, const std::unordered_set<Var>& buffers)
      : Composer(p), buffers_(buffers) {}

  /// Requests the outputs `vars` at every element of an index space; returns the space's indices,
  /// one per dimension. A value that does not depend on the inner loops counts once for all their
  /// iterations, because it is emitted outside them.
  const std::vector<Index>& run(std::span<const Var> vars, const Shape& space);
  /// Whether the value has been requested at this index.
  bool asked(Var v, std::span<const Index> at) const { return known_.contains(key_of(v, at)); }
  /// Values of expensive ops that were requested at several indices, each starting with `prefix`.
  std::vector<Var> repeated(std::span<const Index> prefix) const;

  Lane value(Var v, std::span<const Index> at) override;
  Lane constant(DType d, double) override { return {nullptr, d}; }
  Lane constant(DType d, std::int64_t) override { return {nullptr, d}; }
  Lane literal(const Literal& literal, std::span<const Index> at) override;
  Lane number(const Index& index, DType dtype) override;
  Index index(const Lane& number, std::int64_t lo, std::int64_t hi) override;
  Lane unary(Arith op, Lane x) override;
  Lane binary(Arith op, Lane x, Lane y) override;
  Lane select(Lane, Lane on_true, Lane) override { return count(ops), on_true; }
  Lane convert(Lane, DType to) override { return count(ops), Lane{nullptr, to}; }
  Lane bitcast(Lane, DType to) override { return {nullptr, to}; }
  Lane guarded(std::span<const Bound> bounds, const std::function<Lane()>& inside,
               Lane outside) override;
  Lane reduce(std::span<const std::int64_t> extents, Lane init,
              const std::function<Lane(std::span<const Index>)>& element,
              const std::function<Lane(Lane, Lane)>& combine) override;
  std::vector<Lane> fold(
      std::span<const std::int64_t> extents, std::vector<Lane> init,
      const std::function<std::vector<Lane>(std::span<const Index>, std::span<const Lane>)>& step)
      override;

  struct Reduction {
    const Equation* eqn;
    Var var;
    std::vector<Index> at;
    ReduceShape shape;
    DType accumulator;
  };

  std::vector<Access> reads;
  std::vector<Index> linear;          // indices used as numbers, in bounds, or into literals
  std::vector<Bound> partial_bounds;  // bounds that only some of the elements satisfy
  std::vector<Reduction> reductions;
  double ops = 0;   // cheap operations per output element
  double math = 0;  // vector function calls per output element
  int around = 0;   // operations of the machine code outside reductions and folds
  int widest = 1;   // bytes of the widest element type that is computed
  bool folds = false;

 private:
  const std::unordered_set<Var>& buffers_;
  std::unordered_map<ValueKey, Lane, ValueKeyHash> known_;
  void count(double& kind) {
    kind += times_;
    around += reducing_ == 0;
  }
  struct Loop {
    const Atom* atom;
    double extent;
  };
  std::size_t depth_of(std::span<const Index> at) const;
  double times_at(std::size_t depth) const;
  std::vector<Index> enter(std::span<const std::int64_t> extents);

  std::vector<Index> space_;
  std::vector<Loop> loops_;
  // Number of loops around the read of a datum.
  std::unordered_map<const Atom*, std::size_t> data_depth_;
  double elements_ = 1;
  double times_ = 1;
  int guards_ = 0, reducing_ = 0;
  std::vector<std::pair<Var, std::vector<Index>>> at_;  // the rules that are running
};

/// Whether the operation calls a vector function.
bool is_math(Arith op);

}  // namespace tessera::inline v0::codegen

// The part of an emitter that composes the ops' emit rules, walking a kernel's program from its
// outputs.
#pragma once

#include "codegen/kernel/index.h"
#include "ir/op.h"

#include <map>
#include <span>
#include <vector>

namespace tessera::inline v0::codegen {

/// A value of the program at an index. Equal keys denote equal values.
struct ValueKey {
  Var var;
  std::vector<const Index::Node*> at;
  bool operator==(const ValueKey&) const = default;
};
struct ValueKeyHash {
  std::size_t operator()(const ValueKey& k) const {
    std::size_t h = k.var * 0x9e3779b97f4a7c15u;
    for (const auto* n : k.at) h = (h ^ reinterpret_cast<std::uintptr_t>(n)) * 0xff51afd7ed558ccdu;
    return h ^ (h >> 29);
  }
};
inline ValueKey key_of(Var var, std::span<const Index> at) {
  ValueKey k{var, {}};
  k.at.reserve(at.size());
  for (const Index& i : at) k.at.push_back(node_of(i));
  return k;
}

class Composer : public Emitter {
 public:
  explicit Composer(const Program& program);

  const Type& operand_type(int i) const override {
    return program_.type(eqn_->inputs[static_cast<std::size_t>(i)]);
  }
  const Type& result_type() const override {
    return program_.type(eqn_->outputs[static_cast<std::size_t>(result_)]);
  }
  using Emitter::operand;
  Lane operand(int i, std::span<const Index> at) override {
    return value(eqn_->inputs[static_cast<std::size_t>(i)], at);
  }

  /// The value of a variable at an index.
  virtual Lane value(Var v, std::span<const Index> at) = 0;

 protected:
  /// Runs the emit rule of the equation that defines `v`.
  Lane apply(Var v, std::span<const Index> at);
  /// The equation that defines `v`; nullptr for an input.
  const Equation* producer(Var v) const { return producers_[v].first; }

  const Program& program_;
  const Equation* eqn_ = nullptr;
  int result_ = 0;

 private:
  std::vector<std::pair<const Equation*, int>> producers_;
};

}  // namespace tessera::inline v0::codegen

// What the functions of grad.h share: which inputs are differentiated, and derivatives in a program
// being built.
#pragma once

#include "api/trace/traced.h"
#include "transform/autodiff.h"

#include <span>
#include <vector>

namespace tessera::inline v0::detail {

/// By input of f's program: a floating leaf of an argument in `argnums`. DTypeError listing the
/// arguments that have no floating leaf.
std::vector<bool> differentiated(const char* function, const Call& call, const TracedFunction& f,
                                 std::span<const int> argnums, const SourceLoc& loc);
std::vector<int> all_arguments(const Call& call);

/// Every leaf of the arguments: its input of the program, or -1 where it is empty.
std::vector<int> input_of_leaf(const Call& call);
/// Every leaf of the result: its output of the program, or -1.
std::vector<int> output_of_leaf(const TracedFunction& f);

/// Positions of the true entries.
std::vector<std::size_t> positions(const std::vector<bool>& mask);

/// The outputs and residuals of a linearised program in `b`.
struct KnownPart {
  Values outputs;
  Values residuals;
};
KnownPart inline_known(Builder& b, const Linearized& lin, std::span<const Value> inputs);
Values inputs_of(Builder& b, const Program& p);

/// Cotangents of the linear program's tangents; zeros are explicit.
Values pull_back(Builder& b, const Program& linear, const Values& residuals,
                 std::span<const MaybeValue> cotangents);

}  // namespace tessera::inline v0::detail

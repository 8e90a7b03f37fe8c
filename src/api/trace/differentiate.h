// Helpers that the functions of grad.h share: selecting the inputs to differentiate, and computing
// derivatives in a program that is being built.
#pragma once

#include "api/trace/traced.h"
#include "transform/autodiff.h"

#include <span>
#include <vector>

namespace tessera::inline v0::detail {

/// For each input of f's program, whether it is a floating leaf of an argument in `argnums`. Throws
/// DTypeError, listing the arguments that have no floating leaf.
std::vector<bool> differentiated(const char* function, const Call& call, const TracedFunction& f,
                                 std::span<const int> argnums, const SourceLoc& loc);
std::vector<int> all_arguments(const Call& call);

/// For each leaf of the arguments, its input of the program, or -1 if the leaf is empty.
std::vector<int> input_of_leaf(const Call& call);
/// For each leaf of the result, its output of the program, or -1 if the leaf is empty.
std::vector<int> output_of_leaf(const TracedFunction& f);

/// Indices of the true entries.
std::vector<std::size_t> positions(const std::vector<bool>& mask);

/// The outputs and residuals of a linearised program, as values of a builder.
struct KnownPart {
  Values outputs;
  Values residuals;
};
KnownPart inline_known(Builder& b, const Linearized& lin, std::span<const Value> inputs);
Values inputs_of(Builder& b, const Program& p);

/// Cotangents of the linear program's inputs; zeros are materialised.
Values pull_back(Builder& b, const Program& linear, const Values& residuals,
                 std::span<const MaybeValue> cotangents);

}  // namespace tessera::inline v0::detail

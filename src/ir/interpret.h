// The program-to-program transformations that rules of ops with nested programs call. They are
// implemented in src/transform.
#pragma once

#include "ir/builder.h"

#include <string>
#include <vector>

namespace tessera::inline v0 {

/// Emits `p` with `inputs`, and the tangents of its outputs, into `b`. A missing tangent is zero.
struct JvpBoth;
JvpBoth jvp_inline(Builder& b, const Program& p, std::span<const Value> inputs,
                   std::span<const MaybeValue> tangents);

/// The program (inputs..., tangents of inputs where `nonzero_in`) -> (outputs..., tangents of
/// outputs where `nonzero_out`). `nonzero_out` follows from `nonzero_in`; outputs marked in
/// `instantiate` are given explicit zeros.
struct JvpProgram {
  ProgramPtr program;
  std::vector<bool> nonzero_out;
};
JvpProgram jvp_program(const Program& p, const std::vector<bool>& nonzero_in,
                       const std::vector<bool>& instantiate = {});

/// Splits `p` in two: `known` computes (known outputs..., residuals...) from the known inputs;
/// `unknown` computes the unknown outputs from (residuals..., unknown inputs...). An output is
/// unknown if it depends on an unknown input or is marked in `force_unknown_out`.
struct PartialEvaluation {
  ProgramPtr known;
  ProgramPtr unknown;
  std::vector<bool> unknown_out;
  std::size_t residuals = 0;
};
PartialEvaluation partial_eval(const Program& p, const std::vector<bool>& unknown_in,
                               const std::vector<bool>& force_unknown_out = {});

/// Like partial_eval, but only the inputs and the values that `policy` lets be saved become
/// residuals; `unknown` recomputes the rest.
struct RematPolicy;
PartialEvaluation partial_eval_saving(const Program& p, const std::vector<bool>& unknown_in,
                                      const RematPolicy& policy);

/// Transposes a program that is linear in the inputs marked in `linear`, given the cotangents of
/// its outputs, and emits the result into `b`. `inputs[i]` is the value of a non-linear input.
/// Returns one cotangent per input, absent if it is zero or the input is not linear.
MaybeValues transpose_inline(Builder& b, const Program& p, std::span<const MaybeValue> inputs,
                             const std::vector<bool>& linear,
                             std::span<const MaybeValue> cotangents);
/// The transpose as a program: (non-linear inputs..., cotangents of outputs where `nonzero_ct`...)
/// -> cotangents of the linear inputs, all instantiated.
ProgramPtr transpose_program(const Program& p, const std::vector<bool>& linear,
                             const std::vector<bool>& nonzero_ct);

/// Emits `p` over stacked inputs into `b`. The rules determine the batch dimension of each result.
struct BatchResult;
BatchResult batch_inline(Builder& b, const Program& p, std::span<const Value> inputs,
                         std::span<const int> dims, std::int64_t size,
                         const std::string& axis_name);
/// The batched program. An input with dims >= 0 is stacked along that dimension. Every stacked
/// output is stacked along dimension 0; outputs marked in `force_batched` always are. `batched_out`
/// marks the outputs that are stacked.
struct BatchProgram {
  ProgramPtr program;
  std::vector<bool> batched_out;
};
BatchProgram batch_program(const Program& p, const std::vector<int>& dims, std::int64_t size,
                           const std::string& axis_name,
                           const std::vector<bool>& force_batched = {});

}  // namespace tessera::inline v0

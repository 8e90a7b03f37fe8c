// The program-to-program transformations, as the rules of ops with nested programs see them.
// Implemented in src/transform.
#pragma once

#include "ir/builder.h"

#include <string>
#include <vector>

namespace tessera::inline v0 {

/// Emits `p` with `inputs` and the tangents of its outputs into `b`. Missing tangents are zero.
struct JvpBoth;
JvpBoth jvp_inline(Builder& b, const Program& p, std::span<const Value> inputs,
                   std::span<const MaybeValue> tangents);

/// The program (inputs..., tangents of inputs where `nonzero_in`) -> (outputs..., tangents of
/// outputs where `nonzero_out`). `nonzero_out` is what the program makes of `nonzero_in`; outputs
/// that are asked for in `instantiate` get explicit zeros.
struct JvpProgram {
  ProgramPtr program;
  std::vector<bool> nonzero_out;
};
JvpProgram jvp_program(const Program& p, const std::vector<bool>& nonzero_in,
                       const std::vector<bool>& instantiate = {});

/// Splits `p`: `known` computes from the known inputs the known outputs, then the residuals;
/// `unknown` computes from (residuals..., unknown inputs...) the unknown outputs. An output is
/// unknown when it depends on an unknown input, or when `force_unknown_out` says so.
struct PartialEvaluation {
  ProgramPtr known;
  ProgramPtr unknown;
  std::vector<bool> unknown_out;
  std::size_t residuals = 0;
};
PartialEvaluation partial_eval(const Program& p, const std::vector<bool>& unknown_in,
                               const std::vector<bool>& force_unknown_out = {});

/// As partial_eval, where only the inputs and what `policy` lets be kept become residuals:
/// `unknown` computes the rest again.
struct RematPolicy;
PartialEvaluation partial_eval_saving(const Program& p, const std::vector<bool>& unknown_in,
                                      const RematPolicy& policy);

/// Transposes a program that is linear in the inputs marked so, given cotangents of its outputs;
/// emits into `b`. `inputs[i]` is the value of a non-linear input. Gives one cotangent an input,
/// absent where zero or not linear.
MaybeValues transpose_inline(Builder& b, const Program& p, std::span<const MaybeValue> inputs,
                             const std::vector<bool>& linear,
                             std::span<const MaybeValue> cotangents);
/// As a program: (non-linear inputs..., cotangents of outputs where `nonzero_ct`...) -> cotangents
/// of the linear inputs, all instantiated.
ProgramPtr transpose_program(const Program& p, const std::vector<bool>& linear,
                             const std::vector<bool>& nonzero_ct);

/// Emits `p` over stacked inputs into `b`. Results have the dims they come out with.
struct BatchResult;
BatchResult batch_inline(Builder& b, const Program& p, std::span<const Value> inputs,
                         std::span<const int> dims, std::int64_t size,
                         const std::string& axis_name);
/// As a program. Inputs with dims >= 0 are stacked along that dimension. Outputs marked in
/// `force_batched` come out stacked along dimension 0; all stacked outputs do. `batched_out` says
/// which.
struct BatchProgram {
  ProgramPtr program;
  std::vector<bool> batched_out;
};
BatchProgram batch_program(const Program& p, const std::vector<int>& dims, std::int64_t size,
                           const std::string& axis_name,
                           const std::vector<bool>& force_batched = {});

}  // namespace tessera::inline v0

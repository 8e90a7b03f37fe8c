// Shared by the rules of ops with nested programs.
#pragma once

#include "ir/op.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tessera::inline v0::ops {

/// Throws unless the integer attributes `counts` are non-negative and add up to at most the number
/// of operands.
void check_counts(const InferArgs& a, std::initializer_list<const char*> counts);

/// Throws unless the nested program takes inputs of exactly these dtypes and shapes. Weakness and
/// varying axes are ignored. `what` names the program in the message: "body", "branch 1".
void check_inputs(const InferArgs& a, const std::string& what, const Program& program,
                  std::span<const Type> types);
/// Throws unless two types have the same dtype and shape; `what` begins the message: "the carry 0".
void check_same(const InferArgs& a, const std::string& what, const Type& in, const Type& out);

/// The axes over which the outputs vary, given those of the inputs.
std::vector<AxisSet> vary_through(const Program& p, std::vector<AxisSet> inputs);

/// The total flops and bytes of all equations.
Cost cost_of(const Program& p);

/// For each output, whether it depends on an input marked in `inputs`.
std::vector<bool> depends_on(const Program& p, const std::vector<bool>& inputs);

/// The same program with its inputs and outputs permuted: entry k of a list is the old position of
/// the new number k. `outputs` may omit positions, `inputs` may not.
ProgramPtr reordered(const Program& p, std::span<const std::size_t> inputs,
                     std::span<const std::size_t> outputs);

/// An op that stands for running its attribute "body" on all its operands until a pass expands it,
/// with all rules that follow from the body alone.
Op body_op(std::string name, std::string doc);

/// The positions 0, 1, ..., n - 1.
std::vector<std::size_t> iota_positions(std::size_t n);

}  // namespace tessera::inline v0::ops

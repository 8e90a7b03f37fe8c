// What the rules of ops with nested programs have in common.
#pragma once

#include "ir/op.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tessera::inline v0::ops {

/// Throws unless the integer attributes `counts` are not negative and together no more than the
/// operands.
void check_counts(const InferArgs& a, std::initializer_list<const char*> counts);

/// Throws unless a nested program takes `program.inputs.size() == types.size()` inputs of these
/// dtypes and shapes. Weakness and varying axes do not count. `what` names the program in the
/// message: "body", "branch 1".
void check_inputs(const InferArgs& a, const std::string& what, const Program& program,
                  std::span<const Type> types);
/// Throws unless two types have the same dtype and shape; `what` begins the sentence: "the carry
/// 0".
void check_same(const InferArgs& a, const std::string& what, const Type& in, const Type& out);

/// The axes over which the outputs vary, given those of the inputs.
std::vector<AxisSet> vary_through(const Program& p, std::vector<AxisSet> inputs);

/// Flops and bytes of every equation.
Cost cost_of(const Program& p);

/// For each output whether it depends on an input marked in `inputs`.
std::vector<bool> depends_on(const Program& p, const std::vector<bool>& inputs);

/// The same program with its inputs and outputs in another order: entry k is the old position of
/// the new number k. Positions may be left out of `outputs`, not of `inputs`.
ProgramPtr reordered(const Program& p, std::span<const std::size_t> inputs,
                     std::span<const std::size_t> outputs);

/// An op that is its attribute "body" run on all its operands, until a pass expands it: the rules
/// that follow from the body alone.
Op body_op(std::string name, std::string doc);

/// Positions 0 to n.
std::vector<std::size_t> iota_positions(std::size_t n);

}  // namespace tessera::inline v0::ops

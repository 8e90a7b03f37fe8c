// One view of loops, branches and calls, for everything that walks programs.
#pragma once

#include "ir/attrs.h"

#include <cstdint>
#include <functional>

namespace tessera::inline v0 {

struct Flow {
  enum class Kind {
    call,    // programs[0] once, on the operands, giving the results
    branch,  // that of `programs` which operand 0 selects, on the other operands
    /// `length` turns of programs[0], from the last to the first where `reverse`: operands are
    /// (consts, carry, arrays), a turn maps (consts, carry, a row of each array) to (carry, a row
    /// of each stacked result), results are (carry, stacked rows).
    scan,
    /// programs[1] as long as programs[0] holds: operands are (cond_consts, consts, carry), the
    /// condition takes (cond_consts, carry), the body (consts, carry) and gives the carry.
    loop,
    region,  // programs[0] on every device of a mesh, on blocks of the operands
  };
  Kind kind = Kind::call;
  Programs programs;
  std::size_t cond_consts = 0, consts = 0, carry = 0;
  std::int64_t length = 1;
  bool reverse = false;
  /// Of a region: the axes that the devices of its mesh lie along. Inside, they hide those of the
  /// same names around it.
  Strings axes;
  /// Nothing inside starts before all operands are there: it would lie in memory until they are.
  bool waits = false;

  const ProgramPtr& condition() const { return programs.front(); }  // of a loop
  const ProgramPtr& body() const { return programs.back(); }        // of the others but branches
  bool repeats() const { return kind == Kind::scan || kind == Kind::loop; }
  /// Of what repeats: the operand that carry k comes from.
  std::size_t carry_operand(std::size_t k) const { return cond_consts + consts + k; }
};

using FlowRule = std::function<Flow(const Attrs&)>;
using RewriteFlow = std::function<Attrs(const Attrs&, const Flow&)>;

}  // namespace tessera::inline v0

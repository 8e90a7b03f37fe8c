// A uniform view of loops, branches and calls for all code that walks programs.
#pragma once

#include "ir/attrs.h"

#include <cstdint>
#include <functional>

namespace tessera::inline v0 {

struct Flow {
  enum class Kind {
    call,    // runs programs[0] once on the operands; its outputs are the results
    branch,  // runs the program selected by operand 0 on the other operands
    /// Runs `length` iterations of programs[0], from last to first if `reverse`. The operands are
    /// (consts, carry, arrays). An iteration maps (consts, carry, one row of each array) to (carry,
    /// one row of each stacked result). The results are (carry, stacked rows).
    scan,
    /// Runs programs[1] while programs[0] holds. The operands are (cond_consts, consts, carry); the
    /// condition takes (cond_consts, carry); the body takes (consts, carry) and returns the carry.
    loop,
    region,  // programs[0] on every device of a mesh, on shards of the operands
  };
  Kind kind = Kind::call;
  Programs programs;
  std::size_t cond_consts = 0, consts = 0, carry = 0;
  std::int64_t length = 1;
  bool reverse = false;
  /// For a region: the axes of its mesh. Inside the region they hide axes of the same names
  /// outside.
  Strings axes;
  /// Nothing inside starts before all operands are ready, because its results would occupy memory
  /// until they are.
  bool waits = false;

  const ProgramPtr& condition() const { return programs.front(); }  // of a loop
  const ProgramPtr& body() const { return programs.back(); }        // of all kinds except branch
  bool repeats() const { return kind == Kind::scan || kind == Kind::loop; }
  /// For scan and loop: the operand that initialises carry k.
  std::size_t carry_operand(std::size_t k) const { return cond_consts + consts + k; }
};

using FlowRule = std::function<Flow(const Attrs&)>;
using RewriteFlow = std::function<Attrs(const Attrs&, const Flow&)>;

}  // namespace tessera::inline v0

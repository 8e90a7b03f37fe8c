// Groups equations into kernels.
#pragma once

#include "ir/program.h"

#include <vector>

namespace tessera::inline v0::codegen {

/// A group of equations that run as one step. The inputs of a kernel's program are the external
/// operands of the group, its outputs the values used outside the group. `inputs` and `outputs` are
/// the corresponding variables of the outer program, in the same order.
struct Cluster {
  enum class Kind {
    kernel,
    // single: an equation that is called, a view, control flow, a collective or evaluated
    single
  } kind = Kind::single;
  std::vector<std::size_t> equations;  // indices in the outer program, ascending
  ProgramPtr program;                  // for kernels
  std::vector<Var> inputs, outputs;
  /// The byte offset in each input where the kernel starts to read; empty: all zero (stretches.h).
  std::vector<std::int64_t> offsets;
};

/// Equations that overwrite an operand, by equation of the program.
struct Overwriting {
  std::vector<bool> apart;                      // must be a separate step
  std::vector<std::vector<std::size_t>> after;  // earlier equations that must run before it
};

/// `exec_class[v]` numbers the set of devices over which variable v is computed (uniform, varying
/// over one axis, ...); an equation belongs to the class of its outputs. Clusters do not mix
/// classes, except that a varying kernel may repeat cheap uniform producers. The clusters are
/// returned in an order that respects dependencies, and fusion never creates a cycle. This is a
/// pass: with it off (transform/pass.h), every equation is a cluster of its own.
std::vector<Cluster> fuse(const Program& p, const std::vector<int>& exec_class,
                          const Overwriting& overwriting = {});

}  // namespace tessera::inline v0::codegen

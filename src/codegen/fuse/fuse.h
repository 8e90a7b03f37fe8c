// Groups equations into kernels.
#pragma once

#include "ir/program.h"

#include <vector>

namespace tessera::inline v0::codegen {

/// Equations that run as one step. A kernel's program has the group's external operands as inputs
/// and the values that are used outside the group as outputs; `inputs` and `outputs` are the
/// variables of the outer program in the same order.
struct Cluster {
  enum class Kind {
    kernel,
    single
  } kind = Kind::single;               // single: called, view, control, collective, evaluated
  std::vector<std::size_t> equations;  // indices in the outer program, ascending
  ProgramPtr program;                  // for kernels
  std::vector<Var> inputs, outputs;
  /// Where in each input a kernel begins to read, in bytes; empty: where it begins (stretches.h).
  std::vector<std::int64_t> offsets;
};

/// Equations that write over an operand, by equation of the program.
struct Overwriting {
  std::vector<bool> apart;                      // runs as a step of its own
  std::vector<std::vector<std::size_t>> after;  // earlier equations that have to be done before
};

/// `exec_class[v]` numbers the set of devices that variable v has to be computed on (uniform,
/// varying over one axis, ...): an equation belongs to the class of its outputs. Clusters do not
/// mix classes, except that cheap uniform producers may be repeated inside a varying kernel. The
/// clusters come in an order that respects dependencies, and fusing never makes a cycle. A pass:
/// without it (transform/pass.h) every equation is a cluster of its own.
std::vector<Cluster> fuse(const Program& p, const std::vector<int>& exec_class,
                          const Overwriting& overwriting = {});

}  // namespace tessera::inline v0::codegen

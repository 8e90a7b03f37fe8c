// Compiles each loop with small bodies to one function.
//
// The executor spends some 50 ns on each step of a body, which is more than small kernels take. A
// loop whose bodies consist only of such kernels, of updates in place, copies, and loops and
// branches of the same kind is therefore compiled as a whole (codegen/nest). The bodies remain in
// the tape, as the description of the function.
#pragma once

#include "codegen/nest/nest.h"
#include "codegen/tape/context.h"

#include <vector>

namespace tessera::inline v0::tape {

/// A loop that is compiled as a whole.
struct NativeLoop {
  DraftTape* draft;
  std::size_t step;
  codegen::Nest nest;
  std::vector<std::shared_ptr<const Tape>> bodies;  // as in Native
};

/// Finds the outermost loops of this kind, marks the drafts of their bodies and plans the kernels
/// in them. This is a pass (transform/pass.h), named "nests"; with it off there are none. `p` is
/// the tape's program.
std::vector<NativeLoop> find_native_loops(TapeContext& ctx, const Program& p);

/// Compiles the loops and stores their functions in the steps.
void compile_native_loops(std::vector<NativeLoop> loops);

}  // namespace tessera::inline v0::tape

// Loops with small bodies become one function each.
//
// The executor spends some 50 ns on each step of a body, which is more than small kernels take. A
// loop whose bodies consist only of such kernels, of updates in place, copies, and loops and
// branches of the same kind is therefore compiled as a whole (codegen/nest). The bodies remain in
// the tape, where they say what the function does.
#pragma once

#include "codegen/nest/nest.h"
#include "codegen/tape/context.h"

#include <set>
#include <vector>

namespace tessera::inline v0::tape {

/// A loop that is compiled as a whole.
struct NativeLoop {
  DraftTape* draft;
  std::size_t step;
  codegen::Nest nest;
  std::vector<std::shared_ptr<const Tape>> bodies;  // as in Native
};

struct NativeLoops {
  std::vector<NativeLoop> loops;
  /// The drafts of all bodies of the loops. Their kernels need no code of their own.
  std::set<const DraftTape*> inside;
};

/// Finds the outermost loops of this kind, and plans the kernels inside them. This is a pass
/// (transform/pass.h), named "nests"; with it off there are none. `p` is the tape's program.
NativeLoops find_native_loops(TapeContext& ctx, const Program& p);

/// Compiles the loops and stores their functions in the steps.
void compile(NativeLoops& found);

}  // namespace tessera::inline v0::tape

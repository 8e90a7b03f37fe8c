// A kernel joins the routine whose result it reads, if the routine can make that result in panels
// (PanelMaker in ir/routine.h) and the kernel needs only one panel at a time.
//
// The kernel then runs on each panel while the panel is in a cache of the core that made it, in the
// same task. If nothing else reads the routine's result, it is not stored: a panel is in memory of
// the thread, which the next panel overwrites. The kernel's code computes addresses from the place
// in the whole result, and is given an address as if the panel were a part of it.
#pragma once

#include "codegen/kernel/kernel_schedule.h"
#include "codegen/tape/context.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace tessera::inline v0::tape {

/// A routine and the kernel that joins it, as steps of a draft.
struct PanelPair {
  DraftTape* draft = nullptr;
  std::size_t maker = 0, kernel = 0;  // the two steps
  std::size_t operand = 0;            // the kernel's input that the other step makes
  bool first = false;                 // the joint step runs where the first of the two was
  bool stored = false;                // other steps read the routine's result
  std::shared_ptr<const PanelMaker> panels;
  codegen::PanelForm form;
};

/// Finds the pairs, before the kernels are compiled. This is a pass (transform/pass.h), named
/// "panels"; with it off there are none. `p` is the tape's program.
std::vector<PanelPair> find_panels(TapeContext& ctx, const Program& p);

/// Joins the pairs, whose kernels are compiled for their panels. Steps get new numbers.
void join_panels(const std::vector<PanelPair>& pairs);

}  // namespace tessera::inline v0::tape

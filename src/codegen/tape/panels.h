// Fuses steps into the routine whose result they read, as its epilogue. The routine must be able to
// make its result in panels (PanelMaker in ir/routine.h), and the steps must need only one panel at
// a time: they are kernels, or routines that read an operand in panels (PanelReader).
//
// The steps then run on each panel while the panel is in a cache of the core that made it, in the
// same task. An intermediate value that nothing else reads is not stored: the thread has memory for
// one panel of it, which the next panel overwrites. A kernel's code computes addresses from
// positions in the whole value, so it is given the address at which the whole value would begin if
// the panel were a part of it.
#pragma once

#include "codegen/kernel/kernel_schedule.h"
#include "codegen/tape/context.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tessera::inline v0::tape {

/// A value that a chain computes in panels.
struct PanelValue {
  int slot = -1;
  std::int64_t row_bytes = 0, element_bytes = 0;
  bool whole = true;    // it has all columns of the panels; otherwise one element per row
  bool stored = false;  // other steps read it
};

struct PanelMember {
  std::size_t step = 0;
  std::shared_ptr<const PanelReader> reader;  // null: a kernel
  /// The kernel after a reader that only permutes the dimensions of the reader's result. The reader
  /// writes the permuted result itself, and the step disappears.
  std::optional<std::size_t> order;
};

/// A routine and the steps that join it, as steps of a draft.
struct PanelChain {
  DraftTape* draft = nullptr;
  std::size_t maker = 0;
  std::vector<PanelMember> members;  // in the order of the steps
  std::size_t at = 0;                // the fused step takes the place of this member
  std::vector<PanelValue> values;    // the routine's result first
  std::shared_ptr<const PanelMaker> panels;
  codegen::PanelForm form;

  bool has(std::size_t step) const;
  const PanelValue* value(int slot) const;
};

/// Finds the chains, before the kernels are compiled. This is a pass (transform/pass.h), named
/// "panels"; with it off there are none. `p` is the tape's program.
std::vector<PanelChain> find_panels(TapeContext& ctx, const Program& p);

/// Joins the chains, whose kernels must have been compiled for their panels. Steps are renumbered.
void join_panels(const std::vector<PanelChain>& chains);

}  // namespace tessera::inline v0::tape

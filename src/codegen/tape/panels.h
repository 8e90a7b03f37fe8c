// Steps join the routine whose result they read, if the routine can make that result in panels
// (PanelMaker in ir/routine.h) and they need only one panel at a time: kernels, and routines that
// read an operand in panels (PanelReader).
//
// The steps then run on each panel while the panel is in a cache of the core that made it, in the
// same task. A value between them that nothing else reads is not stored: a panel of it is in memory
// of the thread, which the next panel overwrites. A kernel's code computes addresses from the place
// in the whole value, and is given an address as if the panel were a part of it.
#pragma once

#include "codegen/kernel/kernel_schedule.h"
#include "codegen/tape/context.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tessera::inline v0::tape {

/// A value that a chain makes in panels.
struct PanelValue {
  int slot = -1;
  std::int64_t row_bytes = 0, element_bytes = 0;
  bool whole = true;    // it has the rows of the panels; else one element for each row
  bool stored = false;  // other steps read it
};

struct PanelMember {
  std::size_t step = 0;
  std::shared_ptr<const PanelReader> reader;  // null: a kernel
  /// The kernel behind a reader that only puts the dimensions of its result into another order, in
  /// which the reader writes it; such a step is none any more.
  std::optional<std::size_t> order;
};

/// A routine and the steps that join it, as steps of a draft.
struct PanelChain {
  DraftTape* draft = nullptr;
  std::size_t maker = 0;
  std::vector<PanelMember> members;  // in the order of the steps
  std::size_t at = 0;                // the joint step runs where this one of them was
  std::vector<PanelValue> values;    // the routine's result first
  std::shared_ptr<const PanelMaker> panels;
  codegen::PanelForm form;

  bool has(std::size_t step) const;
  const PanelValue* value(int slot) const;
};

/// Finds the chains, before the kernels are compiled. This is a pass (transform/pass.h), named
/// "panels"; with it off there are none. `p` is the tape's program.
std::vector<PanelChain> find_panels(TapeContext& ctx, const Program& p);

/// Joins the chains, whose kernels are compiled for their panels. Steps get new numbers.
void join_panels(const std::vector<PanelChain>& chains);

}  // namespace tessera::inline v0::tape

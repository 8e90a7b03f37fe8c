// Routines that make their result in panels (development form).
#pragma once
#include "ir/routine.h"
#include <map>
#include <mutex>
namespace tessera::inline v0 {
/// Part of an array of equally long rows: the columns [column, column + n) of rows [row, row + m).
struct Panel {
  std::int64_t row = 0, column = 0, m = 0, n = 0;
};

/// A routine that makes its only result in panels, so that the step that reads the result can run
/// on each panel while a cache holds it.
struct PanelMaker {
  std::int64_t rows = 0, columns = 0;  // of the whole result, in elements
  std::int64_t column_block = 0;       // panels begin at multiples of it, and are no wider
  std::int64_t panel_rows = 0;         // no panel has more rows
  std::vector<Stage> before;           // stages that prepare operands
  std::size_t scratch_bytes = 0;       // for all stages and tasks
  std::int64_t tasks = 0;
  /// Where a panel goes: the address of its first element. Its rows are `columns` elements apart.
  using Place = std::function<void*(const Panel&)>;
  /// Called when a panel is complete.
  using Made = std::function<void(const Panel&)>;
  std::function<void(const RoutineArgs&, std::int64_t task, const Place&, const Made&)> run;
};

struct PanelExtras {
  std::function<std::shared_ptr<const PanelMaker>()> in_panels;
  std::function<void(const RoutineArgs&, const Panel&)> run_panel;
};
struct PanelTable {
  std::mutex m;
  std::map<const Routine*, std::pair<std::shared_ptr<const Routine>, PanelExtras>> all;
};
inline PanelTable& panel_table() {
  static PanelTable* t = new PanelTable;
  return *t;
}
inline PanelExtras& extras(const std::shared_ptr<const Routine>& r) {
  PanelTable& t = panel_table();
  const std::lock_guard l(t.m);
  auto& e = t.all[r.get()];
  e.first = r;
  return e.second;
}
inline PanelExtras extras(const Routine* r) {
  PanelTable& t = panel_table();
  const std::lock_guard l(t.m);
  auto it = t.all.find(r);
  return it == t.all.end() ? PanelExtras{} : it->second.second;
}
}  // namespace tessera::inline v0

// Compiled work: the common interface of kernels and library calls for the executor. Ops that are
// executed by a routine create it here (`Op::call`).
#pragma once

#include "ir/attrs.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

struct Op;

/// The memory that a routine works on: dense row-major buffers in the order of its inputs and
/// outputs, and scratch memory of the size it asked for (64-byte aligned, uninitialised).
struct RoutineArgs {
  const void* const* inputs;
  void* const* outputs;
  void* scratch;
  /// For a routine that reads the form of an operand (OperandForm): the form.
  const void* form = nullptr;
};

/// Runs tasks [begin, end) of one stage. May run on any thread, concurrently with other tasks of
/// the stage.
using TaskFn = std::function<void(const RoutineArgs&, std::int64_t begin, std::int64_t end)>;

/// Stages run in order; the tasks of a stage are independent. How work is divided into tasks
/// depends only on shapes, never on the number of workers, so results do not depend on it either.
struct Stage {
  std::int64_t tasks = 1;
  TaskFn run;
};

/// Part of an array of equally long rows: the columns [column, column + n) of rows [row, row + m).
struct Panel {
  std::int64_t row = 0, column = 0, m = 0, n = 0;
};

/// A routine that computes its only result in panels, so that the step that reads the result can
/// run on each panel while it is in a cache.
struct PanelMaker {
  std::int64_t rows = 0, columns = 0;  // of the whole result, in elements
  std::int64_t column_block = 0;       // panels begin at multiples of it, and are no wider
  std::int64_t panel_rows = 0;         // no panel has more rows
  /// The rows form matrices of `matrix_rows` rows, and a task computes blocks of `block_rows` rows
  /// of a matrix, or whole matrices, in panels. 0: the rows are divided in another way.
  std::int64_t matrix_rows = 0, block_rows = 0;
  std::vector<Stage> before;      // stages that prepare operands
  std::size_t scratch_bytes = 0;  // for all stages and tasks
  std::int64_t tasks = 0;
  /// Returns the address of a panel's first element. The panel's rows are `columns` elements apart.
  using Place = std::function<void*(const Panel&)>;
  /// Called when a panel is complete.
  using Made = std::function<void(const Panel&)>;
  std::function<void(const RoutineArgs&, std::int64_t task, const Place&, const Made&)> run;
};

/// A routine that reads one of its operands in panels of whole rows. Each panel is read only once,
/// as soon as it is complete.
struct PanelReader {
  std::vector<Stage> before;      // stages that prepare the other operands
  std::size_t scratch_bytes = 0;  // for all stages and tasks
  /// The size of memory of the thread whose contents are kept from the first panel of a task to the
  /// last.
  std::size_t task_bytes = 0;
  /// Processes a panel. `operand` is the address at which the whole operand would begin; the
  /// operand's entry in the inputs is not read. The panels of a task come in order.
  std::function<void(const RoutineArgs&, const Panel&, const void* operand, void* task_memory)> run;
};

struct Routine;

/// The packed form of an operand: its elements in the order in which a routine reads them, such as
/// a matrix in panels. It depends on the operand alone, so it may be cached with an operand that
/// many calls read and that does not change.
struct OperandForm {
  std::string key;  // forms of one operand with equal keys have equal contents
  std::size_t bytes = 0;
  std::int64_t tasks = 1;
  /// Runs tasks [begin, end), which together make the form. `form` is 64-byte aligned.
  std::function<void(const void* operand, void* form, std::int64_t begin, std::int64_t end)> make;
  /// The routine that reads the form (RoutineArgs::form). It has the same inputs and results as the
  /// routine that declares the form, and computes the same bits.
  std::shared_ptr<const Routine> reader;
};

struct Routine {
  std::string name;  // shown in profiles: "tanh+mul+add", "dot_general"
  std::vector<Stage> stages;
  std::size_t scratch_bytes = 0;
  std::size_t bytes = 0;  // approximate memory held, e.g. machine code
  /// Whether it calls a library that destroys its static variables when the process ends.
  bool library = false;
  double seconds = 0;  // estimated time on one core, to choose between inline and the pool
  /// Pairs (input, output) that may share memory: every task reads that input only where it writes
  /// that output.
  std::vector<std::pair<int, int>> in_place;
  /// Returns the variant of the routine that computes its result in panels; null if there is none.
  std::function<std::shared_ptr<const PanelMaker>()> in_panels;
  /// Returns the variant of the routine that reads an input in the maker's panels; null if there is
  /// none. `strides` gives the stride in memory, in elements, of each dimension of the routine's
  /// result; if empty, the result is row-major.
  std::function<std::shared_ptr<const PanelReader>(std::size_t input, const PanelMaker&,
                                                   std::span<const std::int64_t> strides)>
      reads_panels;
  /// The operand that has a packed form, and a function that returns the form; -1 and null if there
  /// is none.
  int form_operand = -1;
  std::function<std::shared_ptr<const OperandForm>()> operand_form;
  /// Computes the panel of every result; null if the routine was not compiled for panels.
  std::function<void(const RoutineArgs&, const Panel&)> run_panel;
};

/// The equation for which a routine is requested.
struct CallArgs {
  const Op& op;
  const Attrs& attrs;
  std::span<const Type> inputs;
  std::span<const Type> outputs;
};
/// Returns nullptr if there is no routine for these types.
using CallRule = std::function<std::shared_ptr<const Routine>(const CallArgs&)>;

}  // namespace tessera::inline v0

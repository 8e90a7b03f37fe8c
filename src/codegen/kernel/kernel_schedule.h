// Chooses the loops of a kernel: its stages, collapsed dimensions, the vectorised dimension, and
// the division of work into tasks.
#pragma once

#include "base/machine.h"
#include "codegen/kernel/index.h"
#include "codegen/kernel/reduce_shape.h"
#include "ir/program.h"

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace tessera::inline v0::codegen {

/// The panels on which a kernel should be able to run (`Panel` in ir/routine.h). The rows of its
/// results have `columns` elements, and panels begin at multiples of `column_block`. If `columns`
/// is 0, the kernel need not run on panels.
struct PanelForm {
  std::int64_t columns = 0, column_block = 0;
  /// Whether panels have whole rows.
  bool whole_rows() const { return column_block >= columns; }
};

/// A long reduction with few results: one stage computes its chunks into scratch memory, with
/// layout [chunks, result...].
struct SplitReduction {
  const Equation* eqn = nullptr;
  Var var = 0;
  ReduceShape shape;
  DType accumulator = DType::float32;
  std::size_t partials = 0;  // offset in scratch
  std::size_t total = 0;     // offset in scratch, if a separate stage combines the chunks
  bool combined = false;     // whether a separate stage combines the chunks
};

/// One pass over an index space. The loops run over `dims`, outermost first; loop i covers
/// `groups[i]` dimensions of `shape`.
struct StageSchedule {
  enum class Kind { outputs, partials, totals } kind = Kind::outputs;
  std::vector<int> members;  // indices into the outputs, or into the split reductions
  Shape shape;
  std::vector<std::int64_t> dims;
  std::vector<int> groups;
  int width = 0;            // vector width of the innermost loop; 0: scalar
  bool any_length = false;  // a single loop whose length is an argument of the machine code
  /// A row starts after `row_dims` dimensions. Reductions along the last dimensions, and outputs
  /// without these dimensions, are computed before the loops over the row. 0: there are no rows.
  std::size_t row_dims = 0, row_loops = 0;
  std::vector<int> row_members;
  std::vector<Var> cached;  // computed once per row and kept in memory
  /// In a transposing stage, the loop that is cut into tiles of `tile_length`, which run inside the
  /// vectorised loop; -1: none.
  int tile = -1;
  std::int64_t tile_length = 0;
  bool tile_unrolled = false;  // whole tiles are transposed in registers
  // consecutive units follow the tiled loop, the order of the operands in memory
  bool along_rows = false;
  /// Positions along the innermost loop at which the bounds of a value begin or end, such as the
  /// ends of the pieces of a concatenation. The loop is split there, so that each part reads only
  /// the pieces that it needs.
  std::vector<std::int64_t> seams;
  std::size_t unit_dims = 0;  // number of outermost loops that are flattened into the unit index
  // block length of the innermost loop, whose blocks are the last digit of the unit; 0: not cut
  std::int64_t block = 0;
  std::int64_t units = 1, units_per_task = 1;
  double seconds = 0;               // estimated time of one execution on one core
  std::unordered_set<Var> stored;   // outputs that earlier stages have written
  std::unordered_set<Var> reduced;  // split reductions whose chunks earlier stages have computed
  std::vector<std::pair<int, int>> in_place;
  /// Results are stored non-temporally because they do not fit the caches: an ordinary store would
  /// first read the line and would evict useful data.
  bool past_caches = false;

  std::int64_t tasks() const { return (units + units_per_task - 1) / units_per_task; }
};

struct KernelSchedule {
  std::vector<StageSchedule> stages;
  std::vector<SplitReduction> splits;
  std::size_t scratch_bytes = 0;
  /// Pairs (input, output) that may share memory: the input is read only at the index that is
  /// written.
  std::vector<std::pair<int, int>> in_place;
  /// For each input, whether a panel of the results reads only the same panel of the input. Empty
  /// if the kernel cannot run on panels.
  std::vector<bool> panel_inputs;
};

/// `any_length`: the program is elementwise over one-dimensional operands of equal length, which
/// the machine code takes as an argument.
KernelSchedule schedule_kernel(const Program& p, bool any_length = false, PanelForm panels = {});

/// The index into an output of `shape` for the row at `row`, whose dimensions have these extents;
/// empty if they do not match.
std::vector<Index> row_index(std::span<const Index> row, std::span<const std::int64_t> extents,
                             const Shape& shape);

/// Results at least this large are stored non-temporally: they would be evicted before being read,
/// or evict other data.
inline constexpr std::int64_t kPastCachesFrom = machine::kPastCaches;
/// Enables non-temporal stores in stages whose result vectors fill whole cache lines.
void write_past_caches(KernelSchedule& plan, const Program& p);

/// Sets the number of units and tasks of an any-length stage for an actual length.
void set_length(StageSchedule& stage, std::int64_t length);

}  // namespace tessera::inline v0::codegen

// Decides the loops of a kernel: stages, collapsed dimensions, the vectorised one, and how the work
// is cut into tasks.
#pragma once

#include "codegen/kernel/index.h"
#include "codegen/kernel/reduce_shape.h"
#include "ir/program.h"

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace tessera::inline v0::codegen {

/// A long reduction with few results: a stage computes its chunks into scratch memory, [chunks,
/// result...].
struct SplitReduction {
  const Equation* eqn = nullptr;
  Var var = 0;
  ReduceShape shape;
  DType accumulator = DType::float32;
  std::size_t partials = 0;  // offset in scratch
  std::size_t total = 0;     // likewise, where a stage of its own combines the chunks
  bool combined = false;     // whether there is such a stage
};

/// One pass over an index space. Loops run over `dims`, outermost first, each covering `groups[i]`
/// dimensions of `shape`.
struct StageSchedule {
  enum class Kind { outputs, partials, totals } kind = Kind::outputs;
  std::vector<int> members;  // positions among the outputs, or among the split reductions
  Shape shape;
  std::vector<std::int64_t> dims;
  std::vector<int> groups;
  int width = 0;            // lanes of the innermost loop; 0: scalar
  bool any_length = false;  // one loop whose length is an argument of the machine code
  /// Reductions along the last dimensions, and outputs without them, are computed in front of the
  /// loops over the row that starts after `row_dims` dimensions; 0: there are none.
  std::size_t row_dims = 0, row_loops = 0;
  std::vector<int> row_members;
  std::vector<Var> cached;  // computed once for a row and kept
  /// In a transposing stage, the loop that goes innermost, inside the vectorised one, cut into
  /// pieces of `tile_length`.
  int tile = -1;
  std::int64_t tile_length = 0;
  bool tile_unrolled = false;  // whole tiles are transposed in registers
  bool along_rows = false;     // units follow one another along the tiled loop, as operands lie
  std::size_t unit_dims = 0;   // the outermost loops are flattened into the unit index
  std::int64_t block =
      0;  // the innermost loop is cut into blocks of this length, the last unit digit; 0: whole
  std::int64_t units = 1, units_per_task = 1;
  double seconds = 0;               // one execution on one core, roughly
  std::unordered_set<Var> stored;   // outputs that earlier stages wrote
  std::unordered_set<Var> reduced;  // split reductions whose chunks earlier stages computed
  std::vector<std::pair<int, int>> in_place;
  /// Results go to memory past the caches, which they would not fit: a store into a cache reads the
  /// line first, and drives out what is of use.
  bool past_caches = false;

  std::int64_t tasks() const { return (units + units_per_task - 1) / units_per_task; }
};

struct KernelSchedule {
  std::vector<StageSchedule> stages;
  std::vector<SplitReduction> splits;
  std::size_t scratch_bytes = 0;
  /// Pairs (input, output) that may share memory: the input is read at the index that is written,
  /// and nowhere else.
  std::vector<std::pair<int, int>> in_place;
};

/// `any_length`: the program is elementwise over one-dimensional operands of one length, which the
/// machine code takes as an argument.
KernelSchedule schedule_kernel(const Program& p, bool any_length = false);

/// The index of an output of `shape` in the row at `row`, whose dimensions have these extents;
/// empty where they do not fit.
std::vector<Index> row_index(std::span<const Index> row, std::span<const std::int64_t> extents,
                             const Shape& shape);

/// Results of as many bytes are in no cache by the time that somebody reads them, or drive out of one
/// what others have there. What systems say of caches is not heeded: they name one for all cores of a
/// machine, of which a virtual one has a few.
inline constexpr std::int64_t kPastCachesFrom = std::int64_t{32} << 20;
/// Lets the stages whose vectors of results fill whole lines write past the caches.
void write_past_caches(KernelSchedule& plan, const Program& p);

/// The number of units and tasks of an any-length stage for an actual length.
void set_length(StageSchedule& stage, std::int64_t length);

}  // namespace tessera::inline v0::codegen

// Data prepared once for each tape: how inputs become pointers of the tape, and how its memory
// becomes arrays.
#pragma once

#include "codegen/tape/tape.h"
#include "runtime/array_data.h"
#include "runtime/forms.h"
#include "spmd/place/blocks.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tessera::inline v0::runtime {

/// How arrays become the pointers of one argument of the tape.
struct ArgumentPlan {
  LayoutPtr committed, uncommitted;  // layouts that are used shard by shard; null for a whole array
  std::vector<std::int64_t> instance;  // indices into the table for this process's instances
  std::vector<std::int64_t> position;  // for each of these: the position in the mesh
  // for each of these: bytes into the whole array, if blocks are contiguous
  std::vector<std::int64_t> offset;
  std::optional<spmd::Blocks> blocks;
};

struct ResultPlan {
  LayoutPtr layout;  // null for a whole array
  // for each shard of this process, the index of the stored instance
  std::vector<std::int64_t> instance;
  std::int64_t bytes = 0;  // of all stored instances
  bool uniform = false;
};

/// The tape for one set of uniform inputs.
struct Variant {
  std::vector<bool> uniform;
  std::shared_ptr<const tape::Tape> tape;
  std::vector<ArgumentPlan> arguments;
  std::vector<ResultPlan> results;
  std::vector<std::vector<std::size_t>> of_input;  // argument indices by input
  /// The layout of whole results of a program that runs on devices of some, but not all, processes;
  /// null: given by the inputs.
  LayoutPtr whole;
  int last_device = 0;     // the highest id in all regions
  bool between = false;    // devices of other processes take part
  bool libraries = false;  // it calls libraries
  mutable std::atomic<bool> ran{false};
  mutable Forms forms;  // of the tape's constants
};

/// The variant for a tape of a program with `inputs` inputs, planned for the given `uniform`
/// inputs.
std::shared_ptr<const Variant> make_variant(std::shared_ptr<const tape::Tape> tape,
                                            std::vector<bool> uniform, std::size_t inputs);

}  // namespace tessera::inline v0::runtime

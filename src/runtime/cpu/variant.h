// What is worked out once for a tape: how inputs become its pointers and its memory becomes arrays.
#pragma once

#include "codegen/tape/tape.h"
#include "runtime/array_data.h"
#include "spmd/place/blocks.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tessera::inline v0::runtime {

/// An argument of the tape: how arrays become its pointers.
struct ArgumentPlan {
  LayoutPtr committed, uncommitted;    // what is used shard by shard; null for a whole
  std::vector<std::int64_t> instance;  // those of this process: places in the table
  std::vector<std::int64_t> position;  // of these: place in the mesh
  std::vector<std::int64_t> offset;  // of these: bytes into the whole, where blocks are contiguous
  std::optional<spmd::Blocks> blocks;
};

struct ResultPlan {
  LayoutPtr layout;                    // null for a whole
  std::vector<std::int64_t> instance;  // by shard of this process, which of what is stored
  std::int64_t bytes = 0;              // of all that are stored
  bool uniform = false;
};

/// The tape for one set of uniform inputs.
struct Variant {
  std::vector<bool> uniform;
  std::shared_ptr<const tape::Tape> tape;
  std::vector<ArgumentPlan> arguments;
  std::vector<ResultPlan> results;
  std::vector<std::vector<std::size_t>> of_input;  // arguments by input
  /// Where results are that are whole, in a program that runs on devices of some of several
  /// processes; null: where its inputs say.
  LayoutPtr whole;
  int last_device = 0;     // of all regions
  bool between = false;    // processes: devices of others take part
  bool libraries = false;  // are called
  mutable std::atomic<bool> ran{false};
};

/// For a tape of a program with `inputs` inputs, planned for those in `uniform`.
std::shared_ptr<const Variant> make_variant(std::shared_ptr<const tape::Tape> tape,
                                            std::vector<bool> uniform, std::size_t inputs);

}  // namespace tessera::inline v0::runtime

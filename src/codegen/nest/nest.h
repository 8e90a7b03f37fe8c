// Loops with small bodies as plain data, and their compilation to one function each.
//
// A block is a straight line of steps over buffers: kernels, updates in place, copies, loops and
// branches. The planner makes a nest from a loop whose bodies contain nothing else (tape/native.h).
// In the function, buffers of a block are memory of the function, so small carries and temporaries
// end up in registers.
#pragma once

#include "ir/program.h"
#include "ir/routine.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace tessera::inline v0::codegen {

/// Memory in a buffer of the block, from a byte offset onwards.
struct Spot {
  int buffer = -1;
  std::int64_t offset = 0;
};

/// Memory of a block: that of an argument or result, a constant with these contents, or its own.
struct NestBuffer {
  std::int64_t bytes = 0;
  std::string contents = {};  // of a constant
};

struct NestStep;
struct NestBlock {
  std::vector<NestBuffer> buffers;
  /// The buffers that the caller gives. A result of -1 is not computed.
  std::vector<int> arguments, results;
  std::vector<NestStep> steps;
};

struct NestKernel {
  ProgramPtr program;
};
/// Overwrites operand 0, which is first copied to the result unless both share memory. The program
/// is one equation whose op has a rule `write`.
struct NestUpdate {
  ProgramPtr program;
};
struct NestCopy {
  std::int64_t bytes = 0;
};
/// A scan, with one block, or a while loop, with the blocks of its condition and body. The fields
/// and operands are those of a LoopStep of a tape (tape/tape.h).
struct NestLoop {
  std::vector<NestBlock> blocks;
  std::size_t cond_consts = 0, consts = 0, carries = 0;
  std::vector<bool> kept;
  std::vector<int> tied;
  // of a scan
  std::int64_t length = 0;
  bool reverse = false;
  std::vector<std::int64_t> rows;

  bool is_scan() const { return blocks.size() == 1; }
};
/// The choice of a block by operand 0.
struct NestBranch {
  std::vector<NestBlock> blocks;
  std::size_t operands = 0;  // that all blocks take; each further one belongs to a single block
  std::vector<int> tied;
};

struct NestStep {
  std::vector<Spot> inputs, outputs;
  std::variant<NestKernel, NestUpdate, NestCopy, NestLoop, NestBranch> kind;
};

struct Nest {
  std::string name;
  NestLoop loop;
  std::size_t inputs = 0, outputs = 0;
  double seconds = 0;
};

/// A key that is equal for two nests exactly if their machine code is.
std::string nest_key(const Nest& nest);

/// The number of blocks in a nest: a loop's, each followed by those inside it.
std::size_t block_count(const NestLoop& loop);

/// Whether the update can be part of a nest.
bool is_emitted_update(const Equation& eqn, DType dtype);

/// Returns a routine per nest, with one stage of one task. Its operands and results are those of
/// the loop. At the end its scratch memory holds the number of runs of each block (int64), in the
/// order of block_count(). Cached as kernels are. Thread-safe.
std::vector<std::shared_ptr<const Routine>> compile_nests(std::span<const Nest> nests);

}  // namespace tessera::inline v0::codegen

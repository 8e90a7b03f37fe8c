// The operations of a processor's matrix unit, whose registers are small matrices: AMX's tiles.
// Private to the loops of matrix products.
//
// A register holds up to 16 rows of 64 bytes, which are 16 words (terms.h). A loop is written once
// against this interface. One implementation emits AMX's instructions, and the other one computes
// the same bits with vectors on any processor, so that everything above the instructions is tested
// on any machine.
#pragma once

#include "codegen/kernel/llvm_ir.h"
#include "codegen/matrix/terms.h"

#include <memory>

namespace tessera::inline v0::codegen::matrix {

class UnitOps {
 public:
  virtual ~UnitOps() = default;
  UnitOps(const UnitOps&) = delete;

  /// Gives the registers the UnitShapes to which a pointer leads. All are zeros afterwards.
  virtual void configure(llvm::Value* shapes) = 0;
  virtual void zero(int r) = 0;
  /// Loads or stores the rows of a register, which are `row_bytes` bytes apart.
  virtual void load(int r, llvm::Value* from, llvm::Value* row_bytes) = 0;
  virtual void store(int r, llvm::Value* to, llvm::Value* row_bytes) = 0;
  /// Adds the product of A and B to C. A row of A is a row of words, and a row of B holds the words
  /// of one position of all columns.
  virtual void dot(int c, int a, int b) = 0;
  /// The unit has no state afterwards, so that threads that do something else do not carry it.
  virtual void release() = 0;

 protected:
  UnitOps() = default;
};

/// The instructions of AMX. The function that is being written may then use them.
std::unique_ptr<UnitOps> amx_ops(IrBuilder& b, Terms terms);
/// The same with vectors. The builder is in the function's first block, where its memory is.
std::unique_ptr<UnitOps> emulated_ops(IrBuilder& b, Terms terms);

}  // namespace tessera::inline v0::codegen::matrix

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

  /// Configures the registers with the UnitShapes at this address. All registers are zero
  /// afterwards.
  virtual void configure(llvm::Value* shapes) = 0;
  virtual void zero(int r) = 0;
  /// Loads or stores the rows of a register, which are `row_bytes` bytes apart.
  virtual void load(int r, llvm::Value* from, llvm::Value* row_bytes) = 0;
  virtual void store(int r, llvm::Value* to, llvm::Value* row_bytes) = 0;
  /// Adds the product of A and B to C. A row of A is a row of words, and a row of B holds the words
  /// of one position of all columns.
  virtual void dot(int c, int a, int b) = 0;
  /// Releases the unit's state, so that context switches of the thread need not save it.
  virtual void release() = 0;

 protected:
  UnitOps() = default;
};

/// Emits AMX's instructions, and enables them for the function that is being written.
std::unique_ptr<UnitOps> amx_ops(IrBuilder& b, Terms terms);
/// Emulates the operations with vectors. The builder must be in the function's first block, where
/// the registers' memory is allocated.
std::unique_ptr<UnitOps> emulated_ops(IrBuilder& b, Terms terms);

}  // namespace tessera::inline v0::codegen::matrix

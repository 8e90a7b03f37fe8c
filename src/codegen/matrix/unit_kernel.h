// The inner loop of matrix products on a processor's matrix unit: a block of up to 32 x 32 elements
// of the result stays in four registers of the unit while the terms of a stretch of k are added.
//
// The words of k are taken in groups of 16, the width of a register. The sum of an element is that
// of its groups, which are added in the order of k, beginning with zero. Within a group of pairs,
// the products of the first numbers of all pairs are added up in order, by fused multiply-adds, and
// so are those of the second numbers. The two sums are added, and then added to the element's sum.
// Each step rounds to nearest even and treats subnormal numbers as zeros. The order follows from k
// alone. Sums of integers are exact, modulo 2^32.
#pragma once

#include "codegen/kernel/isa.h"
#include "codegen/kernel/shared_code.h"
#include "codegen/matrix/terms.h"

#include <cstdint>

namespace tessera::inline v0::codegen::matrix {

inline constexpr int kUnitRegisters = 8, kUnitRows = 16, kUnitWords = 16, kUnitRowBytes = 64;

/// The shapes of the registers, in the format that the processor reads.
struct UnitShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {};  // of a row of a register
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(UnitShapes) == 64);

/// The size of a block: two registers in each direction.
inline constexpr int kUnitBlockRows = 2 * kUnitRows, kUnitBlockColumns = 2 * kUnitWords;

struct UnitKernelKind {
  Terms terms = Terms::unit_bfloat16;
  bool tall = false;     // more than 16 rows
  bool partial = false;  // fewer than 32 columns
  MatrixUnit unit = MatrixUnit::emulated;
};

/// Arguments of a kernel, which computes `panels` blocks that are adjacent in a row. Distances are
/// in bytes. In both operands, the words past the last step of k are zeros.
struct UnitArgs {
  const UnitShapes* shapes;  // unit_shapes(rows)
  const void* a;             // rows of words
  const void* b;             // panels of kUnitBlockColumns columns, whose rows are words of a step
  void* c;
  std::int64_t a_row, a_group;  // from one row, and one group of words, to the next
  std::int64_t b_panel, c_row;
  std::int64_t groups, panels, rows;
  std::int64_t from_result = 0;  // 1 if sums begin with the result instead of zero
  std::int64_t columns = 0;      // of a partial block
};
using UnitKernel = void (*)(const UnitArgs*);

/// The shapes of the registers for a block of this many rows.
UnitShapes unit_shapes(std::int64_t rows);

/// The kernel, which is a UnitKernel.
SharedFunction unit_function(const UnitKernelKind& kind);
/// Compiles the kernel, or finds it. Thread-safe.
UnitKernel unit_kernel(const UnitKernelKind& kind);

}  // namespace tessera::inline v0::codegen::matrix

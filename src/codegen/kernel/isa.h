// Properties of the processor that the kernel compiler uses.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace tessera::inline v0::codegen {

/// Instruction sets for which functions are compiled when the library is built. A processor of one
/// level also has the instructions of the lower levels.
enum class Level { sse4, avx2, avx512 };

/// A unit that multiplies small matrices: AMX, or its emulation by vectors, for tests.
enum class MatrixUnit { none, amx, emulated };

struct Isa {
  std::string triple, cpu, features;
  int vector_bytes = 16;       // per register
  int math32 = 4, math64 = 2;  // lanes of the vector math functions
  bool avx512 = false, avx2 = false;
  bool bfloat16 = false;  // has dot products of bfloat16 pairs with float32 sums
  bool int8 = false;      // has dot products of int8 quadruples and int16 pairs with int32 sums
  bool fused = false;     // has fused multiply-adds
  int vector_registers = 16;
  /// The level whose code runs on this processor and uses the vector sizes above; none if the
  /// processor lacks some of its instructions.
  std::optional<Level> level;
  MatrixUnit unit = MatrixUnit::none;
  bool unit_bfloat16 = false, unit_float16 = false, unit_int8 = false;  // its dtypes
};

/// The processor this process runs on.
const Isa& host_isa();
/// A processor with these features, by LLVM's names, without those that TESSERA_ISA excludes.
/// `newest` is the value of that variable, or empty.
Isa isa_with(std::string cpu, std::map<std::string, bool> features, const std::string& newest);
/// The matrix unit of host_isa() if the system lets this process use it. AMX has registers of
/// 8 KiB, which Linux saves only for processes that have asked for them; the first call asks.
MatrixUnit matrix_unit();
/// For tests: overrides the result of matrix_unit() from now on, or restores it if empty.
void pretend_matrix_unit(std::optional<MatrixUnit> unit);
/// The least processor of a level.
Isa isa_of(Level level);
/// Makes host_isa() the least processor of this level. It is for the program that compiles
/// functions for other processors, and must be called before the first host_isa().
void pretend_isa(Level level);

}  // namespace tessera::inline v0::codegen

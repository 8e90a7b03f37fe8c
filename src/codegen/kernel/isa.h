// Properties of the processor that the kernel compiler uses.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace tessera::inline v0::codegen {

/// Instruction sets for which functions are compiled when the library is built. All processors that
/// have an extension also have what older extensions brought.
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
  /// The level whose code runs here and has the sizes above; none if this processor lacks a part.
  std::optional<Level> level;
  MatrixUnit unit = MatrixUnit::none;
  bool unit_bfloat16 = false, unit_float16 = false, unit_int8 = false;  // what the unit multiplies
};

/// The processor this process runs on.
const Isa& host_isa();
/// A processor with these features, by LLVM's names, of which those that TESSERA_ISA excludes are
/// turned off. `newest` is the value of that variable, or empty.
Isa isa_with(std::string cpu, std::map<std::string, bool> features, const std::string& newest);
/// The matrix unit of host_isa() if the system lets this process use it. AMX has registers of
/// 8 KiB, which Linux saves only for processes that have asked for them; the first call asks.
MatrixUnit matrix_unit();
/// For tests: the answers of matrix_unit() from now on, or its own ones again.
void pretend_matrix_unit(std::optional<MatrixUnit> unit);
/// The least processor of a level.
Isa isa_of(Level level);
/// From now on host_isa() is the least processor of this level. For the program that compiles
/// functions for other processors, before anything else asks.
void pretend_isa(Level level);

}  // namespace tessera::inline v0::codegen

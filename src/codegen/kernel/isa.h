// Properties of the processor that the kernel compiler uses.
#pragma once

#include <string>

namespace tessera::inline v0::codegen {

struct Isa {
  std::string triple, cpu, features;
  int vector_bytes = 16;       // per register
  int math32 = 4, math64 = 2;  // lanes of the vector math functions
  bool avx512 = false, avx2 = false;
  bool bfloat16 = false;  // has dot products of bfloat16 pairs with float32 sums
  bool int8 = false;      // has dot products of int8 quadruples and int16 pairs with int32 sums
  bool fused = false;     // has fused multiply-adds
  int vector_registers = 16;
};

/// The processor this process runs on.
const Isa& host_isa();

}  // namespace tessera::inline v0::codegen

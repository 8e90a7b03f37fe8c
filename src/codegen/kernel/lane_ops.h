// Arithmetic of the emitter in LLVM IR.
//
// A lane value is a scalar, equal for all lanes, until an operation combines it with a vector. In
// registers, float16 and bfloat16 values are float32 values already rounded to their type, booleans
// as single bits, and complex numbers as structs of two parts, each a scalar or a vector. Nothing
// is contracted or reassociated.
#pragma once

#include "ir/emit.h"

#include <deque>
#include <map>
#include <utility>

namespace llvm {
class Constant;
class LLVMContext;
class Module;
class Type;
class Value;
}  // namespace llvm

namespace tessera::inline v0::codegen {

struct IrBuilder;

struct LaneValue {
  llvm::Value* v = nullptr;
  DType dtype = DType::float32;
  int width = 0;  // 0: a scalar
};

class LaneOps {
 public:
  LaneOps(llvm::Module& module, IrBuilder& b) : module_(module), b_(b) {}

  /// LLVM types in registers and in memory; width 0 is a scalar.
  llvm::Type* type(DType d, int width = 0) const;
  llvm::Type* memory_type(DType d, int width = 0) const;
  Lane from_memory(llvm::Value* v, DType d, int width);
  llvm::Value* to_memory(const Lane& x);

  Lane lane(llvm::Value* v, DType d);
  static const LaneValue& value(const Lane& x) { return *static_cast<const LaneValue*>(x.handle); }
  /// The value as a vector of `width` lanes.
  llvm::Value* vector(const Lane& x, int width);
  llvm::Value* splat(llvm::Value* v, int width);
  /// Selects lanes of a value in registers; for a complex value, of both parts.
  llvm::Value* shuffled(llvm::Value* v, std::span<const int> lanes);
  llvm::Value* extracted(llvm::Value* v, llvm::Value* lane);
  llvm::Value* inserted(llvm::Value* v, llvm::Value* element, llvm::Value* lane);
  /// `part` extracts the real (0) or imaginary (1) part of a complex value; `joined` makes one from
  /// both.
  llvm::Value* part(llvm::Value* v, unsigned which);
  llvm::Value* joined(llvm::Value* real, llvm::Value* imag);

  Lane constant(DType d, double value);
  Lane constant(DType d, std::int64_t value);
  Lane unary(Arith op, Lane x);
  Lane binary(Arith op, Lane x, Lane y);
  Lane select(Lane condition, Lane on_true, Lane on_false);
  Lane convert(Lane x, DType to);
  Lane bitcast(Lane x, DType to);

 private:
  llvm::Value* from_half(llvm::Value* v);       // converts to float32
  llvm::Value* round(llvm::Value* v, DType d);  // rounds float32 to the precision of d
  llvm::Value* float_unary(Arith op, llvm::Value* v, bool f64);
  llvm::Value* integer_unary(Arith op, llvm::Value* v, DType d);
  llvm::Value* extreme(Arith op, llvm::Value* x, llvm::Value* y, bool f64);
  llvm::Value* float_binary(Arith op, llvm::Value* x, llvm::Value* y, bool f64);
  llvm::Value* integer_binary(Arith op, llvm::Value* x, llvm::Value* y, DType d);
  llvm::Value* integer_division(Arith op, llvm::Value* x, llvm::Value* y, bool is_signed);
  llvm::Value* integer_power(llvm::Value* x, llvm::Value* y, bool is_signed);
  llvm::Value* compare(Arith op, llvm::Value* x, llvm::Value* y, DType d);
  llvm::Value* call_math(Arith op, llvm::Value* x, llvm::Value* y, bool f64);
  llvm::Value* math_callee(Arith op, bool f64, int operands);
  llvm::Value* over_whole_range(Arith op, llvm::Value* x);
  llvm::Value* atan2_of_any(llvm::Value* y, llvm::Value* x, bool f64);
  llvm::Value* periodic_of_any(Arith op, llvm::Value* x);
  llvm::Value* erf_inv(llvm::Value* x, bool f64);
  llvm::Value* erf_inv_of_floats(llvm::Value* x, llvm::Value* w);
  llvm::Value* erf_inv_of_doubles(llvm::Value* x, llvm::Value* w);
  llvm::Value* number(llvm::Type* like, double value);
  Lane complex(Lane real, Lane imag);
  Lane part(Lane x, unsigned which);
  Lane complex_unary(Arith op, Lane x);
  Lane complex_binary(Arith op, Lane x, Lane y);
  Lane complex_convert(Lane x, DType to);
  Lane complex_quotient(Lane x, Lane y);
  Lane magnitude(Lane x);
  Lane call_complex(Arith op, Lane x, const Lane* y);

  llvm::Module& module_;
  IrBuilder& b_;
  std::deque<LaneValue> values_;
  std::map<std::pair<DType, llvm::Constant*>, const LaneValue*> constants_;
  std::map<std::pair<Arith, bool>, llvm::Value*> callees_;
};

}  // namespace tessera::inline v0::codegen

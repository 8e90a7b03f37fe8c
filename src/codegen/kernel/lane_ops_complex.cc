// Complex arithmetic of the emitter: pairs of real lanes, and function calls for each lane.
#include "base/message.h"
#include "codegen/kernel/lane_ops.h"
#include "codegen/kernel/llvm_ir.h"
#include "ir/complex_functions.h"

#include <limits>

namespace tessera::inline v0::codegen {

llvm::Value* LaneOps::part(llvm::Value* v, unsigned which) {
  if (auto* outer = llvm::dyn_cast<llvm::InsertValueInst>(v)) {
    if (outer->getIndices()[0] == which) return outer->getInsertedValueOperand();
    if (auto* inner = llvm::dyn_cast<llvm::InsertValueInst>(outer->getAggregateOperand()))
      return inner->getInsertedValueOperand();
  }
  return b_.CreateExtractValue(v, which);
}

llvm::Value* LaneOps::joined(llvm::Value* real, llvm::Value* imag) {
  llvm::StructType* t = llvm::StructType::get(real->getType(), imag->getType());
  llvm::Value* v = b_.CreateInsertValue(llvm::PoisonValue::get(t), real, 0);
  return b_.CreateInsertValue(v, imag, 1);
}

llvm::Value* LaneOps::shuffled(llvm::Value* v, std::span<const int> lanes) {
  if (v->getType()->isStructTy())
    return joined(shuffled(part(v, 0), lanes), shuffled(part(v, 1), lanes));
  return b_.CreateShuffleVector(v, llvm::ArrayRef<int>(lanes.data(), lanes.size()));
}

llvm::Value* LaneOps::extracted(llvm::Value* v, llvm::Value* lane) {
  if (v->getType()->isStructTy())
    return joined(extracted(part(v, 0), lane), extracted(part(v, 1), lane));
  return b_.CreateExtractElement(v, lane);
}

llvm::Value* LaneOps::inserted(llvm::Value* v, llvm::Value* element, llvm::Value* lane) {
  if (v->getType()->isStructTy())
    return joined(inserted(part(v, 0), part(element, 0), lane),
                  inserted(part(v, 1), part(element, 1), lane));
  return b_.CreateInsertElement(v, element, lane);
}

Lane LaneOps::part(Lane x, unsigned which) {
  return lane(part(value(x).v, which), real_dtype(x.dtype));
}

Lane LaneOps::complex(Lane real, Lane imag) {
  const int width = std::max(value(real).width, value(imag).width);
  return lane(joined(vector(real, width), vector(imag, width)), complex_dtype(real.dtype));
}

// Calls the function for one lane after the other.
Lane LaneOps::call_complex(Arith op, Lane x, const Lane* y) {
  const bool wide = x.dtype == DType::complex128;
  const ComplexFunction* f = complex_function(op, wide);
  if (!f) throw InternalError("emitter: no such function of complex numbers");
  llvm::Type* number = b_.getDoubleTy();
  auto* type = llvm::FunctionType::get(llvm::StructType::get(number, number),
                                       {number, number, number, number}, false);
  auto* callee = llvm::cast<llvm::Function>(module_.getOrInsertFunction(f->name, type).getCallee());
  callee->setDoesNotThrow();
  callee->setDoesNotAccessMemory();
  callee->addFnAttr(llvm::Attribute::WillReturn);

  const int width = std::max(value(x).width, y ? value(*y).width : 0);
  const DType real = real_dtype(x.dtype);
  std::vector<llvm::Value*> operands;
  for (const Lane& operand : {x, y ? *y : x})
    for (unsigned k = 0; k < 2; ++k)
      operands.push_back(vector(convert(part(operand, k), DType::float64), width));
  auto call = [&](int at) {
    std::vector<llvm::Value*> arguments;
    for (llvm::Value* v : operands)
      arguments.push_back(width ? b_.CreateExtractElement(v, static_cast<std::uint64_t>(at)) : v);
    return b_.CreateCall(callee, arguments);
  };
  llvm::Value* parts[2];
  for (llvm::Value*& v : parts) v = llvm::PoisonValue::get(this->type(DType::float64, width));
  for (int at = 0; at < std::max(width, 1); ++at) {
    llvm::Value* result = call(at);
    for (unsigned k = 0; k < 2; ++k) {
      llvm::Value* v = b_.CreateExtractValue(result, k);
      parts[k] = width ? b_.CreateInsertElement(parts[k], v, static_cast<std::uint64_t>(at)) : v;
    }
  }
  Lane re = convert(lane(parts[0], DType::float64), real);
  return op == Arith::abs ? re : complex(re, convert(lane(parts[1], DType::float64), real));
}

// |x|. In float64 the squares of float32 values neither overflow nor lose bits.
Lane LaneOps::magnitude(Lane x) {
  if (x.dtype == DType::complex128) return call_complex(Arith::abs, x, nullptr);
  Lane re = part(x, 0), im = part(x, 1);
  auto square = [&](Lane v) {
    v = convert(v, DType::float64);
    return binary(Arith::mul, v, v);
  };
  Lane root = unary(Arith::sqrt, binary(Arith::add, square(re), square(im)));
  const Lane infinity = constant(DType::float32, std::numeric_limits<double>::infinity());
  Lane infinite = binary(Arith::or_, binary(Arith::eq, unary(Arith::abs, re), infinity),
                         binary(Arith::eq, unary(Arith::abs, im), infinity));
  return select(infinite, infinity, convert(root, DType::float32));
}

// Like over() in base/complex_math.h.
Lane LaneOps::complex_quotient(Lane x, Lane y) {
  auto times = [&](Lane u, Lane v) { return binary(Arith::mul, u, v); };
  auto over = [&](Lane u, Lane v) { return binary(Arith::div, u, v); };
  auto plus = [&](Lane u, Lane v) { return binary(Arith::add, u, v); };
  auto minus = [&](Lane u, Lane v) { return binary(Arith::sub, u, v); };
  Lane a = part(x, 0), b = part(x, 1), c = part(y, 0), d = part(y, 1);
  Lane size_c = unary(Arith::abs, c), zero = constant(c.dtype, 0.0);
  Lane by_real = binary(Arith::ge, size_c, unary(Arith::abs, d));
  Lane big = select(by_real, c, d), small = select(by_real, d, c);
  Lane ratio = over(small, big), whole = plus(big, times(small, ratio));
  // (a + b r, b - a r) if |c| >= |d|, else (a r + b, b r - a).
  Lane first = select(by_real, a, b), second = select(by_real, b, a);
  Lane re = over(plus(first, times(second, ratio)), whole);
  Lane im = over(select(by_real, minus(b, times(a, ratio)), minus(times(b, ratio), a)), whole);
  Lane none = binary(Arith::and_, binary(Arith::eq, c, zero), binary(Arith::eq, d, zero));
  return complex(select(none, over(a, size_c), re), select(none, over(b, size_c), im));
}

Lane LaneOps::complex_unary(Arith op, Lane x) {
  Lane re = part(x, 0), im = part(x, 1);
  switch (op) {
    case Arith::real: return re;
    case Arith::imag: return im;
    case Arith::conj: return complex(re, unary(Arith::neg, im));
    case Arith::neg: return complex(unary(Arith::neg, re), unary(Arith::neg, im));
    case Arith::abs: return magnitude(x);
    case Arith::is_finite:
      return binary(Arith::and_, unary(Arith::is_finite, re), unary(Arith::is_finite, im));
    case Arith::sign: {  // zero gives zero
      Lane size = magnitude(x);
      Lane none = binary(Arith::eq, size, constant(size.dtype, 0.0));
      return select(none, x, complex(binary(Arith::div, re, size), binary(Arith::div, im, size)));
    }
    default: return call_complex(op, x, nullptr);
  }
}

Lane LaneOps::complex_binary(Arith op, Lane x, Lane y) {
  auto parts = [&](Arith part_op) {
    return complex(binary(part_op, part(x, 0), part(y, 0)),
                   binary(part_op, part(x, 1), part(y, 1)));
  };
  auto product = [&](unsigned i, unsigned j) { return binary(Arith::mul, part(x, i), part(y, j)); };
  auto both = [&](Arith how, Arith of) {
    return binary(how, binary(of, part(x, 0), part(y, 0)), binary(of, part(x, 1), part(y, 1)));
  };
  switch (op) {
    case Arith::add:
    case Arith::sub: return parts(op);
    case Arith::mul: {
      // The formula of base/complex_math.h.
      const Lane re = part(x, 0), im = part(x, 1);
      const Lane square =
          binary(Arith::mul, binary(Arith::sub, re, im), binary(Arith::add, re, im));
      const Lane plain = binary(Arith::sub, product(0, 0), product(1, 1));
      const Lane none = binary(Arith::sub, plain, plain);  // NaN if `plain` is out of range
      const Lane wide = binary(Arith::ne, none, none);
      return complex(select(binary(Arith::and_, both(Arith::and_, Arith::eq), wide), square, plain),
                     binary(Arith::add, product(0, 1), product(1, 0)));
    }
    case Arith::div: return complex_quotient(x, y);
    case Arith::eq: return both(Arith::and_, Arith::eq);
    case Arith::ne: return both(Arith::or_, Arith::ne);
    case Arith::pow: return call_complex(op, x, &y);
    default: break;
  }
  throw InternalError("emitter: no such operation on complex numbers");
}

Lane LaneOps::complex_convert(Lane x, DType to) {
  if (!is_complex(x.dtype))
    return complex(convert(x, real_dtype(to)), constant(real_dtype(to), 0.0));
  if (is_complex(to))
    return complex(convert(part(x, 0), real_dtype(to)), convert(part(x, 1), real_dtype(to)));
  if (to != DType::boolean) throw InternalError("emitter: a complex number as a real one");
  return binary(Arith::or_, convert(part(x, 0), to), convert(part(x, 1), to));
}

}  // namespace tessera::inline v0::codegen

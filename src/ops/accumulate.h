// The accumulation rules of contractions, for evaluators: operands are widened once, sums are
// formed in an accumulator, and each result is rounded once.
//
// float16, bfloat16 and float32 are summed in float32, in row-major order of the contracted
// indices; float64 and complex numbers in their own dtype. Integers are summed modulo 2^64, which
// is exact modulo every narrower width. For booleans the sum of products is an or of ands.
#pragma once

#include "base/complex_math.h"
#include "ir/host_array.h"

#include <vector>

namespace tessera::inline v0::ops {

/// The dtype in which a contraction accumulates, given the dtypes of its operands and its result.
inline DType accumulator_of(DType operand, DType result) {
  if (!is_floating(operand)) return result;
  return operand == DType::float64 || result == DType::float64 ? DType::float64 : DType::float32;
}

/// Complex numbers multiplied by the formula of base/complex_math.h.
template <class R>
struct Complex {
  std::complex<R> value;
  Complex() = default;
  template <class T>
  explicit Complex(std::complex<T> v) : value(v) {}
  Complex operator*(Complex o) const { return Complex(tessera::times(value, o.value)); }
  Complex& operator+=(Complex o) { return value += o.value, *this; }
};
template <class A>
inline constexpr bool adds_complex = false;
template <class R>
inline constexpr bool adds_complex<Complex<R>> = true;

/// An or of ands, written as a sum of products.
struct Truth {
  bool value = false;
  Truth operator*(Truth o) const { return {value && o.value}; }
  Truth& operator+=(Truth o) { return value = value || o.value, *this; }
};

[[noreturn]] inline void mixed() {
  throw InternalError("complex and real elements in one contraction");
}

template <class A>
std::vector<A> widen(const HostArray& x) {
  std::vector<A> out(static_cast<std::size_t>(x.count()));
  dispatch(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* p = x.data<T>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      if constexpr (adds_complex<A> != is_complex_v<T>)
        mixed();
      else if constexpr (std::is_same_v<A, Truth>)
        out[i] = {p[i] != T{}};
      else if constexpr (adds_complex<A>)
        out[i] = A(p[i]);
      else if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
        out[i] = static_cast<A>(static_cast<float>(p[i]));
      else
        out[i] = static_cast<A>(p[i]);
    }
  });
  return out;
}

template <class A>
void narrow(const std::vector<A>& from, HostArray& to) {
  dispatch(to.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* p = to.data<T>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      if constexpr (adds_complex<A> != is_complex_v<T>)
        mixed();
      else if constexpr (std::is_same_v<A, Truth>)
        p[i] = static_cast<T>(from[i].value);
      else if constexpr (adds_complex<A>)
        p[i] = static_cast<T>(from[i].value);
      else if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
        p[i] = T(static_cast<float>(from[i]));
      else
        p[i] = static_cast<T>(from[i]);
    }
  });
}

/// Calls `f(A{})` with the C++ type of the accumulator.
template <class F>
void with_accumulator(DType operand, DType result, F&& f) {
  DType acc = accumulator_of(operand, result);
  if (operand == DType::boolean)
    f(Truth{});
  else if (is_complex(acc))
    acc == DType::complex64 ? f(Complex<float>{}) : f(Complex<double>{});
  else if (acc == DType::float32)
    f(float{});
  else if (acc == DType::float64)
    f(double{});
  else
    f(std::uint64_t{});
}

}  // namespace tessera::inline v0::ops

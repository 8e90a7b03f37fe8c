// Makes evaluators of elementwise ops from a function of elements: `evaluate_floating<2>([](auto x,
// auto y) { ... })`.
//
// The function sees float16 and bfloat16 elements as float, and its result is rounded back, so
// 16-bit arithmetic is float arithmetic rounded once per op. Integers are passed as they are; the
// function's result is converted to the element type, which wraps.
#pragma once

#include "base/complex_math.h"
#include "ir/complex_functions.h"
#include "ops/elementwise/elementwise.h"

#include <type_traits>
#include <utility>

namespace tessera::inline v0::ops {

template <class T>
inline constexpr bool kNarrow = std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>;
template <class T>
inline constexpr bool kFloating = kNarrow<T> || std::is_floating_point_v<T>;

/// Whether arithmetic in T rounds.
template <class T>
inline constexpr bool kRounds = std::is_floating_point_v<T> || is_complex_v<T>;

/// The type in which arithmetic on T is done.
template <class T>
using Wide = std::conditional_t<kNarrow<T>, float, T>;
template <class T>
Wide<T> widen(T v) {
  return static_cast<Wide<T>>(v);
}

template <class To, class R>
To narrow(R v) {
  if constexpr (kNarrow<To>)
    return To(static_cast<float>(v));
  else
    return static_cast<To>(v);
}

namespace detail {
template <class T, class Out, class F, std::size_t... I>
void map_elements(const EvalArgs& a, const F& f, std::index_sequence<I...>) {
  Out* out = a.outputs[0].data<Out>();
  for (std::int64_t i = 0, n = a.outputs[0].count(); i < n; ++i)
    out[i] = narrow<Out>(f(widen(a.inputs[I].template data<T>()[i])...));
}
template <int N, class T, class Out, class F>
void map_elements(const EvalArgs& a, const F& f) {
  map_elements<T, Out>(a, f, std::make_index_sequence<N>());
}
[[noreturn]] inline void unsupported(DType d) {
  throw InternalError("an evaluator met dtype " + std::string(name_of(d)));
}
}  // namespace detail

template <int N, class F>
EvalRule evaluate_floating(F f) {
  return [f](const EvalArgs& a) {
    dispatch(a.inputs[0].dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (kFloating<T>)
        detail::map_elements<N, T, T>(a, f);
      else
        detail::unsupported(a.inputs[0].dtype);
    });
  };
}

/// Every dtype but boolean and complex.
template <int N, class F>
EvalRule evaluate_real_numeric(F f) {
  return [f](const EvalArgs& a) {
    dispatch_real(a.inputs[0].dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (!std::is_same_v<T, bool>)
        detail::map_elements<N, T, T>(a, f);
      else
        detail::unsupported(a.inputs[0].dtype);
    });
  };
}

/// Evaluates the N-ary complex function of `arith`.
template <int N>
void evaluate_complex(const EvalArgs& a, Arith arith) {
  auto run = [&](auto tag) {
    using T = decltype(tag);
    detail::map_elements<N, T, T>(a, [arith](auto... x) { return call_complex(arith, x...); });
  };
  if (a.inputs[0].dtype == DType::complex64)
    run(std::complex<float>{});
  else
    run(std::complex<double>{});
}

/// Every dtype but boolean.
template <int N, class F>
EvalRule evaluate_numeric(F f) {
  return [f](const EvalArgs& a) {
    dispatch(a.inputs[0].dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (!std::is_same_v<T, bool>)
        detail::map_elements<N, T, T>(a, f);
      else
        detail::unsupported(a.inputs[0].dtype);
    });
  };
}

/// Integers and booleans.
template <int N, class F>
EvalRule evaluate_integral(F f) {
  return [f](const EvalArgs& a) {
    dispatch(a.inputs[0].dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_integral_v<T>)
        detail::map_elements<N, T, T>(a, f);
      else
        detail::unsupported(a.inputs[0].dtype);
    });
  };
}

/// A differentiable function of one float, and of a complex number if `arith` has such a function.
/// It is not cheap; f evaluates it for floats, and `derivative` is a function of (x, y).
template <class F>
Op smooth_op(Arith arith, std::string name, std::string stablehlo, std::string doc, double lo,
             double hi, F f, std::function<Value(Value, Value)> derivative) {
  Op op = arith_op(arith, std::move(name), std::move(stablehlo), std::move(doc), 1,
                   complex_function(arith, false) ? Accepts::inexact : Accepts::floating, lo, hi);
  op.cheap = false;
  op.cost = pointwise_cost(10);
  op.jvp = scaled_by(std::move(derivative));
  op.waived["transpose"] = "its derivative is a product";
  op.evaluate = [arith, floats = evaluate_floating<1>(f)](const EvalArgs& a) {
    is_complex(a.inputs[0].dtype) ? evaluate_complex<1>(a, arith) : floats(a);
  };
  return op;
}

/// Real operands, a boolean result.
template <int N, class F>
EvalRule evaluate_ordered_predicate(F f) {
  return [f](const EvalArgs& a) {
    dispatch_real(a.inputs[0].dtype,
                  [&](auto tag) { detail::map_elements<N, decltype(tag), bool>(a, f); });
  };
}

/// Any operands, a boolean result.
template <int N, class F>
EvalRule evaluate_predicate(F f) {
  return [f](const EvalArgs& a) {
    dispatch(a.inputs[0].dtype,
             [&](auto tag) { detail::map_elements<N, decltype(tag), bool>(a, f); });
  };
}

}  // namespace tessera::inline v0::ops

// Shared by reductions over dimensions: the attribute {axes} is sorted, the dtype is kept, and the
// reduced dimensions are removed.
#pragma once

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"

#include <memory>

namespace tessera::inline v0::ops {

/// How a reduction is emitted: elements are folded by `combine` from `identity`. If `wide`, 16-bit
/// floats are folded in float32.
struct ReduceEmit {
  Arith combine;
  std::function<Lane(Emitter&, DType)> identity;
  bool wide;
};

/// An Op with all rules except jvp, transpose and evaluate.
Op reduction_op(std::string name, std::string doc, Accepts accepts, Combiner combiner,
                ReduceEmit emit);

/// Emits the reduction `op`; over no axes the result is `x`.
Value reduce_over(std::string_view op, Value x, Ints axes);

/// The dimensions in [0, rank) that are not in `axes`.
Ints kept_dims(int rank, const Ints& axes);
/// A reduced array broadcast back to its shape before the reduction over `axes`.
Value unreduce(Value reduced, const Shape& shape, const Ints& axes);
/// `x` with the dimensions `axes` merged into one last dimension and the others before it in order.
Value reduced_last(Value x, const Ints& axes);

/// Throws unless `axes` are sorted, distinct dimensions of `x`.
void check_axes(const InferArgs& a, const Type& x, const Ints& axes);

/// The strides in the result, 0 for dimensions that are reduced.
Shape result_strides(const EvalArgs& a);

/// Folds `f(accumulator, element)` in row-major order, in Accumulator<T>, from `init(T{})`; also
/// for complex numbers if `complex`.
template <template <class> class Accumulator, bool complex, class Init, class F>
EvalRule evaluate_reduction(Init init, F f) {
  return [init, f](const EvalArgs& a) {
    const Shape strides = result_strides(a);
    auto each = [](DType d, auto&& fold) {
      if constexpr (complex)
        dispatch(d, fold);
      else
        dispatch_real(d, fold);
    };
    each(a.inputs[0].dtype, [&](auto tag) {
      using T = decltype(tag);
      using Acc = Accumulator<T>;
      auto n = static_cast<std::size_t>(a.outputs[0].count());
      auto acc = std::make_unique<Acc[]>(n);
      for (std::size_t i = 0; i < n; ++i) acc[i] = static_cast<Acc>(init(T{}));
      const T* x = a.inputs[0].template data<T>();
      for_each_index(a.inputs[0].shape, [&](const Shape& index) {
        Acc& slot = acc[static_cast<std::size_t>(flat_index(index, strides))];
        slot = f(slot, static_cast<Acc>(static_cast<Wide<T>>(*x++)));
      });
      for (std::size_t i = 0; i < n; ++i) a.outputs[0].template data<T>()[i] = narrow<T>(acc[i]);
    });
  };
}

}  // namespace tessera::inline v0::ops

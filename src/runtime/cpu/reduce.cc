#include "runtime/cpu/reduce.h"

#include "base/message.h"

#include <algorithm>
#include <complex>
#include <type_traits>

namespace tessera::inline v0::runtime {
namespace {

template <class T>
struct Accumulate {
  using type = T;
};
template <>
struct Accumulate<float16_t> {
  using type = float;
};
template <>
struct Accumulate<bfloat16_t> {
  using type = float;
};
template <>
struct Accumulate<bool> {
  using type = std::uint8_t;
};

template <Reduction op, class A>
A combine(A a, A b) {
  if constexpr (op == Reduction::sum) {
    if constexpr (std::is_integral_v<A>) {
      using U = std::make_unsigned_t<A>;
      return static_cast<A>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return a + b;
    }
  } else if constexpr (is_complex_v<A>) {
    throw InternalError("complex numbers have no order");
  } else if constexpr (op == Reduction::max) {
    return (a > b || a != a) ? a : b;  // b, also if it is NaN
  } else {
    return (a < b || a != a) ? a : b;
  }
}

constexpr std::int64_t kBlock = 1024;

// Reduces elements [begin, begin + n) of all operands. While their number is even, the two halves
// of the operands are reduced separately; an odd number is reduced in order.
template <Reduction op, class A, class S>
void tree(std::span<const std::byte* const> in, std::int64_t begin, std::int64_t n, A* acc) {
  auto at = [&](std::size_t j) { return reinterpret_cast<const S*>(in[j]) + begin; };
  if (in.size() > 2 && in.size() % 2 == 0) {
    A second[kBlock];
    tree<op, A, S>(in.first(in.size() / 2), begin, n, acc);
    tree<op, A, S>(in.last(in.size() / 2), begin, n, second);
    for (std::int64_t i = 0; i < n; ++i) acc[i] = combine<op, A>(acc[i], second[i]);
    return;
  }
  const S* first = at(0);
  for (std::int64_t i = 0; i < n; ++i) acc[i] = static_cast<A>(first[i]);
  for (std::size_t j = 1; j < in.size(); ++j) {
    const S* x = at(j);
    for (std::int64_t i = 0; i < n; ++i) acc[i] = combine<op, A>(acc[i], static_cast<A>(x[i]));
  }
}

// The same tree for a fixed number of operands: one pass without intermediate storage.
template <Reduction op, class A, int count, class S>
A tree_of(const S* const* in, std::int64_t i) {
  if constexpr (count == 1)
    return static_cast<A>(in[0][i]);
  else
    return combine<op, A>(tree_of<op, A, count / 2>(in, i),
                          tree_of<op, A, count / 2>(in + count / 2, i));
}
template <Reduction op, class A, int count, class S, class O>
void reduce_few(std::span<const std::byte* const> in, O* out, std::int64_t n) {
  const S* from[count];
  for (int j = 0; j < count; ++j)
    from[j] = reinterpret_cast<const S*>(in[static_cast<std::size_t>(j)]);
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<O>(tree_of<op, A, count>(from, i));
}

template <Reduction op, class A, class S, class O>
void reduce_typed(std::span<const std::byte* const> in, std::byte* to, std::int64_t count) {
  A acc[kBlock];
  O* out = reinterpret_cast<O*>(to);
  switch (in.size()) {
    case 2: return reduce_few<op, A, 2, S>(in, out, count);
    case 4: return reduce_few<op, A, 4, S>(in, out, count);
    case 8: return reduce_few<op, A, 8, S>(in, out, count);
    default: break;
  }
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, count - begin);
    tree<op, A, S>(in, begin, n, acc);
    for (std::int64_t i = 0; i < n; ++i) out[begin + i] = static_cast<O>(acc[i]);
  }
}

template <Reduction op, class T>
void reduce_in(std::span<const std::byte* const> in, std::byte* out, std::int64_t count,
               ReduceStage stage) {
  using A = typename Accumulate<T>::type;
  using S = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
  if constexpr (!std::is_same_v<A, S>) {
    if (stage == ReduceStage::halves) return reduce_typed<op, A, S, A>(in, out, count);
    if (stage == ReduceStage::rest) return reduce_typed<op, A, A, S>(in, out, count);
  }
  reduce_typed<op, A, S, S>(in, out, count);
}

}  // namespace

DType accumulated_in(DType dtype) {
  return dispatch(dtype, [&](auto tag) {
    return std::is_same_v<typename Accumulate<decltype(tag)>::type, float> ? DType::float32 : dtype;
  });
}

void reduce(Reduction op, DType dtype, std::span<const std::byte* const> in, std::byte* out,
            std::int64_t count, ReduceStage stage) {
  dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    switch (op) {
      case Reduction::sum: return reduce_in<Reduction::sum, T>(in, out, count, stage);
      case Reduction::max: return reduce_in<Reduction::max, T>(in, out, count, stage);
      case Reduction::min: return reduce_in<Reduction::min, T>(in, out, count, stage);
    }
  });
}

}  // namespace tessera::inline v0::runtime

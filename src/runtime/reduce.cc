#include "runtime/reduce.h"

#include <algorithm>
#include <type_traits>

namespace tessera::inline v0::runtime {
namespace {

template <class T>
struct Accumulate {
  using type = T;
};
template <>
struct Accumulate<float16> {
  using type = float;
};
template <>
struct Accumulate<bfloat16> {
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
  } else if constexpr (op == Reduction::max) {
    return (a > b || a != a) ? a : b;  // b where it is NaN
  } else {
    return (a < b || a != a) ? a : b;
  }
}

template <Reduction op, class T>
void reduce_typed(std::span<const std::byte* const> in, std::byte* to, std::int64_t count) {
  using A = typename Accumulate<T>::type;
  using S = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
  constexpr std::int64_t kBlock = 1024;
  A acc[kBlock];
  S* out = reinterpret_cast<S*>(to);
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, count - begin);
    const S* first = reinterpret_cast<const S*>(in[0]) + begin;
    for (std::int64_t i = 0; i < n; ++i) acc[i] = static_cast<A>(first[i]);
    for (std::size_t j = 1; j < in.size(); ++j) {
      const S* x = reinterpret_cast<const S*>(in[j]) + begin;
      for (std::int64_t i = 0; i < n; ++i) acc[i] = combine<op, A>(acc[i], static_cast<A>(x[i]));
    }
    for (std::int64_t i = 0; i < n; ++i) out[begin + i] = static_cast<S>(acc[i]);
  }
}

}  // namespace

void reduce(Reduction op, DType dtype, std::span<const std::byte* const> in, std::byte* out,
            std::int64_t count) {
  dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    switch (op) {
      case Reduction::sum: return reduce_typed<Reduction::sum, T>(in, out, count);
      case Reduction::max: return reduce_typed<Reduction::max, T>(in, out, count);
      case Reduction::min: return reduce_typed<Reduction::min, T>(in, out, count);
    }
  });
}

}  // namespace tessera::inline v0::runtime

// Random numbers are pure functions of a key. The generator is the counter-based Threefry-2x32 of
// Salmon et al. (SC 2011) in the layout of JAX's default generator, so that integer streams equal
// JAX's bit for bit, and floats agree up to rounding.
//
// A key is a uint32 array of shape (2,). Use each key only once, and derive new ones with split and
// fold_in. Each value depends only on the key and its position, so results do not depend on
// sharding or on the number of devices. All functions throw ShapeError for an array that is not a
// key; those of continuous distributions throw DTypeError unless the dtype is floating.
#pragma once

#include <tessera/array.h>
#include <tessera/detail/braces.h>

#include <array>

namespace tessera::inline v0::random {

/// Returns the key of a seed.
TESSERA_API Array key(std::uint64_t seed);
/// Two keys: an array of shape (2, 2) that supports structured bindings of two names.
class TESSERA_API KeyPair : public Array {
 public:
  explicit KeyPair(Array keys) : Array(std::move(keys)) {}
  using Array::get;
  /// One of the two keys.
  template <std::size_t I>
  Array get() const {
    return (*this)[static_cast<std::int64_t>(I)];
  }
};
/// Two independent keys: auto [next, now] = split(key).
TESSERA_API KeyPair split(Operand key);
/// `n` independent keys, shape (n, 2); element i is fold_in(key, i).
TESSERA_API Array split(Operand key, std::int64_t n);
/// N keys as C++ values: auto [a, b, c] = split<3>(key).
template <std::size_t N>
std::array<Array, N> split(Operand k) {
  Array all = random::split(k, static_cast<std::int64_t>(N));
  std::array<Array, N> out;
  for (std::size_t i = 0; i < N; ++i) out[i] = all[i];
  return out;
}
/// Derives a key from `key` and a number (a step, a device), given as an integer or an integer
/// scalar array. Throws DTypeError for any other `data`.
TESSERA_API Array fold_in(Operand key, Operand data);

/// Uniform bits. Throws DTypeError unless the dtype is uint8, uint16, uint32 or uint64.
TESSERA_API Array bits(Operand key, const Shape& shape, DType dtype = DType::uint32);
TESSERA_LATER_SHAPE_IN_BRACES_(bits, "random::bits(key, {2, 3})");
/// Uniform in [minval, maxval).
TESSERA_API Array uniform(Operand key, const Shape& shape = {}, DType dtype = DType::float32,
                          Operand minval = 0.0, Operand maxval = 1.0);
TESSERA_LATER_SHAPE_IN_BRACES_(uniform, "random::uniform(key, {2, 3})");
/// Standard normal: sqrt(2) * erf_inv(u), u uniform in (-1, 1).
TESSERA_API Array normal(Operand key, const Shape& shape = {}, DType dtype = DType::float32);
TESSERA_LATER_SHAPE_IN_BRACES_(normal, "random::normal(key, {2, 3})");
/// Uniform integers in [minval, maxval). Throws DTypeError unless the dtype and the bounds are
/// integers, and ShapeError if the bounds are numbers that the dtype cannot hold or with no integer
/// between them.
TESSERA_API Array randint(Operand key, const Shape& shape, Operand minval, Operand maxval,
                          DType dtype = DType::int32);
/// 0 ... n-1 in random order, as int32, or int64 if n >= 2^31.
TESSERA_API Array permutation(Operand key, std::int64_t n);
/// x with its entries along `axis` in random order.
TESSERA_API Array permutation(Operand key, Operand x, std::int64_t axis = 0);
/// True with probability p. The default shape is that of p.
TESSERA_API Array bernoulli(Operand key, Operand p = 0.5, std::optional<Shape> shape = {});
/// Standard Gumbel: -log(-log(u)).
TESSERA_API Array gumbel(Operand key, const Shape& shape = {}, DType dtype = DType::float32);
TESSERA_LATER_SHAPE_IN_BRACES_(gumbel, "random::gumbel(key, {2, 3})");
/// Indices along `axis` drawn with probability softmax(logits), computed as argmax(logits +
/// gumbel). They are int32, or int64 if the axis has 2^31 elements or more.
TESSERA_API Array categorical(Operand key, Operand logits, std::int64_t axis = -1);
/// Standard normal truncated to (lower, upper); array bounds broadcast to `shape`. Throws
/// ShapeError if the bounds are numbers and lower >= upper.
TESSERA_API Array truncated_normal(Operand key, Operand lower, Operand upper,
                                   const Shape& shape = {}, DType dtype = DType::float32);
/// Draws from 0 ... n-1, with or without replacement, with the probabilities `p` (n), by default
/// equal. The result is int32, or int64 if n >= 2^31. Throws ShapeError if n is below 1, if `p` has
/// another shape, and for more than n draws without replacement.
TESSERA_API Array choice(Operand key, std::int64_t n, const Shape& shape, bool replace = true,
                         const Array& p = {});
/// Draws rows of x (along axis 0), as choice(key, n, ...) draws their positions.
TESSERA_API Array choice(Operand key, Operand x, const Shape& shape, bool replace = true,
                         const Array& p = {});
/// Exponential of rate 1: -log1p(-u).
TESSERA_API Array exponential(Operand key, const Shape& shape = {}, DType dtype = DType::float32);
TESSERA_LATER_SHAPE_IN_BRACES_(exponential, "random::exponential(key, {2, 3})");

}  // namespace tessera::inline v0::random

template <>
struct std::tuple_size<tessera::random::KeyPair> : std::integral_constant<std::size_t, 2> {};
template <std::size_t I>
struct std::tuple_element<I, tessera::random::KeyPair> {
  using type = tessera::Array;
};

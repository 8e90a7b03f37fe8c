// The attributes of ops that rearrange: any dimensions in any order, negative and interior padding,
// strides.
#pragma once

#include "ir/op.h"
#include "ops/dice.h"

#include <algorithm>
#include <optional>

namespace walk {

using namespace tessera;

using Drawn = std::optional<OpExample>;

inline Ints shape_of(const Type& t) { return t.shape.to_vector(); }
inline std::int64_t rank_of(const Type& t) { return t.shape.rank(); }
inline Type typed(DType d, const Ints& shape) {
  Type t;
  t.dtype = d;
  for (std::int64_t n : shape) t.shape.push_back(n);
  return t;
}

inline Drawn draw_broadcast(Dice& dice, const Type& x) {
  std::int64_t rank = rank_of(x) + dice.below(rank_of(x) > 3 ? 1 : 3);
  Ints dims = dice.some(rank_of(x), rank), shape(static_cast<std::size_t>(rank), -1);
  std::int64_t room = kMostElements / std::max<std::int64_t>(1, x.shape.count());
  auto repeated = [&] {
    std::int64_t n = dice.small_extent();
    if (n > room) n = 1;
    room /= std::max<std::int64_t>(1, n);
    return n;
  };
  for (std::size_t i = 0; i < dims.size(); ++i)
    shape[static_cast<std::size_t>(dims[i])] =
        x.shape[i] == 1 && dice.toss() ? repeated() : x.shape[i];
  for (std::int64_t& n : shape)
    if (n < 0) n = repeated();
  return OpExample{{x}, {{"shape", shape}, {"dims", dims}}};
}

inline Drawn draw_reshape(Dice& dice, const Type& x) {
  Ints shape(static_cast<std::size_t>(1 + dice.below(4)), 1);
  std::int64_t n = x.shape.count();
  if (n == 1 && dice.toss()) shape.clear();
  if (n == 0) {
    for (std::int64_t& e : shape) e = dice.small_extent();
    dice.toss() ? shape.front() = 0 : shape.back() = 0;
  }
  for (std::int64_t p = 2; n > 1;) {
    while (n % p) ++p;
    n /= p;
    shape[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(shape.size())))] *= p;
  }
  return OpExample{{x}, {{"shape", shape}}};
}

inline Drawn draw_transpose(Dice& dice, const Type& x) {
  return OpExample{{x}, {{"permutation", dice.permutation(rank_of(x))}}};
}

inline Drawn draw_reverse(Dice& dice, const Type& x) {
  return OpExample{{x}, {{"dims", dice.some(dice.below(rank_of(x) + 1), rank_of(x))}}};
}

inline Drawn draw_slice(Dice& dice, const Type& x) {
  Ints start, limit, strides;
  for (std::int64_t n : x.shape) {
    start.push_back(dice.below(n + 1));
    limit.push_back(n - dice.below(n - start.back() + 1));
    strides.push_back(1 + dice.below(3));
  }
  return OpExample{{x}, {{"start", start}, {"limit", limit}, {"strides", strides}}};
}

inline Drawn draw_pad(Dice& dice, const Type& x) {
  Ints low, high, interior;
  for (std::int64_t n : x.shape) {
    interior.push_back(dice.below(3));
    std::int64_t inside = n + std::max<std::int64_t>(n - 1, 0) * interior.back();
    low.push_back(std::max(-inside, dice.between(-3, 3)));
    high.push_back(std::max(-inside - low.back(), dice.between(-3, 3)));
  }
  return OpExample{{x, Type(x.dtype, {})}, {{"low", low}, {"high", high}, {"interior", interior}}};
}

inline Drawn draw_concatenate(Dice& dice, const Type& x) {
  if (rank_of(x) == 0) return std::nullopt;
  std::int64_t dim = dice.below(rank_of(x)), pieces = 1 + dice.below(4), mine = dice.below(pieces);
  OpExample e;
  for (std::int64_t k = 0; k < pieces; ++k) {
    e.inputs.push_back(x);
    if (k != mine && dice.toss())
      e.inputs.back().shape[static_cast<std::size_t>(dim)] = dice.small_extent();
  }
  e.attrs = {{"dimension", dim}};
  return e;
}

/// Shards any dimensions over any axes, which need not divide them.
inline Drawn draw_constraint(Dice& dice, const Type& x) {
  const std::vector<std::string> axes{"x", "y", "z"};
  DeviceMesh mesh{{axes, {2, dice.of(Ints{2, 3, 4}), dice.of(Ints{2, 1})}}, {}};
  Spec::Dims dims(x.shape.size());
  for (const std::string& axis : axes)
    if (const std::int64_t d = dice.below(rank_of(x) + 1); d < rank_of(x))
      dims[static_cast<std::size_t>(d)].push_back(axis);
  return OpExample{
      {x}, {{"mesh", MeshRef(mesh)}, {"spec", Spec(dims)}, {"open", dice.subset(rank_of(x))}}};
}

inline Drawn draw_iota(Dice& dice, const Type& x) {
  Ints shape = shape_of(x);
  if (shape.empty()) shape.push_back(dice.extent());
  std::int64_t dim = dice.below(static_cast<std::int64_t>(shape.size()));
  return OpExample{{}, {{"dtype", x.dtype}, {"shape", shape}, {"dimension", dim}}};
}

/// Small numbers, which all dtypes hold.
inline Literal drawn_literal(Dice& dice, DType dtype, const Shape& shape) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    Literal one = scalar_literal(dtype, dice.between(is_unsigned_integer(dtype) ? 0 : -3, 3));
    bytes->insert(bytes->end(), one.bytes->begin(), one.bytes->end());
  }
  return Literal{dtype, shape, bytes};
}

inline Drawn draw_constant(Dice& dice, const Type& x) {
  Shape shape = x.shape.count() > 40 ? Shape{dice.extent()} : x.shape;
  return OpExample{{}, {{"value", drawn_literal(dice, x.dtype, shape)}}};
}

}  // namespace walk

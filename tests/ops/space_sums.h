// The attributes of ops that combine elements: axes, windows with any stride, padding and dilation,
// contractions over any dimensions in any order, and convolutions of any layout.
#pragma once

#include "ops/build.h"
#include "ops/contraction/conv_dims.h"
#include "ops/contraction/dot_dims.h"
#include "ops/reduction/window_dims.h"
#include "ops/space_movement.h"

namespace walk {

inline Drawn draw_reduction(Dice& dice, const Type& x) {
  return OpExample{{x}, {{"axes", dice.subset(rank_of(x))}}};
}

inline Drawn draw_extremum_place(Dice& dice, const Type& x) {
  if (rank_of(x) == 0) return std::nullopt;
  return OpExample{{x},
                   {{"axis", dice.below(rank_of(x))},
                    {"dtype", dice.of(std::vector<DType>{i32, i64, u32, i16, u8})}}};
}

inline Drawn draw_cumulative(Dice& dice, const Type& x) {
  if (rank_of(x) == 0) return std::nullopt;
  return OpExample{{x}, {{"axis", dice.below(rank_of(x))}, {"reverse", dice.toss()}}};
}

inline Drawn draw_sort(Dice& dice, const Type& x) {
  if (rank_of(x) == 0) return std::nullopt;
  OpExample e{{x}, {}};
  for (std::int64_t more = dice.below(3); more > 0; --more)
    e.inputs.push_back(
        Type(dice.of(std::vector<DType>{x.dtype, i32, f32, u8, DType::boolean}), x.shape));
  e.attrs = {{"dimension", dice.below(rank_of(x))},
             {"num_keys", 1 + dice.below(static_cast<std::int64_t>(e.inputs.size()))}};
  return e;
}

inline Drawn draw_sort_ends(Dice& dice, const Type& x) {
  Drawn e = draw_sort(dice, x);
  if (!e) return e;
  const std::int64_t n = x.shape[static_cast<std::size_t>(e->attrs.i("dimension"))];
  e->attrs.set("count", dice.below(n + 1));
  e->attrs.set("last", dice.below(2) == 1);
  return e;
}

inline Drawn draw_top_k(Dice& dice, const Type& x) {
  if (rank_of(x) == 0) return std::nullopt;
  return OpExample{{x}, {{"k", dice.below(x.shape[x.shape.rank() - 1] + 1)}}};
}

inline Attrs draw_window(Dice& dice, const Type& x, Ints& windows) {
  ops::WindowDims d;
  for (std::int64_t n : x.shape) {
    d.window.push_back(1 + dice.below(4));
    d.strides.push_back(1 + dice.below(3));
    d.base_dilation.push_back(1 + dice.below(4) / 3);
    d.window_dilation.push_back(1 + dice.below(6) / 4);
    d.pad_low.push_back(dice.between(-1, 2));
    d.pad_high.push_back(dice.between(-1, 2));
    windows.push_back(ops::window_count(
        ops::dilated(n, d.base_dilation.back()) + d.pad_low.back() + d.pad_high.back(),
        ops::dilated(d.window.back(), d.window_dilation.back()), d.strides.back()));
  }
  return ops::window_attrs(d, static_cast<int>(rank_of(x)));
}

inline Drawn draw_reduce_window(Dice& dice, const Type& x) {
  Ints windows;
  return OpExample{{x}, draw_window(dice, x, windows)};
}

inline Drawn draw_select_window(Dice& dice, const Type& x, bool scatter) {
  Ints windows;
  Attrs attrs = draw_window(dice, x, windows);
  attrs.set("select", std::string(dice.toss() ? "le" : "ge"));
  return OpExample{{x, scatter ? typed(x.dtype, windows) : x}, attrs};
}

inline Drawn draw_dot_general(Dice& dice, const Type& x) {
  struct Dim {
    std::int64_t extent, role, of;  // role: 0 free, 1 contracting, 2 batch; of: dim of lhs
  };
  std::vector<Dim> right;
  for (std::int64_t d = 0; d < rank_of(x); ++d)
    if (std::int64_t role = dice.below(3))
      right.push_back({x.shape[static_cast<std::size_t>(d)], role, d});
  for (std::int64_t k = dice.below(3); k > 0; --k) right.push_back({dice.extent(), 0, -1});
  Ints order = dice.permutation(static_cast<std::int64_t>(right.size())), shape;
  ops::DotDims d;
  for (std::size_t k = 0; k < order.size(); ++k)
    shape.push_back(right[static_cast<std::size_t>(order[k])].extent);
  // The pairs are in any order.
  for (std::int64_t k : dice.permutation(static_cast<std::int64_t>(right.size()))) {
    const Dim& dim = right[static_cast<std::size_t>(order[static_cast<std::size_t>(k)])];
    if (dim.role == 1) d.lhs_contracting.push_back(dim.of), d.rhs_contracting.push_back(k);
    if (dim.role == 2) d.lhs_batch.push_back(dim.of), d.rhs_batch.push_back(k);
  }
  std::vector<DType> results{x.dtype};
  if (is_floating(x.dtype)) results.insert(results.end(), {f32, f64, bf16});
  if (is_complex(x.dtype)) results.insert(results.end(), {c64, c128});
  if (is_integer(x.dtype)) results.insert(results.end(), {i32, i64, u8});
  return OpExample{{x, typed(x.dtype, shape)}, ops::dot_attrs(d, dice.of(results))};
}

inline Drawn draw_convolution(Dice& dice, const Type& x) {
  std::int64_t rank = rank_of(x);
  if (rank < 2 || rank > 4) return std::nullopt;
  ops::ConvDims d;
  d.lhs_spec = dice.permutation(rank);
  d.rhs_spec = dice.permutation(rank);
  d.out_spec = dice.permutation(rank);
  auto divisor = [&](std::int64_t n) {
    std::int64_t g = 1 + dice.below(4);
    while (n % g) --g;
    return g;
  };
  std::int64_t batch = x.shape[static_cast<std::size_t>(d.lhs_spec[0])],
               features = x.shape[static_cast<std::size_t>(d.lhs_spec[1])];
  if (std::int64_t kind = dice.below(3))
    kind == 1 ? d.feature_groups = divisor(features) : d.batch_groups = divisor(batch);
  Ints kernel(static_cast<std::size_t>(rank));
  kernel[static_cast<std::size_t>(d.rhs_spec[0])] =
      std::max(d.feature_groups, d.batch_groups) * (1 + dice.below(3));
  kernel[static_cast<std::size_t>(d.rhs_spec[1])] = features / d.feature_groups;
  for (std::size_t s = 2; s < static_cast<std::size_t>(rank); ++s) {
    kernel[static_cast<std::size_t>(d.rhs_spec[s])] = 1 + dice.below(3);
    d.strides.push_back(1 + dice.below(3));
    d.pad_low.push_back(dice.between(-1, 2));
    d.pad_high.push_back(dice.between(-1, 2));
    d.lhs_dilation.push_back(1 + dice.below(4) / 3);
    d.rhs_dilation.push_back(1 + dice.below(4) / 3);
  }
  return OpExample{{x, typed(x.dtype, kernel)}, ops::conv_attrs(d)};
}

}  // namespace walk

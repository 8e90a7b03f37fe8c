// The attributes of ops that read and write at positions given by data: all dimension numbers,
// index dtypes and modes, with indices on both sides of the bounds.
#pragma once

#include "ops/build.h"
#include "ops/space_movement.h"

namespace walk {

inline DType index_dtype(Dice& dice) {
  return dice.of(std::vector<DType>{i32, i64, u8, i8, u32, i16, u64, u16});
}

/// Sizes of slices; dimensions without elements keep their extent.
inline Ints slice_sizes(Dice& dice, const Shape& shape) {
  Ints sizes;
  for (std::int64_t n : shape) sizes.push_back(n - dice.below(n + 1));
  return sizes;
}

inline OpExample with_places(OpExample e) {
  e.int_lo = -3;
  e.int_hi = 9;
  return e;
}

inline Drawn draw_dynamic_slice(Dice& dice, const Type& x) {
  OpExample e{{x}, {{"sizes", slice_sizes(dice, x.shape)}}};
  e.inputs.insert(e.inputs.end(), x.shape.size(), Type(index_dtype(dice), {}));
  return with_places(e);
}

inline Drawn draw_dynamic_update_slice(Dice& dice, const Type& x) {
  OpExample e{{x, typed(x.dtype, slice_sizes(dice, x.shape))}, {}};
  e.inputs.insert(e.inputs.end(), x.shape.size(), Type(index_dtype(dice), {}));
  return with_places(e);
}

/// Dimension numbers for an operand, with the shapes of the indices and of all slices.
struct Places {
  ops::GatherDims dims;
  Ints sizes, indices, slices;
  bool one = true;  // no two slices can overlap
};

inline Places draw_places(Dice& dice, const Type& x) {
  Places p;
  Ints window, free;  // dimensions that slices have; dimensions that indices may address
  for (std::int64_t d = 0; d < rank_of(x); ++d) {
    std::int64_t n = x.shape[static_cast<std::size_t>(d)], role = dice.below(4);
    p.sizes.push_back(std::min<std::int64_t>(n, 1));
    if (role == 3) {
      p.dims.operand_batching_dims.push_back(d);
      continue;
    }
    free.push_back(d);
    if (role == 1) {
      p.dims.collapsed_slice_dims.push_back(d);
    } else {
      window.push_back(d);
      p.sizes.back() = role == 2 ? n - dice.below(n + 1) : n;
    }
  }
  auto count = static_cast<std::int64_t>(free.size());
  for (std::int64_t k : dice.some(dice.below(count + 1), count))
    p.dims.start_index_map.push_back(free[static_cast<std::size_t>(k)]);

  // The dimensions of the indices, including the operand's batching dimensions, in any order.
  auto batching = static_cast<std::int64_t>(p.dims.operand_batching_dims.size());
  std::int64_t places = batching + dice.below(3);
  Ints order = dice.permutation(places);
  p.indices.resize(static_cast<std::size_t>(places));
  for (std::int64_t k = 0; k < places; ++k) {
    std::int64_t n = k < batching ? x.shape[static_cast<std::size_t>(
                                        p.dims.operand_batching_dims[static_cast<std::size_t>(k)])]
                                  : dice.small_extent();
    p.indices[static_cast<std::size_t>(order[static_cast<std::size_t>(k)])] = n;
    if (k >= batching) p.one = p.one && n <= 1;
  }
  auto components = static_cast<std::int64_t>(p.dims.start_index_map.size());
  std::int64_t vector = components == 1 && dice.toss() ? places : dice.below(places + 1);
  bool implicit = components == 1 && vector == places && dice.toss();
  p.dims.index_vector_dim = vector;
  for (std::int64_t k = 0; k < batching; ++k) {
    std::int64_t at = order[static_cast<std::size_t>(k)];
    p.dims.start_indices_batching_dims.push_back(at + (!implicit && at >= vector));
  }
  auto slice_dims = static_cast<std::int64_t>(window.size());
  p.dims.offset_dims = dice.some(slice_dims, places + slice_dims);
  std::sort(p.dims.offset_dims.begin(), p.dims.offset_dims.end());
  std::size_t next_place = 0, next_window = 0;
  for (std::int64_t d = 0; d < places + slice_dims; ++d) {
    bool slice = next_window < window.size() && p.dims.offset_dims[next_window] == d;
    p.slices.push_back(slice ? p.sizes[static_cast<std::size_t>(window[next_window++])]
                             : p.indices[next_place++]);
  }
  if (!implicit) p.indices.insert(p.indices.begin() + vector, components);
  return p;
}

inline Drawn draw_gather(Dice& dice, const Type& x) {
  Places p = draw_places(dice, x);
  OpExample e{{x, typed(index_dtype(dice), p.indices)},
              {{"offset_dims", p.dims.offset_dims},
               {"collapsed_slice_dims", p.dims.collapsed_slice_dims},
               {"operand_batching_dims", p.dims.operand_batching_dims},
               {"start_indices_batching_dims", p.dims.start_indices_batching_dims},
               {"start_index_map", p.dims.start_index_map},
               {"index_vector_dim", p.dims.index_vector_dim},
               {"slice_sizes", p.sizes},
               {"mode", dice.of(std::vector<std::string>{"clip", "fill", "zero"})}}};
  return with_places(e);
}

inline Drawn draw_scatter(Dice& dice, const Type& x) {
  Places p = draw_places(dice, x);
  OpExample e{{x, typed(index_dtype(dice), p.indices), typed(x.dtype, p.slices)},
              {{"update_window_dims", p.dims.offset_dims},
               {"inserted_window_dims", p.dims.collapsed_slice_dims},
               {"operand_batching_dims", p.dims.operand_batching_dims},
               {"scatter_indices_batching_dims", p.dims.start_indices_batching_dims},
               {"scatter_dims_to_operand_dims", p.dims.start_index_map},
               {"index_vector_dim", p.dims.index_vector_dim},
               {"mode", dice.of(std::vector<std::string>{"drop", "clip"})},
               {"unique", p.one && dice.toss()}}};
  return with_places(e);
}

}  // namespace walk

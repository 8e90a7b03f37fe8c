// Draws the operand types and attributes of every op from all that the op may be given.
//
// An elementwise op without attributes, or with only a dtype or flags, is drawn from its row. Any
// other op has an entry here, or a reason why it is drawn elsewhere. A test fails if an op has
// neither, so a new op is in the random programs from the beginning.
#pragma once

#include "ops/space_bodies.h"
#include "ops/space_indexing.h"
#include "ops/space_linalg.h"
#include "ops/space_movement.h"
#include "ops/space_nested.h"
#include "ops/space_sums.h"

#include <functional>
#include <map>
#include <string>

namespace walk {

/// An equation that has an operand of type `x`; nothing if the op takes no such operand.
using Space = std::function<Drawn(Dice&, const Type& x)>;

inline const std::map<std::string, Space>& spaces() {
  static const auto& all = *new std::map<std::string, Space>{
      {"argmax", draw_extremum_place},
      {"argmin", draw_extremum_place},
      {"broadcast_in_dim", draw_broadcast},
      {"checkpoint_name",
       [](Dice&, const Type& x) {
         return Drawn({{x}, {{"name", std::string("kept")}}});
       }},
      {"combine_at", draw_combine_at},
      {"concatenate", draw_concatenate},
      {"cond", draw_cond},
      {"constant", draw_constant},
      {"convolution", draw_convolution},
      {"cumsum", draw_cumulative},
      {"cumprod", draw_cumulative},
      {"cummax", draw_cumulative},
      {"cummin", draw_cumulative},
      {"dot_general", draw_dot_general},
      {"dynamic_slice", draw_dynamic_slice},
      {"dynamic_update_slice", draw_dynamic_update_slice},
      {"fft", draw_fft},
      {"gather", draw_gather},
      {"integer_pow",
       [](Dice& dice, const Type& x) {
         return Drawn({{x}, {{"exponent", dice.between(is_inexact(x.dtype) ? -3 : 0, 5)}}});
       }},
      {"iota", draw_iota},
      {"order_by", draw_order_by},
      {"pad", draw_pad},
      {"polygamma",
       [](Dice& dice, const Type& x) {
         return Drawn({{x}, {{"order", dice.between(1, 4)}}});
       }},
      {"reduce", draw_general_reduce},
      {"reduce_and", draw_reduction},
      {"reduce_max", draw_reduction},
      {"reduce_min", draw_reduction},
      {"reduce_or", draw_reduction},
      {"reduce_precision",
       [](Dice& dice, const Type& x) {
         return Drawn(
             {{x},
              {{"exponent_bits", dice.between(1, 12)}, {"mantissa_bits", dice.between(0, 53)}}});
       }},
      {"reduce_prod", draw_reduction},
      {"reduce_sum", draw_reduction},
      {"reduce_window", draw_general_window},
      {"reduce_window_max", draw_reduce_window},
      {"reduce_window_min", draw_reduce_window},
      {"reduce_window_sum", draw_reduce_window},
      {"remat", draw_remat},
      {"reshape", draw_reshape},
      {"reverse", draw_reverse},
      {"scan", draw_scan},
      {"scatter", draw_scatter},
      {"scatter_add", draw_scatter},
      {"scatter_max", draw_scatter},
      {"scatter_min", draw_scatter},
      {"scatter_mul", draw_scatter},
      {"select_and_gather_add",
       [](Dice& dice, const Type& x) { return draw_select_window(dice, x, false); }},
      {"select_and_scatter_add",
       [](Dice& dice, const Type& x) { return draw_select_window(dice, x, true); }},
      {"sharding_constraint", draw_constraint},
      {"slice", draw_slice},
      {"sort", draw_sort},
      {"sort_ends", draw_sort_ends},
      {"top_k", draw_top_k},
      {"transpose", draw_transpose},
      {"while", draw_while},
  };
  return all;
}

/// Ops that are in no drawn program, with the reason.
inline const std::map<std::string, std::string>& not_drawn() {
  static const std::string devices =
      "needs devices: tests/spmd and tests/runtime draw programs over them";
  static const std::string rule = "holds a user's rule: tests/api draws functions with rules";
  static const std::string condition =
      "what it gives of any numbers may hang on their last bits: tests/linalg draws matrices";
  static const std::string host = "calls a function of the host: tests/runtime has such functions";
  static const auto& all = *new std::map<std::string, std::string>{
      {"all_gather", devices},
      {"all_gather_invariant", devices},
      {"all_to_all", devices},
      {"axis_index", devices},
      {"cholesky", condition},
      {"custom_jvp_call", rule},
      {"custom_vjp_call", rule},
      {"custom_vjp_tangent", rule},
      {"debug_callback", "holds host code: tests/api has it in every place of a program"},
      {"eig", condition},
      {"host_call", host},
      {"eigh", condition},
      {"lu", condition},
      {"pbroadcast", devices},
      {"pmax", devices},
      {"pmin", devices},
      {"ppermute", devices},
      {"ppermute_affine", devices},
      {"ppermute_axes", devices},
      {"pure_host_call", host},
      {"psum", devices},
      {"psum_invariant", devices},
      {"psum_scatter", devices},
      {"pvary", devices},
      {"qr", condition},
      {"schur", condition},
      {"shard_map", devices},
      {"svd", condition},
      {"triangular_solve", condition},
  };
  return all;
}

/// Whether the row alone says how to draw an equation.
inline bool row_is_enough(const Op& op) {
  if (!op.elementwise || op.inputs < 1) return false;
  for (const AttrSpec& a : op.attrs)
    if (a.kind != AttrKind::dtype && a.kind != AttrKind::boolean) return false;
  return true;
}

inline const std::vector<DType>& all_dtypes() {
  static const auto& all = *new std::vector<DType>{
      f32, i32, f64, DType::boolean, u8, i8, i16, i64, u16, u32, u64, bf16, f16, c64, c128};
  return all;
}

/// Draws operands of one shape. Their dtype is that of x or, if the op refuses that, bool for some
/// of them.
inline Drawn draw_by_row(const Op& op, Dice& dice, const Type& x) {
  OpExample e;
  for (const AttrSpec& a : op.attrs)
    a.kind == AttrKind::dtype ? e.attrs.set(a.name, dice.of(all_dtypes()))
                              : e.attrs.set(a.name, dice.toss());
  const auto n = static_cast<std::size_t>(op.inputs);
  for (unsigned mask = 0; mask < 1u << n; ++mask) {
    e.inputs.assign(n, Type(x.dtype, x.shape));
    for (std::size_t i = 0; i < n; ++i)
      if (mask >> i & 1) e.inputs[i].dtype = DType::boolean;
    try {
      op.infer({op, e.inputs, e.attrs, {}});
      return e;
    } catch (const Error&) {
    }
  }
  return std::nullopt;
}

/// An equation of `op` with operands that it takes, including `x` if possible.
inline Drawn draw_equation(const Op& op, Dice& dice, const Type& x) {
  auto it = spaces().find(op.name);
  Drawn e = it != spaces().end() ? it->second(dice, x)
            : row_is_enough(op)  ? draw_by_row(op, dice, x)
                                 : std::nullopt;
  if (!e) return e;
  try {
    for (const Type& t : op.infer({op, e->inputs, e->attrs, {}}))
      if (t.shape.count() > kMostElements) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
  return e;
}

}  // namespace walk

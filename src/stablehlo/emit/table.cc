// The emission rule of each op. No entry is needed for elementwise ops with a StableHLO or CHLO
// spelling, nor for ops that are expanded before compilation.
#include "stablehlo/emit/rules.h"

#include "ops/reduction/window_dims.h"

#include <algorithm>
#include <unordered_map>

namespace tessera::inline v0::stablehlo {

namespace {

using InTypes = std::span<const Type>;

// Unsigned integers have no abs and no sign in StableHLO.
bool is_unsigned(const Op&, const Attrs&, InTypes in) { return is_unsigned_integer(in[0].dtype); }
bool is_complex_number(const Op&, const Attrs&, InTypes in) { return is_complex(in[0].dtype); }
// CHLO orders zeros and NaNs by their signs, and we do not.
bool is_float(const Op&, const Attrs&, InTypes in) { return is_floating(in[0].dtype); }
bool fills(const Op&, const Attrs& a, InTypes) { return a.str("mode") != "clip"; }
bool clips(const Op&, const Attrs& a, InTypes) { return a.str("mode") != "drop"; }
// Whether the initial values are arrays. A body of one operation counts as well, because a reader
// may recognise it as a plain reduction, which it may add in another order.
bool starts_differ(const Op&, const Attrs& a, InTypes in) {
  if (a.program("body")->equations.size() == 1) return true;
  return std::any_of(in.begin() + static_cast<std::ptrdiff_t>(in.size() / 2), in.end(),
                     [](const Type& t) { return t.shape.rank() > 0; });
}
// In StableHLO, the padding of a window is its initial value.
bool is_padded(const Op& op, const Attrs& a, InTypes in) {
  const ops::WindowDims d = ops::window_dims(a);
  const auto above = [](const Ints& v, std::int64_t limit) {
    return std::any_of(v.begin(), v.end(), [&](std::int64_t x) { return x > limit; });
  };
  return above(d.pad_low, 0) || above(d.pad_high, 0) || above(d.base_dilation, 1) ||
         starts_differ(op, a, in);
}
// In StableHLO, select_and_scatter has neither dilation nor negative padding.
bool is_dilated(const Op&, const Attrs& a, InTypes) {
  const ops::WindowDims d = ops::window_dims(a);
  const auto all = [](const Ints& v, auto&& holds) {
    return std::all_of(v.begin(), v.end(), holds);
  };
  const auto one = [](std::int64_t x) { return x == 1; };
  const auto some = [](std::int64_t x) { return x >= 0; };
  return !all(d.base_dilation, one) || !all(d.window_dilation, one) || !all(d.pad_low, some) ||
         !all(d.pad_high, some);
}

using EmitTable = std::unordered_map<std::string_view, Emission>;

const EmitTable& emit_table() {
  static const auto* const rows = new EmitTable{
      {"eq", {write::compare}},
      {"ne", {write::compare}},
      {"lt", {write::compare}},
      {"le", {write::compare}},
      {"gt", {write::compare}},
      {"ge", {write::compare}},
      {"abs", {write::spelled, write::identity, is_unsigned}},
      {"sign", {write::spelled, write::sign_of_unsigned, is_unsigned}},
      {"is_finite", {write::spelled, write::parts_are_finite, is_complex_number}},
      {"select", {write::select}},
      {"clamp", {write::clamp}},
      {"convert", {write::convert}},
      {"reduce_precision", {write::reduce_precision}},
      {"polygamma", {write::polygamma}},
      {"optimization_barrier", {write::barrier}},
      {"stop_gradient", {nullptr, write::identity}},
      {"checkpoint_name", {nullptr, write::identity}},
      {"shard_alike", {nullptr, write::identity}},
      {"exp2", {nullptr, write::exp2}},
      {"sinh", {nullptr, write::spelled}},  // CHLO's definition is less exact
      {"cosh", {nullptr, write::spelled}},
      {"hypot", {nullptr, write::by_elements}},
      {"logaddexp", {nullptr, write::by_elements}},
      {"integer_pow", {nullptr, write::by_elements}},
      {"threefry2x32", {nullptr, write::by_elements}},
      {"philox4x32", {nullptr, write::by_elements}},
      // movement
      {"constant", {write::constant}},
      {"iota", {write::iota}},
      {"broadcast_in_dim", {write::broadcast_in_dim}},
      {"reshape", {write::reshape}},
      {"bitcast_convert", {write::bitcast_convert}},
      {"transpose", {write::transpose}},
      {"reverse", {write::reverse}},
      {"concatenate", {write::concatenate}},
      {"slice", {write::slice}},
      {"pad", {write::pad}},
      {"dynamic_slice", {write::dynamic_slice}},
      {"dynamic_update_slice", {write::dynamic_update_slice}},
      {"gather", {write::gather, write::masked_gather, fills}},
      {"scatter", {write::scatter, write::clipped_scatter, clips}},
      {"scatter_add", {write::scatter, write::clipped_scatter, clips}},
      {"scatter_mul", {write::scatter, write::clipped_scatter, clips}},
      {"scatter_min", {write::scatter, write::clipped_scatter, clips}},
      {"scatter_max", {write::scatter, write::clipped_scatter, clips}},
      {"combine_at", {nullptr, write::combine_at}},
      {"sort", {nullptr, write::sort}},
      {"sort_ends", {nullptr, write::sort_ends}},
      {"order_by", {nullptr, write::order_by}},
      {"top_k", {write::top_k, write::top_k, is_float}},
      // reductions and contractions
      {"reduce_sum", {write::reduce_monoid}},
      {"reduce_prod", {write::reduce_monoid}},
      {"reduce_max", {write::reduce_monoid}},
      {"reduce_min", {write::reduce_monoid}},
      {"reduce_and", {write::reduce_monoid}},
      {"reduce_or", {write::reduce_monoid}},
      {"argmax", {nullptr, write::arg_max}},
      {"argmin", {nullptr, write::arg_min}},
      {"reduce", {write::reduce, write::flagged_reduce, starts_differ}},
      {"reduce_window", {write::reduce_window, write::flagged_window, is_padded}},
      {"reduce_window_sum", {write::window_sum}},
      {"reduce_window_max", {write::window_max}},
      {"reduce_window_min", {write::window_min}},
      {"cumsum", {nullptr, write::running}},
      {"cumprod", {nullptr, write::running}},
      {"cummax", {nullptr, write::running}},
      {"cummin", {nullptr, write::running}},
      {"select_and_scatter_add",
       {write::select_and_scatter_add, write::flagged_select_and_scatter, is_dilated}},
      {"select_and_gather_add", {nullptr, write::select_and_gather_add}},
      {"dot_general", {write::dot_general}},
      {"convolution", {write::convolution}},
      // linear algebra
      {"fft", {write::fft}},
      {"cholesky", {nullptr, write::cholesky}},
      {"triangular_solve", {write::triangular_solve}},
      {"lu", {nullptr, write::library_call}},
      {"qr", {nullptr, write::library_call}},
      {"svd", {nullptr, write::library_call}},
      {"eigh", {nullptr, write::library_call}},
      {"eig", {nullptr, write::library_call}},
      {"schur", {nullptr, write::library_call}},
      // control flow
      {"cond", {write::cond}},
      {"while", {write::while_loop}},
      {"scan", {nullptr, write::scan}},
      {"custom_vjp_tangent",
       {nullptr, nullptr, nullptr,
        "it is the tangent of a function whose derivative "
        "has a backward pass only"}},
      // devices
      {"shard_map", {write::shard_map}},
      {"sharding_constraint", {write::sharding_constraint}},
      {"psum", {.plain = write::all_reduce, .several = true}},
      {"psum_invariant", {.plain = write::all_reduce, .several = true}},
      {"pmax", {.plain = write::all_reduce, .several = true}},
      {"pmin", {.plain = write::all_reduce, .several = true}},
      {"all_gather", {write::all_gather}},
      {"all_gather_invariant", {write::all_gather}},
      {"psum_scatter", {write::reduce_scatter}},
      {"all_to_all", {write::all_to_all}},
      {"ppermute", {write::permute}},
      {"ppermute_affine", {write::permute}},
      {"ppermute_axes", {write::permute}},
      {"pbroadcast", {write::collective_broadcast}},
      {"axis_index", {write::axis_index}},
      {"pvary", {write::identity}},
      {"debug_callback", {.never = "host code stays with its process"}},
      {"host_call", {.never = "host code stays with its process"}},
      {"pure_host_call", {.never = "host code stays with its process"}},
  };
  return *rows;
}

}  // namespace

const Emission* emission_of(const Op& op) {
  const auto it = emit_table().find(op.name);
  if (it != emit_table().end()) return &it->second;
  static const Emission by_spelling{write::spelled};
  return op.elementwise && !op.stablehlo.empty() ? &by_spelling : nullptr;
}

}  // namespace tessera::inline v0::stablehlo

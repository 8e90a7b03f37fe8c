// Typed functions that emit ops, for code that writes programs (rules, transformations). They are
// as strict as StableHLO: the operands of an elementwise op have the same dtype and shape.
// Promotion and broadcasting belong to the NumPy level (src/api).
//
// Each function emits one equation of the op of its name, with the attributes in its comment,
// unless the result is trivial (a reshape to the same shape, a transpose by the identity, a sum
// over no axes).
#pragma once

#include "ir/builder.h"

#include <cstdint>
#include <initializer_list>
#include <span>

namespace tessera::inline v0::ops {

// --- elementwise, one file per family: src/ops/elementwise/. No attributes unless listed. Op names
// are the function names without a trailing underscore.
Value neg(Value x);
Value abs(Value x);  // abs'(0) = 1
Value sign(Value x);
Value floor(Value x);
Value ceil(Value x);
Value round_nearest_even(Value x);
Value round_away(Value x);
Value is_finite(Value x);
Value complex(Value re, Value im);  // of float32 or float64 parts
Value real(Value x);                // of a complex number; likewise imag, conj
Value imag(Value x);
Value conj(Value x);
Value not_(Value x);  // boolean or bitwise
Value sqrt(Value x);
Value rsqrt(Value x);
Value cbrt(Value x);
Value exp(Value x);
Value exp2(Value x);
Value expm1(Value x);
Value log(Value x);
Value log1p(Value x);
Value sin(Value x);
Value cos(Value x);
Value tan(Value x);
Value asin(Value x);
Value acos(Value x);
Value atan(Value x);
Value sinh(Value x);
Value cosh(Value x);
Value tanh(Value x);
Value asinh(Value x);
Value acosh(Value x);
Value atanh(Value x);
Value logistic(Value x);
Value erf(Value x);
Value erfc(Value x);
Value erf_inv(Value x);
Value hypot(Value x, Value y);
Value logaddexp(Value x, Value y);
Value integer_pow(Value x, std::int64_t exponent);  // {exponent: integer}
Value add(Value x, Value y);
Value sub(Value x, Value y);
Value mul(Value x, Value y);
Value div(Value x, Value y);  // integers truncate
Value rem(Value x, Value y);  // sign of the dividend
Value pow(Value x, Value y);
Value atan2(Value y, Value x);
Value max(Value x, Value y);
Value min(Value x, Value y);
Value and_(Value x, Value y);
Value or_(Value x, Value y);
Value xor_(Value x, Value y);
Value shift_left(Value x, Value y);
Value shift_right_logical(Value x, Value y);
Value shift_right_arithmetic(Value x, Value y);
Value population_count(Value x);
Value count_leading_zeros(Value x);
Value mulhi(Value x, Value y);  // the upper half of the product
Value nextafter(Value x, Value y);
Value reduce_precision(Value x, int exponent_bits,
                       int mantissa_bits);  // {exponent_bits, mantissa_bits: integer}
Value eq(Value x, Value y);
Value ne(Value x, Value y);
Value lt(Value x, Value y);
Value le(Value x, Value y);
Value gt(Value x, Value y);
Value ge(Value x, Value y);
Value select(Value condition, Value on_true, Value on_false);  // condition boolean, same shape
Value clamp(Value lo, Value x, Value hi);
Value convert(Value x, DType dtype,
              bool weak = false);  // {dtype: dtype, weak: boolean}; op "convert"
/// {dtype: dtype}. To a narrower dtype, each element becomes several along a new last dimension,
/// lowest bits first; to a wider one, the last dimension is merged and removed.
Value bitcast_convert(Value x, DType dtype);
Value stop_gradient(Value x);
Value optimization_barrier(Value x);
/// x with its sharding constrained to `spec` on the mesh; dimensions in `open` may be sharded
/// further. {mesh: mesh, spec: spec, open: ints}
Value sharding_constraint(Value x, const MeshRef& mesh, const Spec& spec, const Ints& open = {});
/// x, tied to y: propagation gives each the sharding of the other.
Value shard_alike(Value x, Value y);
/// Calls a Callback (ir/callback.h) where `holds`, with the positions along the named axes and the
/// values; returns true.
Value debug_callback(Value holds, const HookPtr& hook, const Strings& names,
                     std::span<const Value> positions, std::span<const Value> values);
/// Marks a value for remat policies; the identity. {name: string}; op "checkpoint_name"
Value checkpoint_name(Value x, std::string name);
/// The Threefry-2x32 block, elementwise over four uint32 arrays of one shape; two results. op
/// "threefry2x32"
Values threefry2x32(Value k0, Value k1, Value x0, Value x1);

// --- constants and shape: src/ops/movement/ and src/ops/indexing/
Value constant(Builder& b, Literal literal);  // {value: literal}
Value scalar(Builder& b, DType dtype, double value, bool weak = false);
Value full(Builder& b, DType dtype, const Shape& shape,
           double value);  // constant scalar, then broadcast
Value full_like(Value x, double value);
Value zeros_like(Value x);
Value zeros(Builder& b, const Type& type);
Value iota(Builder& b, DType dtype, const Shape& shape,
           int dimension);  // {dtype, shape: ints, dimension: integer}
Value broadcast_in_dim(
    Value x, const Shape& shape,
    const Ints& dims);  // {shape: ints, dims: ints} operand dim i is result dim dims[i]
Value reshape(Value x, const Shape& shape);  // {shape: ints}
Value transpose(
    Value x,
    const Ints& permutation);  // {permutation: ints} result dim i is operand dim permutation[i]
Value reverse(Value x, const Ints& dims);  // {dims: ints}
Value slice(Value x, const Ints& start, const Ints& limit,
            const Ints& strides);  // {start, limit, strides}
Value pad(Value x, Value padding, const Ints& low, const Ints& high,
          const Ints& interior);  // {low, high, interior}; negative edges crop
Value concatenate(std::span<const Value> xs, int dimension);  // {dimension: integer}
Value dynamic_slice(Value x, std::span<const Value> starts,
                    const Ints& sizes);  // inputs x, one int32 scalar per dimension; {sizes: ints}
Value dynamic_update_slice(Value x, Value update,
                           std::span<const Value> starts);  // inputs x, update, starts
/// StableHLO's gather. {offset_dims, collapsed_slice_dims, operand_batching_dims,
/// start_indices_batching_dims, start_index_map: ints, index_vector_dim: integer, slice_sizes:
/// ints, mode: string "clip" | "fill" | "zero"}
struct GatherDims {
  Ints offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims,
      start_index_map;
  std::int64_t index_vector_dim = 0;
};
Value gather(Value x, Value indices, const GatherDims& dims, const Ints& slice_sizes,
             const std::string& mode = "clip");
/// StableHLO's scatter with one operand. Ops "scatter" (set), "scatter_add", "scatter_mul",
/// "scatter_min", "scatter_max". {update_window_dims, inserted_window_dims, operand_batching_dims,
/// scatter_indices_batching_dims, scatter_dims_to_operand_dims: ints, index_vector_dim: integer,
/// mode: string "drop" | "clip", unique: boolean}
struct ScatterDims {
  Ints update_window_dims, inserted_window_dims, operand_batching_dims,
      scatter_indices_batching_dims, scatter_dims_to_operand_dims;
  std::int64_t index_vector_dim = 0;
};
Value scatter(std::string_view op, Value x, Value indices, Value updates, const ScatterDims& dims,
              const std::string& mode = "drop", bool unique = false);
/// Sorts all operands together by the first `num_keys`, stable and ascending; NaN comes last and -0
/// equals 0. {dimension, num_keys: integer}
Values sort(std::span<const Value> xs, int dimension, int num_keys = 1);
/// The k greatest elements of each row along the last dimension, descending, and their int32
/// indices; {k: integer}
Values top_k(Value x, std::int64_t k);
Value cumsum(
    Value x, int axis,
    bool reverse = false);  // {axis: integer, reverse: boolean}; likewise cumprod, cummax, cummin
Value cumprod(Value x, int axis, bool reverse = false);
Value cummax(Value x, int axis, bool reverse = false);
Value cummin(Value x, int axis, bool reverse = false);

// --- reductions: {axes: ints}, sorted. The dtype is kept.
Value reduce_sum(Value x, const Ints& axes);
Value reduce_prod(Value x, const Ints& axes);
Value reduce_max(Value x, const Ints& axes);
Value reduce_min(Value x, const Ints& axes);
Value reduce_and(Value x, const Ints& axes);
Value reduce_or(Value x, const Ints& axes);
Value argmax(Value x, int axis,
             DType index_dtype = DType::int32);  // {axis: integer, dtype}; NaN wins, first index
Value argmin(Value x, int axis, DType index_dtype = DType::int32);

// --- contractions and windows
/// {lhs_contracting, rhs_contracting, lhs_batch, rhs_batch: ints, dtype: result dtype}. The
/// dimensions of the result are batch, lhs free, rhs free.
struct DotDims {
  Ints lhs_contracting, rhs_contracting, lhs_batch, rhs_batch;
};
Value dot_general(Value lhs, Value rhs, const DotDims& dims);
Value dot_general(Value lhs, Value rhs, const DotDims& dims, DType result);
/// StableHLO's convolution. {strides, pad_low, pad_high, lhs_dilation, rhs_dilation: ints,
/// lhs_spec, rhs_spec, out_spec: ints, feature_groups, batch_groups: integer}. A spec lists the
/// positions of (batch, feature, spatial...) in the operand, or for the kernel of (output feature,
/// input feature, spatial...). NHWC is (0, 3, 1, 2), HWIO is (3, 2, 0, 1). The kernel is not
/// flipped.
struct ConvDims {
  Ints strides, pad_low, pad_high, lhs_dilation, rhs_dilation, lhs_spec, rhs_spec, out_spec;
  std::int64_t feature_groups = 1, batch_groups = 1;
};
Value convolution(Value lhs, Value rhs, const ConvDims& dims);
/// {window, strides, pad_low, pad_high, base_dilation, window_dilation: ints}, one entry per
/// dimension. Padding is the identity. Ops "reduce_window_sum", "reduce_window_max",
/// "reduce_window_min".
struct WindowDims {
  Ints window, strides, pad_low, pad_high, base_dilation, window_dilation;
};
Value reduce_window(std::string_view op, Value x, const WindowDims& dims);
/// Adds each element of `source`, in a zero array of x's shape, at the first maximum (minimum) of
/// its window in x: the transpose of max pooling. Ops "select_and_scatter_add" with {select: "ge" |
/// "le"} and the window attributes.
Value select_and_scatter_add(Value x, Value source, const WindowDims& dims, bool max = true);
/// The elements of `tangent` at the first maximum (minimum) of each window of x: the JVP of
/// pooling. Same attributes.
Value select_and_gather_add(Value x, Value tangent, const WindowDims& dims, bool max = true);

// --- collectives: {axes: strings, size: integer (product over the axes), groups: int_lists (may be
// empty)} and others as listed. Members of the flattened axes are numbered row-major in the order
// of `axes`; groups and perms use these numbers. Dimensions count from 0. pmap, vmap and untyped
// shard_map use the ops without suffix (psum's transpose is psum). A typed shard_map uses
// `*_invariant`, whose results are typed as equal on all devices, and casts with pvary. See
// src/ops/collective/collective.h.
Value psum(Value x, const Strings& axes, std::int64_t size, const IntLists& groups = {});
Value pmax(Value x, const Strings& axes, std::int64_t size, const IntLists& groups = {});
Value pmin(Value x, const Strings& axes, std::int64_t size, const IntLists& groups = {});
/// {axis: integer, tiled: boolean}
Value all_gather(Value x, const Strings& axes, std::int64_t size, int axis, bool tiled,
                 const IntLists& groups = {});
/// op "psum_scatter"; {axis: integer, tiled: boolean}
Value psum_scatter(Value x, const Strings& axes, std::int64_t size, int axis, bool tiled,
                   const IntLists& groups = {});
/// {split, concat: integer, tiled: boolean}
Value all_to_all(Value x, const Strings& axes, std::int64_t size, int split, int concat, bool tiled,
                 const IntLists& groups = {});
/// {axes, size, perm: int_lists of (source, destination)}; devices that are not a destination get
/// zeros
Value ppermute(Value x, const Strings& axes, std::int64_t size, const IntLists& perm);
/// Device p gets the x of device floor((step * p + offset) / every), or zeros if there is no such
/// device; {axes, size, step, offset, every: integer}
Value ppermute_affine(Value x, const Strings& axes, std::int64_t size, std::int64_t step,
                      std::int64_t offset, std::int64_t every = 1);
/// Sends from devices along `from` to devices along `to`, where `sizes` are the sizes of all
/// `axes`; {axes, size, sizes: ints, from, to: strings}. For typed regions.
Value ppermute_axes(Value x, const Strings& axes, const Ints& sizes, const Strings& from,
                    const Strings& to);
/// {axes, size, source: integer}
Value pbroadcast(Value x, const Strings& axes, std::int64_t size, std::int64_t source);
/// Returns an int32 scalar; {axes, size}. Typed invariant: a typed region casts it with pvary.
Value axis_index(Builder& b, const Strings& axes, std::int64_t size);
/// The sum over `axes` in a typed region, where x varies over all of them; transposes to pvary.
/// {axes}: the mesh gives the sizes.
Value psum_invariant(Value x, const Strings& axes);
/// all_gather whose result is typed as equal on all devices; transposes to a slice. Attributes of
/// all_gather except groups.
Value all_gather_invariant(Value x, const Strings& axes, std::int64_t size, int axis, bool tiled);
/// Types a value as varying over `axes` too; generates no code. Transposes to psum_invariant.
/// {axes}
Value pvary(Value x, const Strings& axes);

// --- control flow: the rules are in src/ops/control/ and src/spmd/region/, on top of
// ir/interpret.h
/// In a typed per-device program these functions cast operands that vary over too few axes
/// (ops/control/agree.h). {branches: programs}; inputs: int32 scalar index (clamped), operands...
Values cond(Value index, const Programs& branches, std::span<const Value> operands);
/// {cond, body: program, cond_consts, body_consts: integer}; inputs: cond consts, body consts,
/// carry. cond(cond consts, carry) returns a boolean scalar; body(body consts, carry) returns the
/// carry.
Values while_(ProgramPtr cond, ProgramPtr body, std::span<const Value> cond_consts,
              std::span<const Value> body_consts, std::span<const Value> init);
/// {body: program, consts, carry, length: integer, reverse: boolean}; inputs: consts, carry, xs
/// (leading dim length). body(consts, carry, x) returns (carry, y); results: carry, ys.
Values scan(ProgramPtr body, std::span<const Value> consts, std::span<const Value> carry,
            std::span<const Value> xs, std::int64_t length, bool reverse, Builder& b);
/// Runs `body` once per device of a mesh, on the shards given by the specs; the rules are in
/// src/spmd/region/shard_map.cc. The types of a typed body have varying sets: an input varies over
/// the axes of its spec. {body: program, mesh: mesh, in_specs, out_specs: specs, typed: boolean}
Values shard_map(Builder& b, ProgramPtr body, std::span<const Value> inputs, const MeshRef& mesh,
                 Specs in_specs, Specs out_specs, bool typed);
/// {body: program, policy: hook (absent: save nothing)}
Values remat(Builder& b, ProgramPtr body, std::span<const Value> inputs, HookPtr policy = nullptr);
/// {body: program, rule: hook, a CustomJvpRule (ir/custom.h)}
Values custom_jvp_call(Builder& b, ProgramPtr body, std::span<const Value> inputs, HookPtr rule);
/// {body: program, rule: hook, a CustomVjpRule (ir/custom.h)}
Values custom_vjp_call(Builder& b, ProgramPtr body, std::span<const Value> inputs, HookPtr rule);

}  // namespace tessera::inline v0::ops

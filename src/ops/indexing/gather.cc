// gather: slices of an array at positions given by data.
#include "ops/factors.h"
#include "ops/indexing/gather_rules.h"
#include "ops/indexing/indexing.h"

#include <algorithm>
#include <limits>

namespace tessera::inline v0::ops {

Value gather(Value x, Value indices, const GatherDims& dims, const Ints& slice_sizes,
             const std::string& mode) {
  // An empty dimension has only empty slices.
  Ints sizes = slice_sizes;
  for (const Ints* single : {&dims.collapsed_slice_dims, &dims.operand_batching_dims})
    for (std::int64_t d : *single)
      sizes[static_cast<std::size_t>(d)] =
          std::min(sizes[static_cast<std::size_t>(d)], x.shape()[d]);
  return x.builder->emit1("gather", {x, indices},
                          {{"offset_dims", dims.offset_dims},
                           {"collapsed_slice_dims", dims.collapsed_slice_dims},
                           {"operand_batching_dims", dims.operand_batching_dims},
                           {"start_indices_batching_dims", dims.start_indices_batching_dims},
                           {"start_index_map", dims.start_index_map},
                           {"index_vector_dim", dims.index_vector_dim},
                           {"slice_sizes", sizes},
                           {"mode", mode}});
}

Literal fill_value(DType dtype) {
  if (dtype == DType::boolean) return scalar_literal(dtype, std::int64_t{1});
  if (is_inexact(dtype)) return scalar_literal(dtype, std::numeric_limits<double>::quiet_NaN());
  if (is_unsigned_integer(dtype)) return scalar_literal(dtype, std::int64_t{-1});
  return scalar_literal(dtype,
                        std::numeric_limits<std::int64_t>::min() >> (64 - 8 * size_of(dtype)));
}

Lane start_in_bounds(Emitter& e, Lane number, std::int64_t last) {
  int bits = 8 * size_of(number.dtype) - (is_signed_integer(number.dtype) ? 1 : 0);
  if (bits < 63 && last >= (std::int64_t{1} << bits)) {
    if (is_unsigned_integer(number.dtype)) return e.binary(Arith::ge, number, number);
    return e.binary(Arith::ge, number, e.constant(number.dtype, std::int64_t{0}));
  }
  Lane below = e.binary(Arith::le, number, e.constant(number.dtype, last));
  if (is_unsigned_integer(number.dtype)) return below;
  return e.binary(Arith::and_,
                  e.binary(Arith::ge, number, e.constant(number.dtype, std::int64_t{0})), below);
}

namespace {

void gather_evaluate(const EvalArgs& a) {
  const HostArray &x = a.inputs[0], &indices = a.inputs[1];
  HostArray& out = a.outputs[0];
  const Ints& sizes = a.attrs.ints("slice_sizes");
  const std::string& mode = a.attrs.str("mode");
  const WindowElements elements(
      window_dims_of(gather_dims(a.attrs), out.shape.rank(), x.shape.rank(), indices.shape.rank()),
      indices, x.shape, to_shape(sizes));
  Shape strides = x.shape.strides();
  auto n = static_cast<std::size_t>(size_of(x.dtype));
  Literal outside = mode == "fill" ? fill_value(x.dtype) : scalar_literal(x.dtype, std::int64_t{0});
  std::byte* to = out.bytes;
  for_each_index(out.shape, [&](const Shape& at) {
    const auto [from, inside] = elements.of(at);
    bool take = inside || mode == "clip";
    std::memcpy(to,
                take ? x.bytes + static_cast<std::size_t>(flat_index(from, strides)) * n
                     : outside.bytes->data(),
                n);
    to += n;
  });
}

Lane gather_emit(Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
  const Shape &x = e.operand_type(0).shape, &indices = e.operand_type(1).shape;
  const Ints& sizes = eqn.attrs.ints("slice_sizes");
  const std::string& mode = eqn.attrs.str("mode");
  WindowDimsOf w = window_dims_of(gather_dims(eqn.attrs), e.result_type().shape.rank(), x.rank(),
                                  indices.rank());
  std::vector<Index> from(x.size(), Index(0));
  Lane inside;
  for (std::size_t k = 0; k < w.index_map.size(); ++k) {
    auto d = static_cast<std::size_t>(w.index_map[k]);
    std::int64_t last = x[d] - sizes[d];
    if (last == 0 && mode == "clip") continue;
    std::vector<Index> position =
        w.index_position<Index>(at, k, indices.rank(), [](std::int64_t c) { return Index(c); });
    Lane number = e.operand(1, position);
    from[d] = last == 0 ? Index(0) : e.index(number, 0, last);
    if (mode == "clip") continue;
    Lane fits = start_in_bounds(e, number, last);
    inside = inside.handle ? e.binary(Arith::and_, inside, fits) : fits;
  }
  for (std::size_t k = 0; k < w.operand_batching.size(); ++k)
    from[static_cast<std::size_t>(w.operand_batching[k])] =
        at[static_cast<std::size_t>(w.batch[static_cast<std::size_t>(w.operand_batching_at[k])])];
  for (std::size_t k = 0; k < w.window.size(); ++k) {
    Index& i = from[static_cast<std::size_t>(w.operand_window[k])];
    i = i + at[static_cast<std::size_t>(w.window[k])];
  }
  Lane value = e.operand(0, from);
  if (!inside.handle) return value;
  DType dtype = e.result_type().dtype;
  Lane outside = mode == "fill" ? e.literal(fill_value(dtype), std::span<const Index>{})
                                : e.constant(dtype, std::int64_t{0});
  return e.select(inside, value, outside);
}

MaybeValues gather_jvp(const JvpArgs& a) {
  if (!a.tangents[0]) return MaybeValues(1);
  // A filled-in value does not depend on the operand, so its tangent is zero.
  const std::string& mode = a.attrs.str("mode");
  return {gather(*a.tangents[0], a.inputs[1], gather_dims(a.attrs), a.attrs.ints("slice_sizes"),
                 mode == "clip" ? "clip" : "zero")};
}

MaybeValues gather_transpose(const TransposeArgs& a) {
  MaybeValues out(2);
  if (!a.cotangents[0]) return out;
  Value zero = zeros(a.b, Type(a.types[0].dtype, a.types[0].shape));
  out[0] =
      scatter("scatter_add", zero, *a.inputs[1], *a.cotangents[0], as_scatter(gather_dims(a.attrs)),
              a.attrs.str("mode") == "clip" ? "clip" : "drop");
  return out;
}

FactorRule gather_sharding(const ShardArgs& a) {
  const Shape &x = a.inputs[0].shape, &indices = a.inputs[1].shape, &out = a.outputs[0].shape;
  const Ints& sizes = a.attrs.ints("slice_sizes");
  WindowDimsOf w = window_dims_of(gather_dims(a.attrs), out.rank(), x.rank(), indices.rank());
  FactorRule rule;
  std::vector<int> in(x.size(), -1), result(out.size(), -1), places;
  auto alone = [&](std::int64_t extent) {
    int f = rule.factor(extent);
    if (extent != 1) {
      rule.mark(FactorRule::Kind::need_repl, f);
      rule.mark(FactorRule::Kind::blocked, f);
    }
    return f;
  };
  for (std::size_t b = 0; b < w.batch.size(); ++b)
    result[static_cast<std::size_t>(w.batch[b])] =
        rule.factor(indices[static_cast<std::size_t>(w.indices_batch[b])]);
  for (std::size_t k = 0; k < w.operand_batching.size(); ++k)
    in[static_cast<std::size_t>(w.operand_batching[k])] = result[static_cast<std::size_t>(
        w.batch[static_cast<std::size_t>(w.operand_batching_at[k])])];
  for (std::size_t k = 0; k < w.window.size(); ++k) {
    const auto d = static_cast<std::size_t>(w.operand_window[k]);
    int& f = result[static_cast<std::size_t>(w.window[k])];
    f = sizes[d] == x[d] ? in[d] = rule.factor(x[d]) : alone(sizes[d]);
  }
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (in[d] >= 0) continue;
    const bool looked_up = contains(w.index_map, static_cast<std::int64_t>(d));
    in[d] = looked_up ? rule.factor(x[d]) : alone(x[d]);
    if (looked_up) rule.mark(FactorRule::Kind::indexed, in[d], Combiner::add);
    if (looked_up && sizes[d] != 1) rule.mark(FactorRule::Kind::blocked, in[d]);
  }
  for (int d = 0, b = 0; d < indices.rank(); ++d)
    if (d == w.vector_dim) {
      places.push_back(rule.factor(indices[static_cast<std::size_t>(d)]));
      rule.mark(FactorRule::Kind::need_repl, places.back());
    } else {
      places.push_back(result[static_cast<std::size_t>(w.batch[static_cast<std::size_t>(b++)])]);
    }
  rule.input(in);
  rule.input(places);
  rule.output(result);
  return rule;
}

}  // namespace

void register_gather(Registry& r) {
  Op op;
  op.name = "gather";
  op.doc =
      "StableHLO's gather: for every index vector a slice of `slice_sizes` of the operand, "
      "beginning where the vector says. Mode "
      "\"clip\" moves slices inside; \"fill\" gives NaN, the least integer, the largest unsigned "
      "integer or true for a slice that "
      "does not lie inside, and \"zero\" gives zeros.";
  op.stablehlo = "gather";
  op.attrs = {
      {"offset_dims", AttrKind::ints, "result dimensions that walk a slice, ascending"},
      {"collapsed_slice_dims", AttrKind::ints,
       "operand dimensions of slice size 1 that the result lacks, ascending"},
      {"operand_batching_dims", AttrKind::ints,
       "operand dimensions that walk together with the indices, ascending"},
      {"start_indices_batching_dims", AttrKind::ints, "the indices' dimension of each"},
      {"start_index_map", AttrKind::ints, "operand dimension of each component of an index vector"},
      {"index_vector_dim", AttrKind::integer,
       "dimension of the indices that holds the vector; their rank when it has one component"},
      {"slice_sizes", AttrKind::ints, "a slice's extent, for every operand dimension"},
      {"mode", AttrKind::string, "\"clip\", \"fill\" or \"zero\""}};
  op.inputs = 2;
  op.infer = gather_infer;
  op.jvp = gather_jvp;
  op.transpose = gather_transpose;
  op.batch = gather_batch;
  op.sharding = gather_sharding;
  op.local = gather_local;
  op.waived["updates"] = "rows looked up in a table are no next table";
  op.cost = movement_cost();
  op.evaluate = gather_evaluate;
  op.emit = gather_emit;
  op.examples = gather_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops

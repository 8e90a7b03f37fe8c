// iota: counts along a dimension.
#include "ops/factors.h"
#include "ops/local.h"
#include "ops/movement/movement.h"

namespace tessera::inline v0::ops {

Value iota(Builder& b, DType dtype, const Shape& shape, int dimension) {
  return b.emit1(
      "iota", std::span<const Value>{},
      {{"dtype", dtype}, {"shape", to_ints(shape)}, {"dimension", std::int64_t{dimension}}});
}

namespace {

// A shard counts on from its start, in an integer dtype that holds all indices of the whole: in the
// result's dtype the sum could be rounded twice.
Values iota_local(const LocalArgs& a) {
  const int d = static_cast<int>(a.attrs.i("dimension"));
  const DType dtype = a.attrs.dtype("dtype");
  const std::int64_t extent = a.whole_outputs[0].shape[d];
  const Strings& axes = a.output_specs[0].axes_of(d);
  if (axes.empty()) return {iota(a.b, dtype, a.outputs[0], d)};
  const DType wide = extent > (std::int64_t{1} << 31) ? DType::int64 : DType::int32;
  Value start = part_start(a.b, wide, axes, a.parts(axes), a.outputs[0][d]);
  Value index = add(iota(a.b, wide, a.outputs[0], d), everywhere(start, a.outputs[0]));
  return {dtype == wide ? index : convert(index, dtype)};
}

}  // namespace

void register_iota(Registry& r) {
  Op op;
  op.name = "iota";
  op.doc =
      "An array of `shape` whose element is its own index along `dimension`, as a number of "
      "`dtype`.";
  op.stablehlo = "iota";
  op.attrs = {{"dtype", AttrKind::dtype, "of the result; not bool"},
              {"shape", AttrKind::ints, "of the result"},
              {"dimension", AttrKind::integer, "the dimension to count along"}};
  op.inputs = 0;
  op.fuse = fuses_as(FuseRole::free);
  op.infer = [](const InferArgs& a) {
    Shape shape = to_shape(a.attrs.ints("shape"));
    DType dtype = a.attrs.dtype("dtype");
    if (dtype == DType::boolean)
      Message("iota")
          .problem("bool cannot count along a dimension")
          .rule("the dtype is an integer or a float")
          .from(a.loc)
          .advice("count in int32 and compare")
          .raise<DTypeError>();
    for (std::int64_t d : shape)
      if (d < 0)
        Message("iota")
            .problem("shape " + tessera::to_string(shape) + " has a negative extent")
            .rule("extents are 0 or more")
            .from(a.loc)
            .advice("check the arithmetic that gave " + std::to_string(d))
            .raise<ShapeError>();
    check_dims(a, "dimension", {a.attrs.i("dimension")}, shape);
    return std::vector<Type>{Type(dtype, shape)};
  };
  op.jvp = [](const JvpArgs&) { return MaybeValues{std::nullopt}; };
  op.recomputed = true;
  op.sharding = [](const ShardArgs& a) { return pointwise_rule(a.outputs[0].shape, 0, 1); };
  op.local = iota_local;
  op.cost = movement_cost();
  op.evaluate = [](const EvalArgs& a) {
    auto d = static_cast<std::size_t>(a.attrs.i("dimension"));
    HostArray& out = a.outputs[0];
    dispatch(out.dtype, [&](auto tag) {
      using T = decltype(tag);
      T* to = out.data<T>();
      for_each_index(out.shape, [&](const Shape& index) {
        if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
          *to++ = T(static_cast<float>(index[d]));
        else if constexpr (is_complex_v<T>)
          *to++ = T(static_cast<typename T::value_type>(index[d]));
        else
          *to++ = static_cast<T>(index[d]);
      });
    });
  };
  op.emit = [](Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
    return e.number(at[static_cast<std::size_t>(eqn.attrs.i("dimension"))],
                    eqn.attrs.dtype("dtype"));
  };
  op.waived = {{"transpose", "it has no operands"}, {"batch", "it has no operands"}};
  op.examples = [] {
    return std::vector<OpExample>{
        {{}, {{"dtype", DType::int32}, {"shape", Ints{5}}, {"dimension", std::int64_t{0}}}},
        {{}, {{"dtype", DType::float32}, {"shape", Ints{2, 3, 4}}, {"dimension", std::int64_t{1}}}},
        {{}, {{"dtype", DType::bfloat16}, {"shape", Ints{4, 6}}, {"dimension", std::int64_t{1}}}},
        {{}, {{"dtype", DType::complex64}, {"shape", Ints{3}}, {"dimension", std::int64_t{0}}}},
        {{}, {{"dtype", DType::uint8}, {"shape", Ints{0, 3}}, {"dimension", std::int64_t{0}}}}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops

// pbroadcast: sends the block of one device to all devices of the axis.
#include "ops/collective/collective.h"

namespace tessera::inline v0::ops {

using namespace collective;

namespace {

Attrs broadcast_attrs(const Strings& axes, std::int64_t size, std::int64_t source) {
  Attrs a = CollectiveAttrs::make(axes, size);
  a.set(BroadcastAttrs::kSource, source);
  return a;
}

BatchResult pbroadcast_batch(const BatchArgs& a) {
  Mapped m = mapped(a, true);
  if (!m.is) return pass_through(a);
  const std::int64_t source = BroadcastAttrs(a.attrs).source;
  std::int64_t row = m.first ? source / m.rest_size : source % a.size;
  std::int64_t rest = m.first ? source % m.rest_size : source / a.size;
  Value x = a.inputs[0];
  if (int d = a.dims[0]; d != kUnbatched) {
    Ints start(static_cast<std::size_t>(x.rank()), 0), limit = x.shape().to_vector();
    start[static_cast<std::size_t>(d)] = row;
    limit[static_cast<std::size_t>(d)] = row + 1;
    x = reshape_dims(slice(x, start, limit, Ints(start.size(), 1)), d, 1, {});
  }
  if (!m.rest.empty()) x = pbroadcast(x, m.rest, m.rest_size, rest);
  return {{x}, {kUnbatched}};
}

}  // namespace

Value pbroadcast(Value x, const Strings& axes, std::int64_t size, std::int64_t source) {
  return x.builder->emit1("pbroadcast", {x}, broadcast_attrs(axes, size, source));
}

void register_pbroadcast(Registry& r) {
  Op op = make(
      "pbroadcast",
      "The x of device `source` of the axes, on all of them. Its transpose adds the "
      "cotangents of all devices at the "
      "source and gives zeros to the others.",
      "collective_broadcast",
      {{BroadcastAttrs::kSource, AttrKind::integer, "number of the device along the axes"}}, false);
  op.exchange = Exchange::broadcast;
  op.infer = [](const InferArgs& a) {
    check_size(a);
    std::int64_t n = CollectiveAttrs(a.attrs).size(), source = BroadcastAttrs(a.attrs).source;
    if (source < 0 || source >= n)
      Message("pbroadcast")
          .problem("axis " + axes_text(a.attrs) + " has no device " + std::to_string(source))
          .rule("the source is in [0, " + std::to_string(n) + ")")
          .from(a.loc)
          .advice("devices count from 0: the last one is " + std::to_string(n - 1))
          .raise<CollectiveError>();
    return std::vector<Type>{a.inputs[0]};
  };
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (!a.cotangents[0]) return {std::nullopt};
    const CollectiveAttrs among(a.attrs);
    const Strings& axes = among.axes;
    Value ct = *a.cotangents[0];
    bool typed = ct.type().varying.contains(
        axes[0]);  // else the axis is one of vmap or of an untyped region
    Value sum = typed ? psum_invariant(pvary(ct, axes), axes) : psum(ct, axes, among.size());
    Value index = axis_index(a.b, axes, among.size());
    if (typed) index = pvary(index, axes);
    Value here =
        eq(index, scalar(a.b, DType::int32, static_cast<double>(BroadcastAttrs(a.attrs).source)));
    return {select(broadcast_in_dim(here, ct.shape(), {}), sum, zeros_like(sum))};
  };
  op.batch = pbroadcast_batch;
  op.uniform = removes_axes(false);
  op.examples = [] {
    return std::vector<OpExample>{{{Type(f32, {3})}, broadcast_attrs({"i"}, 4, 2)}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops

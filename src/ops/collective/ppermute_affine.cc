// ppermute_affine: sends blocks along an axis by an affine rule on integers, which covers shifts,
// mirrors, and strided or repeated versions of them.
#include "ops/collective/collective.h"
#include "ops/local.h"

#include <algorithm>
#include <cstdlib>

namespace tessera::inline v0::ops {

using namespace collective;

namespace {

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

Attrs affine_attrs(const Strings& axes, std::int64_t size, std::int64_t step, std::int64_t offset,
                   std::int64_t every) {
  Attrs a = CollectiveAttrs::make(axes, size);
  a.set("step", step);
  a.set("offset", offset);
  a.set("every", every);
  return a;
}

std::vector<Type> ppermute_affine_infer(const InferArgs& a) {
  check_size(a);
  if (a.attrs.i("step") == 0 || a.attrs.i("every") < 1)
    throw InternalError("ppermute_affine by " + std::to_string(a.attrs.i("step")) + " / " +
                        std::to_string(a.attrs.i("every")));
  return {a.inputs[0]};
}

std::vector<std::int64_t> ppermute_affine_sources(const Attrs& a) {
  const std::int64_t n = CollectiveAttrs(a).size();
  std::vector<std::int64_t> source(static_cast<std::size_t>(n), -1);
  for (std::int64_t p = 0; p < n; ++p) {
    const std::int64_t q = floor_quotient(a.i("step") * p + a.i("offset"), a.i("every"));
    if (q >= 0 && q < n) source[static_cast<std::size_t>(p)] = q;
  }
  return source;
}

// Each device that received the block of device q sends its cotangent back: the devices p with
// every * q <= step * p + offset < every * (q + 1). These are consecutive. Each round returns one
// of them, starting at the smallest p; for some q the last round returns a device that is not one
// of them, which is masked.
MaybeValues ppermute_affine_transpose(const TransposeArgs& a) {
  if (!a.cotangents[0]) return {std::nullopt};
  const CollectiveAttrs among(a.attrs);
  const Strings& axes = among.axes;
  const std::int64_t n = among.size(), step = a.attrs.i("step"), every = a.attrs.i("every"),
                     offset = a.attrs.i("offset"), by = std::abs(step);
  const Value ct = *a.cotangents[0];
  const std::int64_t slope = step > 0 ? every : -every,
                     first = step > 0 ? by - 1 - offset : by + offset - every;
  std::optional<Value> sum;
  for (std::int64_t k = 0; k < (every + by - 1) / by; ++k) {
    Value back = ppermute_affine(ct, axes, n, slope, first + k * by, by);
    if (by != every) {
      // The value step * p + offset for device p = floor((slope * q + first) / by) + k, computed
      // with non-negative numbers.
      auto number = [&](std::int64_t i) {
        return scalar(a.b, DType::int64, static_cast<double>(i));
      };
      const Value q = convert(part_number(a.b, axes, n), DType::int64);
      const std::int64_t up = every * n + std::abs(first) / by + 1;
      Value p = add(mul(q, number(slope)), number(first + up * by));
      p = sub(div(p, number(by)), number(up - k));
      const Value took = add(mul(p, number(step)), number(offset)),
                  end = mul(add(q, number(1)), number(every));
      const Value mine = and_(lt(took, end), ge(took, mul(q, number(every))));
      back = select(everywhere(mine, back.shape()), back, zeros_like(back));
    }
    sum = sum ? add(*sum, back) : back;
  }
  return {sum};
}

}  // namespace

Value ppermute_affine(Value x, const Strings& axes, std::int64_t size, std::int64_t step,
                      std::int64_t offset, std::int64_t every) {
  return x.builder->emit1("ppermute_affine", {x}, affine_attrs(axes, size, step, offset, every));
}

void register_ppermute_affine(Registry& r) {
  Op op = make("ppermute_affine",
               "Device p of `size` gets the x of device floor((step * p + offset) / every), and "
               "zeros where there is none; one device's x may go to several. A shift is a step of "
               "1, a mirror one of -1 with an offset of size - 1.",
               "collective_permute",
               {{"step", AttrKind::integer, "not 0"},
                {"offset", AttrKind::integer, "of device 0"},
                {"every", AttrKind::integer, "1 or more"}},
               false);
  op.exchange = Exchange::permute;
  op.sources = ppermute_affine_sources;
  op.infer = ppermute_affine_infer;
  op.transpose = ppermute_affine_transpose;
  op.batch = [](const BatchArgs& a) -> BatchResult {
    if (mapped(a, false).is)
      throw InternalError("ppermute_affine is between devices, and vmap maps '" + a.axis_name +
                          "'");
    return pass_through(a);
  };
  op.vary = adds_axes();
  op.uniform = adds_axes();
  op.examples = [] {
    Type t(f32, {3});
    t.varying = {"i"};
    return std::vector<OpExample>{{{t}, affine_attrs({"i"}, 4, 1, -1, 1)},
                                  {{t}, affine_attrs({"i"}, 4, -1, 3, 1)},
                                  {{t}, affine_attrs({"i"}, 4, 1, 1, 2)}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops

// Joins, splits and repeats arrays: concatenate, stack, split, tile, repeat.
#include "api/numpy/joining.h"

#include "api/trace/numbers.h"
#include "runtime/backend.h"

#include <tessera/manipulation.h>

#include <algorithm>

namespace tessera::inline v0 {

namespace detail {

Value slice_axis(Value x, int axis, std::int64_t start, std::int64_t limit) {
  Ints s(static_cast<std::size_t>(x.rank()), 0), l = x.shape().to_vector(),
                                                 step(static_cast<std::size_t>(x.rank()), 1);
  s[static_cast<std::size_t>(axis)] = start;
  l[static_cast<std::size_t>(axis)] = limit;
  return ops::slice(x, s, l, step);
}

void need_few_parts(const char* function, std::int64_t parts, const SourceLoc& loc) {
  constexpr std::int64_t kMost = 65536;
  if (parts <= kMost) return;
  Message(function)
      .problem("it would give " + std::to_string(parts) + " arrays")
      .rule("it gives at most " + std::to_string(kMost) + ", each by an operation of its own")
      .from(loc)
      .advice("reshape to (parts, ...) and work on all of them at once, with vmap or scan")
      .raise<ShapeError>();
}

Array stacked_once(const Array& x, std::int64_t n) {
  if (n < 2 || detail::Trace::innermost() || !x.is_concrete() || x.weak_type()) return {};
  // Only host memory can be stacked without a copy, with a row for each device at most. Otherwise a
  // gathered result need not be computed for this.
  runtime::Backend& host = runtime::host_backend();
  if (x.impl()->waits() && (x.impl()->data->layout->backend != &host || n > host.device_count()))
    return {};
  const runtime::ArrayDataPtr& one = detail::data_of(*x.impl());
  const runtime::Use use(*one);
  if (!use) return {};  // the general code reports why it cannot be read
  auto data = runtime::stack_of_one(one, n);
  return data ? detail::make_concrete(std::move(data)) : Array();
}

}  // namespace detail

using detail::composite;
using detail::composite1;
using detail::slice_axis;
using detail::stacked_once;

namespace {

void promote_all(Values& xs) {
  Type common = xs[0].type();
  for (const Value& v : xs) {
    const Promoted p = detail::promote_types(common, v.type());
    common.dtype = p.dtype;
    common.weak = p.weak;
  }
  for (Value& v : xs) v = ops::convert(v, common.dtype, common.weak);
}

void refuse_empty_list(const char* name, const std::vector<Array>& xs, const SourceLoc& loc) {
  if (!xs.empty()) return;
  Message(name)
      .problem("there are no arrays to join")
      .rule("at least one is needed: it gives the dtype and the shape")
      .from(loc)
      .advice("pass one, or make an empty result with zeros")
      .raise<ShapeError>();
}

}  // namespace

Array concatenate(const std::vector<Array>& xs, std::int64_t axis, std::source_location loc) {
  refuse_empty_list("concatenate", xs, loc);
  detail::check_all_fit("concatenate", xs, loc);
  return composite1("concatenate", xs, loc, [&](Builder&, std::span<const Value> in) {
    Values vs(in.begin(), in.end());
    promote_all(vs);
    return ops::concatenate(vs, normalize_axis(axis, vs[0].rank(), "concatenate", loc));
  });
}

Array stack(const std::vector<Array>& xs, std::int64_t axis, std::source_location loc) {
  const InFunction called("stack", loc);
  refuse_empty_list("stack", xs, loc);
  detail::check_all_fit("stack", xs, loc);
  for (const Array& x : xs)
    if (x.shape() != xs[0].shape())
      Message("stack")
          .problem("the arrays have shapes " + to_string(xs[0].shape()) + " and " +
                   to_string(x.shape()))
          .rule("stacked arrays have one shape")
          .from(loc)
          .advice("concatenate joins along an axis that exists")
          .raise<ShapeError>();
  bool one =
      std::all_of(xs.begin(), xs.end(), [&](const Array& x) { return x.impl() == xs[0].impl(); });
  int at = normalize_axis(axis, xs[0].ndim() + 1, "stack", loc);
  // A stack of n references to one array is a broadcast, which the runtime stores once.
  if (one && at == 0)
    if (Array once = stacked_once(xs[0], static_cast<std::int64_t>(xs.size())); !once.is_empty())
      return once;
  if (one && xs.size() > 1)
    return composite1("stack", {xs[0]}, loc, [&](Builder&, std::span<const Value> in) {
      Shape shape = in[0].shape();
      shape.insert(shape.begin() + at, static_cast<std::int64_t>(xs.size()));
      Ints dims;
      for (int i = 0; i < in[0].rank(); ++i) dims.push_back(i < at ? i : i + 1);
      return ops::broadcast_in_dim(in[0], shape, dims);
    });
  return composite1("stack", xs, loc, [&](Builder&, std::span<const Value> in) {
    Values vs(in.begin(), in.end());
    promote_all(vs);
    for (Value& v : vs) v = detail::keep_dims(v, {at});
    return ops::concatenate(vs, at);
  });
}

std::vector<Array> split(Operand x, std::int64_t parts, std::int64_t axis) {
  const InFunction called("split", x.loc);
  const Shape& shape = detail::need(x.array, "split").type.shape;
  int a = normalize_axis(axis, shape.rank(), "split", x.loc);
  std::int64_t n = shape[static_cast<std::size_t>(a)];
  if (parts < 1 || n % parts)
    Message("split")
        .problem("axis " + std::to_string(a) + " of shape " + to_string(shape) +
                 " does not split into " + std::to_string(parts) + " parts")
        .rule(parts < 1 ? "there is at least one part"
                        : std::to_string(n) + " = " + std::to_string(parts) + " x " +
                              std::to_string(n / parts) + " + " + std::to_string(n % parts) +
                              ": the parts would differ")
        .from(x.loc)
        .advice("use split_at with the positions where parts begin")
        .raise<ShapeError>();
  detail::need_few_parts("split", parts, x.loc);
  std::vector<std::int64_t> at;
  for (std::int64_t i = 1; i < parts; ++i) at.push_back(i * (n / parts));
  return split_at(std::move(x), at, a);
}

std::vector<Array> split_at(Operand x, const std::vector<std::int64_t>& positions,
                            std::int64_t axis) {
  const InFunction called("split_at", x.loc);
  detail::need_few_parts("split_at", std::ssize(positions) + 1, x.loc);
  return composite("split", {&x.array, 1}, x.loc, [&](Builder&, std::span<const Value> in) {
    int a = normalize_axis(axis, in[0].rank(), "split", x.loc);
    std::int64_t n = in[0].shape()[static_cast<std::size_t>(a)], start = 0;
    Values out;
    for (std::size_t i = 0; i <= positions.size(); ++i) {
      std::int64_t end =
          i < positions.size()
              ? std::clamp<std::int64_t>(positions[i] < 0 ? positions[i] + n : positions[i], 0, n)
              : n;
      out.push_back(slice_axis(in[0], a, std::min(start, end), end));
      start = end;
    }
    return out;
  });
}

Array tile(Operand x, const std::vector<std::int64_t>& reps) {
  return composite1("tile", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value v = in[0];
    Shape shape = v.shape();
    if (std::any_of(reps.begin(), reps.end(), [](std::int64_t n) { return n < 0; }))
      Message("tile")
          .problem("the repetitions are " + to_string(Shape(reps)))
          .rule("each is 0 or more, one for each axis, the last axes first where there are fewer")
          .from(x.loc)
          .advice("tile(x, {2}) repeats x twice along its last axis")
          .raise<ShapeError>();
    std::vector<std::int64_t> r = reps;
    while (static_cast<int>(r.size()) < shape.rank()) r.insert(r.begin(), 1);
    while (shape.rank() < static_cast<int>(r.size())) shape.insert(shape.begin(), 1);
    Shape wide, merged;
    Ints dims;
    for (std::size_t i = 0; i < r.size(); ++i) {
      wide.push_back(r[i]);
      wide.push_back(shape[i]);
      dims.push_back(static_cast<std::int64_t>(2 * i + 1));
    }
    v = ops::broadcast_in_dim(ops::reshape(v, shape), wide, dims);
    for (std::size_t i = 0; i < r.size(); ++i) merged.push_back(r[i] * shape[i]);
    return ops::reshape(v, merged);
  });
}

Array repeat(Operand x, std::int64_t n, std::optional<std::int64_t> axis) {
  return composite1("repeat", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value v = axis ? in[0] : ops::reshape(in[0], Shape{in[0].shape().count()});
    int a = normalize_axis(axis.value_or(0), v.rank(), "repeat", x.loc);
    if (n < 0)
      Message("repeat")
          .problem("each element is to be repeated " + std::to_string(n) + " times")
          .rule("a number of repetitions is 0 or more")
          .from(x.loc)
          .advice("repeat(x, 2) gives each element twice")
          .raise<ShapeError>();
    Shape wide = v.shape(), merged = wide;
    wide.insert(wide.begin() + a + 1, n);
    Ints dims;
    for (int i = 0; i < v.rank(); ++i) dims.push_back(i <= a ? i : i + 1);
    v = ops::broadcast_in_dim(v, wide, dims);
    merged[static_cast<std::size_t>(a)] *= n;
    return ops::reshape(v, merged);
  });
}

}  // namespace tessera::inline v0

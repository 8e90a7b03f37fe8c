// ppermute_axes: moves blocks from one set of mesh axes to another, in typed regions, where a value
// sharded over some axes becomes one sharded over others.
#include "ops/collective/collective.h"

#include <algorithm>
#include <numeric>

namespace tessera::inline v0::ops {

using namespace collective;

namespace {

// The axes of `b` that are not in `a`.
Strings without(const Strings& b, const Strings& a) {
  Strings rest;
  for (const auto& n : b)
    if (std::find(a.begin(), a.end(), n) == a.end()) rest.push_back(n);
  return rest;
}

Attrs renaming(const Strings& axes, const Ints& sizes, const Strings& from, const Strings& to) {
  Attrs a = CollectiveAttrs::make(
      axes, std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()));
  a.set("sizes", sizes);
  a.set("from", from);
  a.set("to", to);
  return a;
}

std::int64_t size_of_axes(const Attrs& a, const Strings& names) {
  const auto& axes = CollectiveAttrs(a).axes;
  const auto& sizes = a.get<Ints>("sizes");
  std::int64_t n = 1;
  for (const auto& name : names) {
    const auto it = std::find(axes.begin(), axes.end(), name);
    if (it == axes.end()) throw InternalError("ppermute_axes has no axis '" + name + "'");
    const std::int64_t size = sizes[static_cast<std::size_t>(it - axes.begin())];
    if (size < 1 || __builtin_mul_overflow(n, size, &n))
      throw InternalError("ppermute_axes has an axis '" + name + "' of " + std::to_string(size) +
                          " devices");
  }
  return n;
}

std::vector<Type> ppermute_axes_infer(const InferArgs& a) {
  check_size(a);
  const auto &axes = CollectiveAttrs(a.attrs).axes, &from = a.attrs.get<Strings>("from"),
             &to = a.attrs.get<Strings>("to");
  if (a.attrs.get<Ints>("sizes").size() != axes.size() ||
      size_of_axes(a.attrs, axes) != CollectiveAttrs(a.attrs).size() ||
      size_of_axes(a.attrs, from) != size_of_axes(a.attrs, to) ||
      axes.size() != from.size() + without(to, from).size())
    throw InternalError("ppermute_axes " + axes_text(a.attrs) +
                        " takes as many blocks along `to` as along `from`");
  return {a.inputs[0]};
}

// The source's index along (`from`, then the axes only in `to`) equals the destination's index
// along (`to`, then the axes only in `from`). This is a bijection, so no table is needed.
std::vector<std::int64_t> ppermute_axes_sources(const Attrs& a) {
  const auto& axes = CollectiveAttrs(a).axes;
  const auto& sizes = a.get<Ints>("sizes");
  const auto &from = a.get<Strings>("from"), &to = a.get<Strings>("to");
  Strings first = from, second = to;
  for (const auto& n : without(to, from)) first.push_back(n);
  for (const auto& n : without(from, to)) second.push_back(n);
  const std::size_t rank = axes.size();
  // For each of the axes, the difference that one step along it makes to the device number.
  std::vector<std::int64_t> strides(rank, 1);
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  const auto number = [&](const std::string& n) {
    return static_cast<std::size_t>(std::find(axes.begin(), axes.end(), n) - axes.begin());
  };
  std::vector<std::int64_t> source(static_cast<std::size_t>(CollectiveAttrs(a).size()));
  for (std::int64_t device = 0; device < std::ssize(source); ++device) {
    std::int64_t index = 0, at = 0;
    for (const auto& n : second)
      index = index * sizes[number(n)] + device / strides[number(n)] % sizes[number(n)];
    for (std::size_t i = rank; i-- > 0;) {
      at += index % sizes[number(first[i])] * strides[number(first[i])];
      index /= sizes[number(first[i])];
    }
    source[static_cast<std::size_t>(device)] = at;
  }
  return source;
}

// If the value is equal along the axes that only `to` has, the result is equal along those that
// only `from` has. Otherwise the result varies over all the axes.
std::vector<AxisSet> ppermute_axes_vary(const VaryArgs& a) {
  AxisSet s = a.inputs[0];
  const auto &from = a.attrs.get<Strings>("from"), &to = a.attrs.get<Strings>("to");
  const Strings only_to = without(to, from);
  const bool clean = std::none_of(only_to.begin(), only_to.end(),
                                  [&](const std::string& n) { return s.contains(n); });
  if (clean)
    for (const auto& n : from) s.erase(n);
  for (const auto& n : clean ? to : CollectiveAttrs(a.attrs).axes) s.insert(n);
  return {s};
}

}  // namespace

Value ppermute_axes(Value x, const Strings& axes, const Ints& sizes, const Strings& from,
                    const Strings& to) {
  return x.builder->emit1("ppermute_axes", {x}, renaming(axes, sizes, from, to));
}

void register_ppermute_axes(Registry& r) {
  Op op = make("ppermute_axes",
               "Each device gets the x of a device whose number along the axes `from` is its own "
               "number along the axes `to`: a value cut along `from` becomes one that is cut along "
               "`to`. Where x is the same along the axes that only `to` has, the result is the "
               "same along those that only `from` has, and typed so. Its transpose goes from `to` "
               "to `from`.",
               "collective_permute",
               {{"sizes", AttrKind::ints, "of the axes"},
                {"from", AttrKind::strings, "axes along which the blocks lie, first major"},
                {"to", AttrKind::strings, "axes along which they are to lie"}},
               false);
  op.exchange = Exchange::permute;
  op.sources = ppermute_axes_sources;
  op.infer = ppermute_axes_infer;
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (!a.cotangents[0]) return {std::nullopt};
    const Attrs& at = a.attrs;
    return {ppermute_axes(*a.cotangents[0], CollectiveAttrs(at).axes, at.get<Ints>("sizes"),
                          at.get<Strings>("to"), at.get<Strings>("from"))};
  };
  op.batch = [](const BatchArgs& a) -> BatchResult {
    if (mapped(a, false).is)
      throw InternalError("ppermute_axes is between devices, and vmap maps '" + a.axis_name + "'");
    return pass_through(a);
  };
  op.vary = ppermute_axes_vary;
  op.uniform = ppermute_axes_vary;
  op.examples = [] {
    Type t(f32, {3});
    t.varying = {"i"};
    return std::vector<OpExample>{{{t}, renaming({"i", "j"}, {2, 2}, {"i"}, {"j"})},
                                  {{t}, renaming({"i", "j"}, {2, 3}, {"i", "j"}, {"j", "i"})}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops

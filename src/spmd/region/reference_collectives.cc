#include "spmd/region/reference_collectives.h"
#include "ir/collective_attrs.h"

#include <cmath>
#include <cstring>
#include <numeric>

namespace tessera::inline v0::spmd {

namespace {

HostArray zeros(const HostArray& like) {
  HostArray z(like.dtype, like.shape);
  std::memset(z.bytes, 0, static_cast<std::size_t>(z.size_bytes()));
  return z;
}

HostArray reshaped(HostArray x, Shape shape) {
  x.shape = std::move(shape);
  return x;
}

// The elements [begin, begin + extent) of dimension `dim`.
HostArray slab(const HostArray& x, int dim, std::int64_t begin, std::int64_t extent) {
  Shape shape = x.shape;
  shape[dim] = extent;
  HostArray y(x.dtype, shape);
  Shape from = x.shape.strides(), to = shape.strides();
  std::size_t size = static_cast<std::size_t>(size_of(x.dtype));
  for_each_index(shape, [&](const Shape& index) {
    Shape at = index;
    at[dim] += begin;
    std::memcpy(y.bytes + flat_index(index, to) * static_cast<std::int64_t>(size),
                x.bytes + flat_index(at, from) * static_cast<std::int64_t>(size), size);
  });
  return y;
}

HostArray concatenated(const std::vector<HostArray>& parts, int dim) {
  Shape shape = parts[0].shape;
  shape[dim] = 0;
  for (const HostArray& p : parts) shape[dim] += p.shape[dim];
  HostArray y(parts[0].dtype, shape);
  Shape to = shape.strides();
  std::int64_t size = size_of(y.dtype), begin = 0;
  for (const HostArray& p : parts) {
    Shape from = p.shape.strides();
    for_each_index(p.shape, [&](const Shape& index) {
      Shape at = index;
      at[dim] += begin;
      std::memcpy(y.bytes + flat_index(at, to) * size, p.bytes + flat_index(index, from) * size,
                  static_cast<std::size_t>(size));
    });
    begin += p.shape[dim];
  }
  return y;
}

Shape without(Shape s, int dim) {
  s.erase(s.begin() + dim);
  return s;
}
Shape with(Shape s, int dim, std::int64_t extent) {
  s.insert(s.begin() + dim, extent);
  return s;
}
HostArray index_of(const HostArray& x, int dim, std::int64_t i) {
  return reshaped(slab(x, dim, i, 1), without(x.shape, dim));
}
HostArray stacked(std::vector<HostArray> parts, int dim) {
  for (HostArray& p : parts) p = reshaped(p, with(p.shape, dim, 1));
  return concatenated(parts, dim);
}

template <class A>
A fold_two(A a, A b, Combiner how) {
  if (how == Combiner::add) {
    if constexpr (std::is_integral_v<A> && !std::is_same_v<A, bool>)
      return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
      return static_cast<A>(a + b);
  }
  if (how != Combiner::max && how != Combiner::min)
    throw InternalError("devices' values are not combined by '" + std::string(name_of(how)) + "'");
  if constexpr (is_complex_v<A>) {
    throw InternalError("complex numbers have no order");
  } else {
    if constexpr (std::is_floating_point_v<A>)
      if (std::isnan(b)) return b;
    return (how == Combiner::max ? b > a : b < a) ? b
                                                  : a;  // an `a` that is NaN compares false, stays
  }
}

// Reduces in a fixed order: an even number of members as two halves, an odd number sequentially.
// Half-precision types are accumulated in float and rounded once.
HostArray folded(const std::vector<HostArray>& x, Combiner how) {
  HostArray y(x[0].dtype, x[0].shape);
  dispatch(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    constexpr bool half = std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>;
    using A = std::conditional_t<half, float, T>;
    for (std::int64_t i = 0; i < y.count(); ++i) {
      auto part = [&](auto&& self, std::size_t begin, std::size_t n) -> A {
        if (n > 1 && n % 2 == 0)
          return fold_two(self(self, begin, n / 2), self(self, begin + n / 2, n / 2), how);
        A acc = static_cast<A>(x[begin].data<T>()[i]);
        for (std::size_t k = 1; k < n; ++k)
          acc = fold_two(acc, static_cast<A>(x[begin + k].data<T>()[i]), how);
        return acc;
      };
      y.data<T>()[i] = static_cast<T>(part(part, 0, x.size()));
    }
  });
  return y;
}

std::vector<HostArray> gathered(const Attrs& attrs, const std::vector<HostArray>& x) {
  const auto [axis, tiled] = GatherAttrs(attrs);
  return std::vector<HostArray>(x.size(), tiled ? concatenated(x, axis) : stacked(x, axis));
}

std::vector<HostArray> scattered(const Attrs& attrs, const HostArray& whole, std::size_t members) {
  const auto [axis, tiled] = GatherAttrs(attrs);
  const auto m = static_cast<std::int64_t>(members);
  const std::int64_t width = whole.shape[axis] / m;
  std::vector<HostArray> y;
  for (std::int64_t i = 0; i < m; ++i)
    y.push_back(tiled ? slab(whole, axis, i * width, width) : index_of(whole, axis, i));
  return y;
}

std::vector<HostArray> exchanged(const Attrs& attrs, const std::vector<HostArray>& x) {
  const auto [split, concat, tiled] = AllToAllAttrs(attrs);
  const auto m = static_cast<std::int64_t>(x.size());
  const std::int64_t width = x[0].shape[split] / m;
  std::vector<HostArray> y;
  for (std::int64_t i = 0; i < m; ++i) {
    std::vector<HostArray> got;
    for (const HostArray& from : x)
      got.push_back(tiled ? slab(from, split, i * width, width) : index_of(from, split, i));
    y.push_back(tiled ? concatenated(got, concat) : stacked(got, concat));
  }
  return y;
}

std::vector<HostArray> permuted(const std::vector<std::int64_t>& sources,
                                const std::vector<HostArray>& x) {
  std::vector<HostArray> y;
  for (std::int64_t source : sources)
    y.push_back(source < 0 ? zeros(x[0]) : x[static_cast<std::size_t>(source)]);
  return y;
}

// Evaluates `op` within one group.
std::vector<HostArray> in_group(const Op& op, const Attrs& attrs, const std::vector<HostArray>& x) {
  switch (op.exchange) {
    case Exchange::combine: return std::vector<HostArray>(x.size(), folded(x, op.combiner));
    case Exchange::combine_scatter: return scattered(attrs, folded(x, op.combiner), x.size());
    case Exchange::gather: return gathered(attrs, x);
    case Exchange::all_to_all: return exchanged(attrs, x);
    case Exchange::permute: return permuted(op.sources(attrs), x);
    case Exchange::broadcast:
      return std::vector<HostArray>(x.size(),
                                    x[static_cast<std::size_t>(BroadcastAttrs(attrs).source)]);
    case Exchange::none: break;
  }
  throw InternalError("'" + op.name + "' is no collective");
}

IntLists groups_of(const Attrs& attrs, std::size_t members) {
  IntLists groups = CollectiveAttrs(attrs).groups;
  if (groups.empty()) {
    groups.emplace_back(members);
    std::iota(groups[0].begin(), groups[0].end(), 0);
  }
  return groups;
}

// The bytes that member k of `members` receives if each has `bytes`.
std::int64_t received_in_group(const Op& op, const Attrs& attrs, std::int64_t k,
                               std::int64_t members, std::int64_t bytes) {
  const std::int64_t others = members - 1;
  const auto from = [&](std::int64_t source) { return source < 0 || source == k ? 0 : bytes; };
  switch (op.exchange) {
    case Exchange::gather: return others * bytes;
    case Exchange::all_to_all:
    case Exchange::combine_scatter: return others * (bytes / members);
    case Exchange::combine: return (2 * others * bytes + members - 1) / members;
    case Exchange::permute: return from(op.sources(attrs)[static_cast<std::size_t>(k)]);
    case Exchange::broadcast: return from(BroadcastAttrs(attrs).source);
    case Exchange::none: break;
  }
  throw InternalError("'" + op.name + "' is no collective");
}

}  // namespace

std::vector<std::int64_t> received(const Op& op, const Attrs& attrs,
                                   const std::vector<HostArray>& x) {
  std::vector<std::int64_t> bytes(x.size());
  for (const Ints& group : groups_of(attrs, x.size()))
    for (std::size_t k = 0; k < group.size(); ++k)
      bytes[static_cast<std::size_t>(group[k])] = received_in_group(
          op, attrs, static_cast<std::int64_t>(k), std::ssize(group), x[0].size_bytes());
  return bytes;
}

std::vector<HostArray> collective(const Op& op, const Attrs& attrs,
                                  const std::vector<HostArray>& x) {
  std::vector<HostArray> y(x.size());
  for (const Ints& group : groups_of(attrs, x.size())) {
    std::vector<HostArray> in;
    for (std::int64_t i : group) in.push_back(x[static_cast<std::size_t>(i)]);
    std::vector<HostArray> out = in_group(op, attrs, in);
    for (std::size_t k = 0; k < group.size(); ++k) y[static_cast<std::size_t>(group[k])] = out[k];
  }
  return y;
}

}  // namespace tessera::inline v0::spmd

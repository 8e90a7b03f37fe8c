#include "ops/reduction/associative_scan.h"

#include "ops/movement/movement.h"

namespace tessera::inline v0::ops {

namespace {

/// x[start:limit:stride] along one axis.
Value part(Value x, int axis, std::int64_t start, std::int64_t limit, std::int64_t stride) {
  auto d = static_cast<std::size_t>(axis);
  Ints from = filled(x.shape().size(), 0), to = to_ints(x.shape()),
       step = filled(x.shape().size(), 1);
  from[d] = start;
  to[d] = std::max(limit, start);
  step[d] = stride;
  return slice(x, from, to, step);
}
Values parts(const Values& xs, int axis, std::int64_t start, std::int64_t limit,
             std::int64_t stride) {
  Values out;
  for (Value x : xs) out.push_back(part(x, axis, start, limit, stride));
  return out;
}

/// a[0], b[0], a[1], b[1], ...; a has as many elements as b, or one more.
Value interleave(Value a, Value b, int axis) {
  auto d = static_cast<std::size_t>(axis);
  std::int64_t n = b.shape()[d], more = a.shape()[d];
  Shape pair = b.shape(), joined = b.shape();
  pair.insert(pair.begin() + axis + 1, 1);
  joined[d] = 2 * n;
  Values both{reshape(part(a, axis, 0, n, 1), pair), reshape(b, pair)};
  Value out = reshape(concatenate(both, axis + 1), joined);
  if (more == n) return out;
  Values tail{out, part(a, axis, n, more, 1)};
  return concatenate(tail, axis);
}

Values scanned(const CombineValues& combine, const Values& xs, int axis) {
  std::int64_t n = xs[0].shape()[static_cast<std::size_t>(axis)];
  if (n < 2) return xs;
  Values odd =
      scanned(combine, combine(parts(xs, axis, 0, n - 1, 2), parts(xs, axis, 1, n, 2)), axis);
  Values even = parts(xs, axis, 0, 1, 1);
  if (n > 2) {
    std::int64_t half = (n - 1) / 2;
    Values later = combine(parts(odd, axis, 0, half, 1), parts(xs, axis, 2, n, 2));
    for (std::size_t i = 0; i < xs.size(); ++i) {
      Values pieces{even[i], later[i]};
      even[i] = concatenate(pieces, axis);
    }
  }
  Values out;
  for (std::size_t i = 0; i < xs.size(); ++i) out.push_back(interleave(even[i], odd[i], axis));
  return out;
}

}  // namespace

Values associative_scan(const CombineValues& combine, Values elements, int axis, bool reverse) {
  auto turn = [&](Values& xs) {
    if (reverse)
      for (Value& x : xs) x = ops::reverse(x, {axis});
  };
  turn(elements);
  Values out = scanned(combine, elements, axis);
  turn(out);
  return out;
}

}  // namespace tessera::inline v0::ops

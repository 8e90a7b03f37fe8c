#include "ops/fetch.h"

#include "ops/padding.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

namespace tessera::inline v0::ops {

namespace {

// With more sources than this, a device needs most of the array anyway.
constexpr std::int64_t kMostRounds = 8;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

Ints only(int rank, int dim, std::int64_t n) {
  Ints v(static_cast<std::size_t>(rank), 0);
  v[static_cast<std::size_t>(dim)] = n;
  return v;
}
std::int64_t extent_of(Value x, int dim) { return x.shape()[static_cast<std::size_t>(dim)]; }

Value padded(Value x, int dim, std::int64_t low, std::int64_t high,
             const std::optional<Value>& fill) {
  const int r = x.rank();
  return pad(x, fill ? *fill : scalar(*x.builder, x.dtype(), 0), only(r, dim, low),
             only(r, dim, high), only(r, dim, 0));
}
Value sliced(Value x, int dim, std::int64_t start, std::int64_t limit) {
  Ints limits = x.shape().to_vector();
  limits[static_cast<std::size_t>(dim)] = limit;
  return slice(x, only(x.rank(), dim, start), limits, Ints(limits.size(), 1));
}
Value sliced_from(Value x, int dim, Value start, std::int64_t count) {
  Values starts(static_cast<std::size_t>(x.rank()), scalar(*x.builder, start.dtype(), 0));
  starts[static_cast<std::size_t>(dim)] = start;
  Ints sizes = x.shape().to_vector();
  sizes[static_cast<std::size_t>(dim)] = count;
  return dynamic_slice(x, starts, sizes);
}

// step * p + first + and_more, for device p.
Value begin_of(Builder& b, const Stretch& s, const Strings& axes, std::int64_t parts,
               std::int64_t and_more) {
  const std::int64_t most = 4 * (s.extent + s.count + std::abs(s.first) + std::abs(and_more)) +
                            2 * parts * std::abs(s.step);
  const DType dtype = most < std::numeric_limits<std::int32_t>::max() ? DType::int32 : DType::int64;
  auto number = [&](std::int64_t n) { return constant(b, scalar_literal(dtype, n)); };
  Value p = part_number(b, axes, parts);
  if (dtype != p.dtype()) p = convert(p, dtype);
  return add(mul(p, number(s.step)), number(s.first + and_more));
}

Value from_parts(Value x, int dim, const Stretch& s, const FetchPlan& plan, const Strings& axes,
                 std::int64_t parts) {
  Builder& b = *x.builder;
  const std::int64_t part = s.part, end = plan.latest + s.count;
  const std::int64_t common = std::gcd(s.step, part);
  Values pieces;
  for (std::size_t k = 0; k < plan.rounds.size(); ++k) {
    const FetchPlan::Round& round = plan.rounds[k];
    const std::int64_t before = static_cast<std::int64_t>(k) * part;
    const std::int64_t from = std::max<std::int64_t>(0, plan.begin - before),
                       to = std::min(part, end - before);
    Value piece = x;
    if (round.limit <= round.start) {
      Shape shape = x.shape();
      shape[static_cast<std::size_t>(dim)] = to - from;
      pieces.push_back(full(b, x.dtype(), shape, 0));
      continue;
    }
    piece = sliced(x, dim, round.start, round.limit);
    if (round.sent)
      piece = plan.shift ? ppermute_affine(piece, axes, parts, 1,
                                           *plan.shift + static_cast<std::int64_t>(k))
                         : ppermute_affine(piece, axes, parts, s.step / common,
                                           floor_div(s.first + before, common), part / common);
    pieces.push_back(padded(piece, dim, round.start - from, to - round.limit, std::nullopt));
  }
  Value all = concatenate(pieces, dim);
  if (plan.begin == plan.latest) return all;
  // The offset in the device's first source at which its interval begins.
  Value begin;
  if (plan.shift) {
    Stretch from_own = s;
    from_own.step = s.step - part;
    begin = begin_of(b, from_own, axes, parts, -*plan.shift * part);
  } else {  // of a non-negative number
    const std::int64_t up = (parts * std::abs(s.step) + std::abs(s.first)) / part + 1;
    begin = begin_of(b, s, axes, parts, up * part);
    begin = rem(begin, full_like(begin, static_cast<double>(part)));
  }
  return sliced_from(all, dim, sub(begin, full_like(begin, static_cast<double>(plan.begin))),
                     s.count);
}

}  // namespace

std::optional<Stretch> stretch_of(const FactorRule::Window& w, std::int64_t parts) {
  const std::int64_t c = part_extent(w.results, parts), part = part_extent(w.extent, parts);
  if (w.mirrored) return Stretch{w.extent, part, -c, w.extent - c, c};
  if (c == 0) return std::nullopt;
  Stretch s;
  std::int64_t dilation = w.dilation;
  if (c * w.stride % dilation != 0) {
    if (!w.spreads || w.extent == 0 || dilation > parts) return std::nullopt;
    s.spread = std::exchange(dilation, 1);
  }
  s.extent = w.extent * s.spread;
  s.part = part * s.spread;
  s.step = c * w.stride / dilation;
  s.first = ceil_div(-w.low, dilation);
  s.low = s.first * dilation + w.low;
  const std::int64_t reach = (c - 1) * w.stride + w.span;
  s.count = std::max<std::int64_t>(1, ceil_div(reach - s.low, dilation));
  s.high = reach - s.low - ((s.count - 1) * dilation + 1);
  return s;
}

namespace {

std::int64_t first_source(const Stretch& s, const FetchPlan& plan, std::int64_t p) {
  return plan.shift ? p + *plan.shift : floor_div(s.step * p + s.first, s.part);
}

std::optional<FetchPlan> plan_with(const Stretch& s, std::int64_t parts,
                                   std::optional<std::int64_t> shift) {
  const std::int64_t part = s.part;
  FetchPlan plan;
  plan.shift = shift;
  plan.begin = part;
  for (std::int64_t p = 0; p < parts; ++p) {
    const std::int64_t at = s.step * p + s.first - first_source(s, plan, p) * part;
    plan.begin = std::min(plan.begin, at);
    plan.latest = std::max(plan.latest, at);
  }
  const std::int64_t rounds = (plan.latest + s.count - 1) / part + 1;
  if (rounds > kMostRounds) return std::nullopt;
  for (std::int64_t k = 0; k < rounds; ++k) {
    FetchPlan::Round round;
    round.start = part;
    bool own = true, outside = false;
    for (std::int64_t p = 0; p < parts; ++p) {
      const std::int64_t source = first_source(s, plan, p) + k,
                         at = s.step * p + s.first - source * part;
      const std::int64_t from = std::max<std::int64_t>(0, at), to = std::min(part, at + s.count),
                         held = source < 0 ? 0 : std::min(part, s.extent - source * part);
      if (to <= from) continue;
      if (to > held) outside = true;
      if (held <= from) continue;
      own = own && source == p;
      round.start = std::min(round.start, from);
      round.limit = std::max(round.limit, std::min(to, held));
    }
    round.sent = !own && round.limit > round.start;
    // The last shards end in padding with arbitrary contents.
    plan.masked = plan.masked ||
                  (outside && round.limit > round.start && (own || s.part * parts != s.extent));
    if (round.sent) {
      plan.received += round.limit - round.start;
      ++plan.collectives;
    }
    plan.rounds.push_back(round);
  }
  if (plan.received > part / s.spread * (parts - 1)) return std::nullopt;
  return plan;
}

}  // namespace

std::optional<FetchPlan> plan_fetch(const Stretch& s, std::int64_t parts) {
  if (s.extent < 2) return std::nullopt;
  std::int64_t before = s.first;  // smallest offset of an interval from the own shard
  for (std::int64_t p = 1; p < parts; ++p)
    before = std::min(before, (s.step - s.part) * p + s.first);
  std::optional<FetchPlan> plan = plan_with(s, parts, std::nullopt),
                           near = plan_with(s, parts, floor_div(before, s.part));
  return !plan || (near && near->received < plan->received) ? near : plan;
}

Value fetch(Value x, int dim, const Stretch& s, const Strings& axes, std::int64_t parts,
            const Around& around) {
  Builder& b = *x.builder;
  const std::optional<Value>& fill = around.fill;
  const std::int64_t last = s.step * (parts - 1), least = s.first + std::min<std::int64_t>(0, last),
                     most = s.first + std::max<std::int64_t>(0, last) + s.count;
  if (extent_of(x, dim) == s.extent) {
    const std::int64_t low = std::max<std::int64_t>(0, -least);
    x = padded(x, dim, low, std::max<std::int64_t>(0, most - s.extent), fill);
    return sliced_from(x, dim, begin_of(b, s, axes, parts, low), s.count);
  }
  const std::optional<FetchPlan> plan = plan_fetch(s, parts);
  if (!plan) throw InternalError("no plan fetches a stretch of " + to_string(x.type()));
  x = from_parts(x, dim, s, *plan, axes, parts);
  if (!around.is_read || (!plan->masked && (!fill || (least >= 0 && most <= s.extent)))) return x;
  Value begin = begin_of(b, s, axes, parts, 0);
  Value at = add(iota(b, begin.dtype(), {s.count}, 0), everywhere(begin, {s.count}));
  const Value inside =
      and_(ge(at, zeros_like(at)), lt(at, full_like(at, static_cast<double>(s.extent))));
  return select(broadcast_in_dim(inside, x.shape(), {dim}), x,
                everywhere(fill ? *fill : scalar(b, x.dtype(), 0), x.shape()));
}

Stretch fetch_window(Value& x, int dim, const FactorRule::Window& w, const Strings& axes,
                     std::int64_t parts, const Around& around) {
  const std::optional<Stretch> s = stretch_of(w, parts);
  if (!s) throw InternalError("work is divided where windows do not begin alike");
  if (s->spread > 1) {
    const Value between = around.fill ? *around.fill : scalar(*x.builder, x.dtype(), 0);
    const Ints none = only(x.rank(), dim, 0), holes = only(x.rank(), dim, s->spread - 1);
    x = pad(x, between, none, holes, holes);
  }
  x = fetch(x, dim, *s, axes, parts, around);
  return *s;
}

}  // namespace tessera::inline v0::ops

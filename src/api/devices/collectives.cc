#include <tessera/collectives.h>

#include "api/devices/members.h"
#include "api/trace/composite.h"

#include <algorithm>
#include <complex>

namespace tessera::inline v0 {

using detail::composite1;
using detail::Members;
using detail::members;

namespace {

/// The size of this device's group; throws CollectiveError if the sizes differ.
std::int64_t group_size(const char* function, const Members& m, const AxisGroups& groups,
                        const SourceLoc& loc) {
  if (groups.empty()) return m.size;
  for (const auto& g : groups)
    if (g.size() != groups[0].size())
      Message(function)
          .problem("the groups have " + std::to_string(groups[0].size()) + " and " +
                   std::to_string(g.size()) + " members")
          .rule("the number of members divides the sum, so all groups have the same")
          .from(loc)
          .raise<CollectiveError>();
  return static_cast<std::int64_t>(groups[0].size());
}

/// Groups are allowed only for device axes.
void check_groups(const char* function, const Members& m, const AxisGroups& groups,
                  const SourceLoc& loc) {
  if (groups.empty()) return;
  if (!m.of_vmap.empty())
    Message(function)
        .problem("axis_index_groups are given, and axis '" + m.of_vmap + "' is mapped by vmap")
        .rule("groups are for axes of devices")
        .from(loc)
        .advice(
            "reshape the mapped dimension to (groups, members), map each by its own vmap and use "
            "the inner name")
        .raise<CollectiveError>();
}

/// Errors of the op inside are rethrown under the name of the function that the user called.
template <class Body>
Array collective(const char* function, const Operand& x, Body&& body) {
  try {
    return composite1(function, {x.array}, x.loc,
                      [&](Builder&, std::span<const Value> in) { return body(in[0]); });
  } catch (const CollectiveError& e) {
    ErrorParts parts = e.parts();
    parts.function = function;
    throw CollectiveError(std::move(parts));
  }
}

Value vary(Value x, const Members& m) {
  return m.typed.empty() ? x : x.builder->vary_over(x, m.typed);
}

Value emit_psum(Value x, const Members& m, const IntLists& groups) {
  if (x.dtype() == DType::boolean) x = ops::convert(x, DType::int32);
  // The sums of the groups differ, so the result varies over the same axes as the operand.
  if (!groups.empty()) return ops::psum(vary(x, m), m.names, m.size, groups);
  x = ops::psum(x, m.untyped_names, m.untyped_size, groups);
  return ops::psum_invariant(vary(x, m), m.typed_names);
}

/// Bare C++ numbers are handled directly, so that they can still be read while tracing.
bool is_number(const Array& x) { return !x.is_empty() && x.impl()->is_number; }
bool is_boolean(const Array& x) { return x.impl()->type.dtype == DType::boolean; }
Array number_times(const Array& x, std::int64_t n) {
  if (is_floating(x.dtype())) return Array(x.item<double>() * static_cast<double>(n));
  if (is_complex(x.dtype())) return Array(x.item<std::complex<double>>() * static_cast<double>(n));
  std::int64_t product = 0;
  if (__builtin_mul_overflow(x.item<std::int64_t>(), n, &product))
    return Array(x.item<double>() * static_cast<double>(n));
  return Array(product);
}

}  // namespace

Array psum(Operand x, const AxisNames& axes, const AxisGroups& groups) {
  const Members m = members("psum", axes, x.loc);
  check_groups("psum", m, groups, x.loc);
  if (is_number(x.array) && groups.empty()) return number_times(x.array, m.size);
  return collective("psum", x, [&](Value v) { return emit_psum(v, m, groups); });
}

Array pmean(Operand x, const AxisNames& axes, const AxisGroups& groups) {
  const Members m = members("pmean", axes, x.loc);
  check_groups("pmean", m, groups, x.loc);
  const std::int64_t n = group_size("pmean", m, groups, x.loc);
  if (is_number(x.array) && is_inexact(x.array.dtype())) return x.array;
  return collective("pmean", x, [&](Value v) {
    Value sum = emit_psum(detail::to_inexact(v), m, groups);
    return ops::div(sum, ops::full_like(sum, static_cast<double>(n)));
  });
}

namespace {
Array extremum_over(const char* name,
                    Value (*op)(Value, const Strings&, std::int64_t, const IntLists&),
                    const Operand& x, const AxisNames& axes, const AxisGroups& groups) {
  const Members m = members(name, axes, x.loc);
  check_groups(name, m, groups, x.loc);
  if (is_number(x.array) && !is_boolean(x.array)) return x.array;
  return collective(name, x, [&](Value v) { return op(vary(v, m), m.names, m.size, groups); });
}

void some_axis(const char* function, const Members& m, const SourceLoc& loc) {
  if (m.names.empty())
    Message(function)
        .problem("no axis is named")
        .rule("at least one axis")
        .from(loc)
        .advice("name the axis of the pmap around: \"i\"")
        .raise<CollectiveError>();
}

/// The members for a collective that moves data, which needs at least one axis.
Members moving(const char* function, const AxisNames& axes, const AxisGroups& groups,
               const SourceLoc& loc) {
  Members m = members(function, axes, loc);
  some_axis(function, m, loc);
  check_groups(function, m, groups, loc);
  return m;
}

Array exchange(const char* function, const Operand& x, const AxisNames& axes, int split, int concat,
               const ExchangeOptions& o) {
  const Members m = moving(function, axes, o.groups, x.loc);
  return collective(function, x, [&](Value v) {
    return ops::all_to_all(vary(v, m), m.names, m.size, split, concat, o.tiled, o.groups);
  });
}

Array permute(const char* function, const Operand& x, const AxisNames& axes,
              const Permutation& pairs) {
  const Members m = moving(function, axes, {}, x.loc);
  IntLists perm;
  for (const auto& [source, destination] : pairs) perm.push_back({source, destination});
  return collective(function, x,
                    [&](Value v) { return ops::ppermute(vary(v, m), m.names, m.size, perm); });
}
}  // namespace

Array pmax(Operand x, const AxisNames& axes, const AxisGroups& groups) {
  return extremum_over("pmax", ops::pmax, x, axes, groups);
}
Array pmin(Operand x, const AxisNames& axes, const AxisGroups& groups) {
  return extremum_over("pmin", ops::pmin, x, axes, groups);
}

Array all_gather(Operand x, const AxisNames& axes, const GatherOptions& o) {
  const Members m = moving("all_gather", axes, o.groups, x.loc);
  if (o.invariant && !m.typed.empty() && !o.groups.empty())
    Message("all_gather")
        .problem("the result is to be invariant, and groups are given")
        .rule(
            "each group gathers blocks of its own, so that the result differs from group to group")
        .from(x.loc)
        .advice("leave out .invariant, or gather over the whole axis")
        .raise<CollectiveError>();
  return collective("all_gather", x, [&](Value v) {
    v = vary(v, m);
    if (o.invariant && m.typed_names.size() == m.names.size())
      return ops::all_gather_invariant(v, m.names, m.size, o.axis, o.tiled);
    return ops::all_gather(v, m.names, m.size, o.axis, o.tiled, o.groups);
  });
}

Array psum_scatter(Operand x, const AxisNames& axes, const GatherOptions& o) {
  const Members m = moving("psum_scatter", axes, o.groups, x.loc);
  return collective("psum_scatter", x, [&](Value v) {
    return ops::psum_scatter(vary(v, m), m.names, m.size, o.axis, o.tiled, o.groups);
  });
}

Array all_to_all(Operand x, const AxisNames& axes, int split, int concat,
                 const ExchangeOptions& o) {
  return exchange("all_to_all", x, axes, split, concat, o);
}

Array pswapaxes(Operand x, const AxisNames& axes, int axis, const ExchangeOptions& o) {
  return exchange("pswapaxes", x, axes, axis, axis, o);
}

Array ppermute(Operand x, const AxisNames& axes, const Permutation& pairs) {
  return permute("ppermute", x, axes, pairs);
}

Array pshuffle(Operand x, const AxisNames& axes, const std::vector<std::int64_t>& sources) {
  const Members m = moving("pshuffle", axes, {}, x.loc);
  std::vector<std::int64_t> sorted = sources;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = static_cast<std::int64_t>(sorted.size()) == m.size;
  for (std::size_t i = 0; permutation && i < sorted.size(); ++i)
    permutation = sorted[i] == static_cast<std::int64_t>(i);
  if (!permutation) {
    std::string text;
    for (std::int64_t s : sources) text += (text.empty() ? "" : ", ") + std::to_string(s);
    Message("pshuffle")
        .problem("{" + text + "} is no permutation of the " + std::to_string(m.size) +
                 " members of the axis")
        .rule("each number in [0, " + std::to_string(m.size) + ") appears once")
        .from(x.loc)
        .advice("use ppermute where some members send or receive nothing")
        .raise<CollectiveError>();
  }
  Permutation pairs;
  for (std::size_t i = 0; i < sources.size(); ++i)
    pairs.emplace_back(sources[i], static_cast<std::int64_t>(i));
  return permute("pshuffle", x, axes, pairs);
}

Array pbroadcast(Operand x, const AxisNames& axes, std::int64_t source) {
  const Members m = moving("pbroadcast", axes, {}, x.loc);
  return collective("pbroadcast", x,
                    [&](Value v) { return ops::pbroadcast(vary(v, m), m.names, m.size, source); });
}

Array pvary(Operand x, const AxisNames& axes) {
  const Members m = members("pvary", axes, x.loc);
  if (m.typed.empty()) return x.array;
  return collective("pvary", x, [&](Value v) { return vary(v, m); });
}

Array pcast(Operand x, const AxisNames& axes, const CastOptions& o) {
  if (o.to != "varying")
    Message("pcast")
        .problem(o.to.empty() ? "it is not said what to cast to"
                              : "there is no cast to \"" + o.to + "\"")
        .rule(
            "what is the same on all devices may be typed as varying; what varies becomes the "
            "same by communication only")
        .from(x.loc)
        .advice(
            "pcast(x, axes, {.to = \"varying\"}), or psum, pmean, pmax or all_gather with "
            ".invariant, whose results are the same on all devices")
        .raise<CollectiveError>();
  return pvary(std::move(x), axes);
}

Array axis_index(const AxisNames& axes, std::source_location loc) {
  const Members m = members("axis_index", axes, loc);
  some_axis("axis_index", m, loc);
  return composite1("axis_index", {}, loc, [&](Builder& b, std::span<const Value>) {
    return vary(ops::axis_index(b, m.names, m.size), m);
  });
}

std::int64_t axis_size(const AxisNames& axes, std::source_location loc) {
  return members("axis_size", axes, loc).size;
}

}  // namespace tessera::inline v0

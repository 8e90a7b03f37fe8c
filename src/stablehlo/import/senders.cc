// Collectives in which one device of each group stands out: it sends, or it receives.
#include "stablehlo/import/collectives.h"
#include "stablehlo/import/groups.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::stablehlo::rules {

namespace {

// For each device a row with the members of its group, -1 behind them and for who is in none.
Value members_table(const Reading& r, const IntLists& groups) {
  const std::int64_t n = need_devices(r).count();
  std::size_t most = 1;
  for (const Ints& group : groups) most = std::max(most, group.size());
  std::vector<std::int64_t> members(static_cast<std::size_t>(n) * most, -1);
  for (const Ints& group : groups)
    for (std::int64_t d : group) {
      if (d < 0 || d >= n) r.refuse("there is no device " + std::to_string(d));
      std::copy(group.begin(), group.end(), members.begin() + d * static_cast<std::int64_t>(most));
    }
  auto bytes = std::make_shared<std::vector<std::byte>>(members.size() * sizeof members[0]);
  std::memcpy(bytes->data(), members.data(), bytes->size());
  return ops::constant(r.b,
                       {DType::int64, Shape{n, static_cast<std::int64_t>(most)}, std::move(bytes)});
}

Value this_device(const Reading& r) {
  const Devices& d = need_devices(r);
  return ops::convert(ops::axis_index(r.b, d.mesh.axes, d.count()), DType::int64);
}

// Member number `k` of this device's group.
Value member(const Reading& r, const IntLists& groups, Value k) {
  const Value table = members_table(r, groups);
  return ops::reshape(ops::dynamic_slice(table, Values{this_device(r), k}, {1, 1}), Shape{});
}

// What device `from` has; zeros where that is none.
Value sent(const Reading& r, Value x, Value from) {
  const Devices& d = need_devices(r);
  const Value zero = ops::zeros_like(from);
  Values start(static_cast<std::size_t>(x.rank()) + 1, zero);
  start[0] = ops::max(from, zero);
  Ints one = x.shape().to_vector();
  one.insert(one.begin(), 1);
  const Value all = ops::all_gather(x, d.mesh.axes, d.count(), 0, false);
  const Value got = ops::reshape(ops::dynamic_slice(all, start, one), x.shape());
  return ops::select(ops::broadcast_in_dim(ops::ge(from, zero), x.shape(), {}), got,
                     ops::zeros_like(x));
}

}  // namespace

// The first of each group sends, or the one that the last operand names for each other; who is in
// none gets zeros.
Values collective_broadcast(Reading& r) {
  const IntLists groups = device_groups(r, false);
  const bool named = r.flag_or("has_dynamic_root", false);
  const auto count = static_cast<std::int64_t>(r.in.size()) - (named ? 1 : 0);
  if (named &&
      (count < 0 || r.in.back().shape() != Shape{count} || !is_integer(r.in.back().dtype())))
    r.refuse("its last operand does not name a sender for each of the others");
  const Over over = over_groups(need_devices(r).mesh, groups);
  Values out;
  for (std::int64_t i = 0; i < count; ++i) {
    const Value x = r.in[static_cast<std::size_t>(i)];
    if (!named && over.groups.empty()) {
      out.push_back(ops::pbroadcast(x, over.axes, over.size, 0));
      continue;
    }
    Value root = ops::zeros_like(this_device(r));
    if (named)
      root = ops::convert(ops::reshape(ops::slice(r.in.back(), {i}, {i + 1}, {1}), Shape{}),
                          DType::int64);
    out.push_back(sent(r, x, member(r, groups, root)));
  }
  return out;
}

// The first of each group gets the total, the others zeros.
Values collective_reduce(Reading& r) {
  if (r.flag_or("has_dynamic_root", false))
    r.refuse("a root that an operand names is not supported");
  const Value first = member(r, device_groups(r, true), ops::zeros_like(this_device(r)));
  const Value gets = ops::eq(first, this_device(r));
  Values out;
  for (Value total : all_reduce(r))
    out.push_back(
        ops::select(ops::broadcast_in_dim(gets, total.shape(), {}), total, ops::zeros_like(total)));
  return out;
}

}  // namespace tessera::inline v0::stablehlo::rules

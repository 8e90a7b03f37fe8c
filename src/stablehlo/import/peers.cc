#include "stablehlo/import/collectives.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::stablehlo::rules {

namespace {

// A row for each device with the members of its group, padded with -1; all -1 for devices in no
// group.
Value table_of_members(const Reading& r, const IntLists& groups) {
  const std::int64_t n = need_devices(r).count();
  std::size_t most = 1;
  for (const Ints& group : groups) most = std::max(most, group.size());
  constexpr std::int64_t kMostMembers = 1 << 22;
  if (n > kMostMembers / static_cast<std::int64_t>(most))
    r.refuse(
        "its groups have up to " + std::to_string(most) + " of " + std::to_string(n) + " devices",
        "a table of the members has at most " + std::to_string(kMostMembers) + " entries");
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

Value of_all(const Reading& r, Value x) {
  const Devices& d = need_devices(r);
  return gathered(r, x, {d.mesh.axes, d.count(), {}}, 0, false);
}

}  // namespace

Peers::Peers(const Reading& r, const IntLists& groups)
    : r_(r),
      this_device_(ops::convert(place_in_mesh(r), DType::int64)),
      members_(table_of_members(r, groups)) {}

Value Peers::member(Value k) const {
  return ops::reshape(ops::dynamic_slice(members_, Values{this_device_, k}, {1, 1}), Shape{});
}

Value Peers::sent(Value x, Value from) const {
  const Value zero = ops::zeros_like(from);
  Values start(static_cast<std::size_t>(x.rank()) + 1, zero);
  start[0] = ops::max(from, zero);
  Ints one = x.shape().to_vector();
  one.insert(one.begin(), 1);
  const Value got = ops::reshape(ops::dynamic_slice(of_all(r_, x), start, one), x.shape());
  return ops::select(ops::broadcast_in_dim(ops::ge(from, zero), x.shape(), {}), got,
                     ops::zeros_like(x));
}

Peers::Rows Peers::rows(Value x) const {
  const std::int64_t most = members_.shape()[1];
  const Value zero = ops::zeros_like(this_device_);
  const Value own = ops::reshape(
      ops::dynamic_slice(members_, Values{this_device_, zero}, {1, most}), Shape{most});
  const Value there = ops::ge(own, ops::zeros_like(own));
  const Value all = of_all(r_, x);
  Values rows;
  for (std::int64_t k = 0; k < most; ++k) {
    const Value from = ops::reshape(ops::slice(own, {k}, {k + 1}, {1}), Shape{});
    Values start(static_cast<std::size_t>(all.rank()), zero);
    start[0] = ops::max(from, zero);
    Ints one = all.shape().to_vector();
    one[0] = 1;
    rows.push_back(ops::dynamic_slice(all, start, one));
  }
  return {ops::concatenate(rows, 0), there};
}

}  // namespace tessera::inline v0::stablehlo::rules

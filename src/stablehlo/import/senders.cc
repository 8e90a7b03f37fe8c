// Collectives in which one device of each group is the root that sends or receives.
#include "stablehlo/import/collectives.h"

namespace tessera::inline v0::stablehlo::rules {

namespace {

// The root of operand i, as an index in the group: the one given by the last operand, else the
// first member.
Value root_of(const Reading& r, bool named, std::int64_t i, const Peers& peers) {
  const Value first = ops::zeros_like(peers.this_device());
  if (!named) return first;
  return ops::convert(ops::reshape(ops::slice(r.in.back(), {i}, {i + 1}, {1}), Shape{}),
                      DType::int64);
}

// Whether the last operand gives a root for each of the other operands.
bool names_roots(const Reading& r) {
  if (!r.flag_or("has_dynamic_root", false)) return false;
  const auto count = static_cast<std::int64_t>(r.in.size()) - 1;
  if (count < 0 || r.in.back().shape() != Shape{count} || !is_integer(r.in.back().dtype()))
    r.refuse(
        "its last operand does not name a root for each of the others" +
            (count < 0 ? std::string()
                       : ": it is " + to_string(Type(r.in.back().dtype(), r.in.back().shape())) +
                             " beside " + std::to_string(count)),
        "with has_dynamic_root the last operand is a list of integers, one for each other operand");
  return true;
}

}  // namespace

// The first member of each group sends, or the one that the last operand gives for each of the
// others. Devices in no group get zeros.
Values collective_broadcast(Reading& r) {
  const IntLists groups = device_groups(r, false);
  const bool named = names_roots(r);
  const auto count = static_cast<std::int64_t>(r.in.size()) - (named ? 1 : 0);
  const Over over = over_axes(r, groups);
  Values out;
  if (!named && over.groups.empty()) {
    for (const Value& x : r.in)
      out.push_back(over.axes.empty()
                        ? x
                        : ops::pbroadcast(across(r, x, over.axes), over.axes, over.size, 0));
    return out;
  }
  const Peers peers(r, groups);
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back(
        peers.sent(r.in[static_cast<std::size_t>(i)], peers.member(root_of(r, named, i, peers))));
  return out;
}

// The first member of each group gets the total, or the one that the last operand gives for each of
// the others; all other devices get zeros.
Values collective_reduce(Reading& r) {
  const bool named = names_roots(r);
  const Peers peers(r, device_groups(r, true));
  Values roots, out;
  for (std::size_t i = 0; i + (named ? 1 : 0) < r.in.size(); ++i)
    roots.push_back(peers.member(root_of(r, named, static_cast<std::int64_t>(i), peers)));
  if (named) r.in.pop_back();
  for (const Value& total : reduced_over_devices(r, true)) {
    const Value gets = ops::eq(roots[out.size()], peers.this_device());
    out.push_back(
        ops::select(ops::broadcast_in_dim(gets, total.shape(), {}), total, ops::zeros_like(total)));
  }
  return out;
}

}  // namespace tessera::inline v0::stablehlo::rules

#include "ops/control/map_members.h"

namespace tessera::inline v0::ops {

bool MapMembers::fits(std::size_t operand, const Type& type) const {
  const Ints& maps = stacked_[operand];
  bool fits = static_cast<std::size_t>(type.shape.rank()) >= maps.size();
  for (std::size_t d = 0; fits && d < maps.size(); ++d)
    fits = maps[d] >= 0 && static_cast<std::size_t>(maps[d]) < sizes_.size() &&
           type.shape[d] == sizes_[static_cast<std::size_t>(maps[d])];
  return fits;
}

namespace {

// The part of the stack at `number` of its first `mapped` dimensions.
HostArray part_of(const HostArray& stack, std::size_t mapped, std::int64_t number) {
  const Shape rest(stack.shape.begin() + static_cast<std::ptrdiff_t>(mapped), stack.shape.end());
  const std::int64_t bytes = rest.count() * size_of(stack.dtype);
  return HostArray(stack.dtype, rest, stack.bytes + number * bytes);
}

}  // namespace

HostArray MapMembers::operand(std::size_t i, const HostArray& stack, const Shape& member) const {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < stacked_[i].size(); ++d)
    number = number * stack.shape[d] + member[static_cast<std::size_t>(stacked_[i][d])];
  return part_of(stack, stacked_[i].size(), number);
}

HostArray MapMembers::result(const HostArray& stack, const Shape& member) const {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < sizes_.size(); ++d) number = number * sizes_[d] + member[d];
  return part_of(stack, sizes_.size(), number);
}

std::pair<Values, Attrs> MapMembers::inside_map(const BatchArgs& a) {
  Values in(a.inputs.begin(), a.inputs.end());
  Ints sizes = a.attrs.ints(kSizes);
  IntLists stacked = a.attrs.get<IntLists>(kStacked);
  sizes.insert(sizes.begin(), a.size);
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::int64_t& k : stacked[i]) ++k;
    if (a.dims[i] == kUnbatched) continue;
    in[i] = move_dim(in[i], a.dims[i], 0);
    stacked[i].insert(stacked[i].begin(), 0);
  }
  Attrs attrs = a.attrs;
  attrs.set(kSizes, std::move(sizes));
  attrs.set(kStacked, std::move(stacked));
  return {std::move(in), std::move(attrs)};
}

FactorRule whole_everywhere(const ShardArgs& a) {
  FactorRule rule;
  const auto dims_of = [&](const Type& t) {
    std::vector<int> dims;
    for (const std::int64_t extent : t.shape) {
      dims.push_back(rule.factor(extent, 'p'));
      rule.mark(FactorRule::Kind::need_repl, dims.back());
    }
    return dims;
  };
  for (const Type& t : a.inputs) rule.input(dims_of(t));
  for (const Type& t : a.outputs) rule.output(dims_of(t));
  return rule;
}

}  // namespace tessera::inline v0::ops

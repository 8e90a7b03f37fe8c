#include "codegen/tape/lower.h"
#include "ir/collective_attrs.h"
#include "ir/nested.h"

#include <algorithm>

namespace tessera::inline v0::tape {

Communication communication_of(const Program& p, const Scope& scope) {
  Communication c;
  for (const Equation& eqn : p.equations) {
    const std::optional<Flow> flow = flow_of(eqn);
    c.regions = c.regions || (flow && flow->kind == Flow::Kind::region);
    if (eqn.op->exchange != Exchange::none)
      for (const auto& n : CollectiveAttrs(eqn.attrs).axes)
        for (const auto& [name, id] : scope.axes)
          if (name == n) c.axes |= Mask{1} << id;
    for_each_nested(eqn.attrs, [&](const ProgramPtr& q) {
      Communication d = communication_of(*q, scope);
      c.axes |= d.axes;
      c.regions = c.regions || d.regions;
    });
  }
  return c;
}

std::shared_ptr<const Collective> make_collective(const Equation& eqn, const Type& in,
                                                  const Type& out, const Scope& scope,
                                                  const TapeContext& ctx) {
  auto c = std::make_shared<Collective>();
  c->exchange = eqn.op->exchange;
  c->combiner = eqn.op->combiner;
  c->dtype = in.dtype;
  c->count = in.shape.count();
  for (const auto& n : CollectiveAttrs(eqn.attrs).axes) {
    c->axes.push_back(scope.at(n));
    c->sizes.push_back(ctx.axes[static_cast<std::size_t>(c->axes.back())].size);
    c->size *= c->sizes.back();
  }
  for (const Ints& group : CollectiveAttrs(eqn.attrs).groups) c->groups.push_back(group);
  if (!c->groups.empty()) c->place.resize(static_cast<std::size_t>(c->size));
  for (std::size_t g = 0; g < c->groups.size(); ++g)
    for (std::size_t i = 0; i < c->groups[g].size(); ++i)
      c->place[static_cast<std::size_t>(c->groups[g][i])] = {static_cast<int>(g),
                                                             static_cast<int>(i)};
  const std::int64_t members = c->members();

  const Shape& s = in.shape;
  auto product = [&](int from, int to) {
    std::int64_t n = 1;
    for (int d = from; d < to; ++d) n *= s[d];
    return n;
  };
  const int rank = s.rank();
  switch (c->exchange) {
    case Exchange::none:
    case Exchange::combine:
    case Exchange::broadcast:
    case Exchange::permute: c->run = c->count; break;
    case Exchange::gather: {
      int axis = GatherAttrs(eqn.attrs).axis;
      c->outer = product(0, axis);
      c->run = product(axis, rank);
      break;
    }
    case Exchange::combine_scatter: {
      int axis = GatherAttrs(eqn.attrs).axis;
      c->outer = product(0, axis);
      c->run = product(axis, rank) / members;
      break;
    }
    case Exchange::all_to_all: {
      const auto [split, concat, tiled] = AllToAllAttrs(eqn.attrs);
      const std::int64_t e = size_of(in.dtype);
      Shape from = byte_strides(s, e), to = byte_strides(out.shape, e), chunk = s, to_strides;
      chunk[split] /= members;
      c->from_chunk = chunk[split] * from[split];
      if (tiled) {
        to_strides = to;
        c->to_chunk = chunk[concat] * to[concat];
      } else {
        // The result lacks `split` and has a new dimension at `concat`.
        c->to_chunk = to[concat];
        int d = 0;
        for (int i = 0; i < rank; ++i) {
          if (i == split) {
            to_strides.push_back(0);
            continue;
          }
          if (d == concat) ++d;
          to_strides.push_back(to[d++]);
        }
      }
      c->box = BoxCopy(chunk, from, to_strides, e);
      break;
    }
  }
  std::vector<std::int64_t> by_device;
  if (c->exchange == Exchange::permute) by_device = eqn.op->sources(eqn.attrs);
  if (c->exchange == Exchange::broadcast)
    by_device.assign(static_cast<std::size_t>(c->size), BroadcastAttrs(eqn.attrs).source);
  std::vector<std::pair<std::int64_t, std::int64_t>> sources;
  for (std::size_t d = 0; d < by_device.size(); ++d)
    if (by_device[d] >= 0) sources.emplace_back(static_cast<std::int64_t>(d), by_device[d]);
  c->source = Progressions(sources);
  return c;
}

bool Lowerer::crosses_memories(const Collective& c) const {
  return std::any_of(c.axes.begin(), c.axes.end(),
                     [&](int a) { return (ctx_.apart | ctx_.between) >> a & 1; });
}

// The blocks of an arena slot are adjacent in the order of the devices, so the slot already is
// their concatenation along dimension 0.
bool Lowerer::gather_in_place(const Equation& eqn, const Collective& c) {
  if (c.exchange != Exchange::gather || c.outer != 1 || !c.one_group() || crosses_memories(c))
    return false;
  Ref r = dense(eqn.inputs[0]);
  const Slot& s = at(r.slot);
  Mask own = 0;
  for (std::size_t i = 0; i < c.axes.size(); ++i) {
    if (i && c.axes[i] < c.axes[i - 1]) return false;
    own |= Mask{1} << c.axes[i];
  }
  if (s.space != Space::arena || s.stored || r.offset || !r.cut.empty() || r.absorbed ||
      (s.mask & own) != own || s.bytes != flat_.types[eqn.inputs[0]].bytes())
    return false;
  std::int64_t stride = 1;
  for (std::size_t i = c.axes.size(); i-- > 0;) {
    for (const AxisStride& st : s.instance)
      if (st.axis == c.axes[i] && st.stride != stride) return false;
    stride *= c.sizes[i];
  }
  r.absorbed = own;
  ref_[eqn.outputs[0]] = r;
  return true;
}

// The block of one device is the value for all devices.
bool Lowerer::broadcast_in_place(const Equation& eqn, const Collective& c) {
  if (c.exchange != Exchange::broadcast || crosses_memories(c)) return false;
  Ref r = dense(eqn.inputs[0]);
  std::int64_t rest = c.source.at(0);
  for (std::size_t i = c.axes.size(); i-- > 0; rest /= c.sizes[i]) {
    const std::int64_t at = rest % c.sizes[i];
    for (const AxisStride& st : this->at(r.slot).instance)
      if (st.axis == c.axes[i] && !(r.absorbed >> st.axis & 1)) {
        r.instance += at * st.stride;
        r.absorbed |= Mask{1} << st.axis;
        r.one = true;
      }
    AxisStrides cut;
    for (const AxisStride& st : r.cut)
      if (st.axis == c.axes[i])
        r.offset += at * st.stride;
      else
        cut.push_back(st);
    r.cut = cut;
  }
  ref_[eqn.outputs[0]] = r;
  return true;
}

// Permuting the blocks of an argument only permutes its pointers, which gives another argument.
bool Lowerer::permute_argument(const Equation& eqn, const Collective& c) {
  const bool same = c.exchange == Exchange::broadcast;  // one block for all devices
  if ((!same && c.exchange != Exchange::permute) || c.axes.size() != 1 || !top_ ||
      crosses_memories(c))
    return false;
  std::vector<std::int64_t> sources;
  for (std::int64_t d = 0; d < c.size; ++d) {
    if (c.source.at(d) < 0) return false;
    sources.push_back(c.source.at(d));
  }
  const Ref r = dense(eqn.inputs[0]);
  const Slot from = at(r.slot);
  if (from.space != Space::argument || r.offset || !r.cut.empty() || r.absorbed ||
      from.mask != Mask{1} << c.axes[0])
    return false;
  auto& arguments = draft_.tape->arguments;
  auto it = std::find_if(arguments.begin(), arguments.end(),
                         [&](const Argument& a) { return a.slot == r.slot; });
  if (it == arguments.end() || it->region < 0 || it->uniform ||
      ctx_.regions[static_cast<std::size_t>(it->region)].axes != std::vector<int>{c.axes[0]})
    return false;
  Argument a = *it;
  a.source = sources;
  for (std::size_t d = 0; d < it->source.size(); ++d)
    a.source[d] = it->source[static_cast<std::size_t>(sources[d])];
  ref_[eqn.outputs[0]] = argument(std::move(a), same ? 0 : from.mask, from.bytes, from.dtype);
  return true;
}

// A result that all devices of a group share is computed and stored once.
void Lowerer::share_in_groups(Slot& s, const Collective& c) const {
  const bool same = c.exchange == Exchange::combine || c.exchange == Exchange::gather ||
                    c.exchange == Exchange::broadcast;
  if (!same || c.one_group()) return;
  Mask own = 0;
  for (int a : c.axes) own |= Mask{1} << a;
  // Keyed by the coordinates along the other axes, and the group.
  std::map<std::pair<std::int64_t, int>, std::int64_t> numbers;
  std::vector<std::pair<std::int64_t, std::int64_t>> stored;
  const std::int64_t n = ctx_.instances(s.mask);
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<std::int64_t> at(ctx_.axes.size());
    std::int64_t rest = i, others = 0, device = 0;
    for (std::size_t a = ctx_.axes.size(); a-- > 0;)
      if (s.mask >> a & 1) {
        at[a] = rest % ctx_.axes[a].size;
        rest /= ctx_.axes[a].size;
        if (!(own >> a & 1)) others = others * ctx_.axes[a].size + at[a];
      }
    for (std::size_t k = 0; k < c.axes.size(); ++k)
      device = device * c.sizes[k] + at[static_cast<std::size_t>(c.axes[k])];
    auto [it, fresh] = numbers.try_emplace({others, c.group_of(device)}, std::ssize(s.computed));
    if (fresh) s.computed.push_back(i);
    stored.emplace_back(i, it->second);
  }
  s.stored.emplace(stored);
}

void Lowerer::lower_collective(const Equation& eqn, const Scope& scope) {
  const Type &in = flat_.types[eqn.inputs[0]], &out = flat_.types[eqn.outputs[0]];
  std::shared_ptr<const Collective> c = make_collective(eqn, in, out, scope, ctx_);
  if (gather_in_place(eqn, *c) || permute_argument(eqn, *c) || broadcast_in_place(eqn, *c)) return;
  Step step;
  step.name = in_scope(eqn, eqn.op->shown());
  step.loc = eqn.loc;
  step.mask = level_.mask[eqn.outputs[0]];
  step.inputs = {dense(eqn.inputs[0])};
  step.outputs = {new_value(eqn.outputs[0], step.mask)};
  if (!crosses_memories(*c)) share_in_groups(at(step.outputs[0].slot), *c);
  step.seconds = 1e-7 + 2e-10 * static_cast<double>(in.bytes()) * static_cast<double>(c->members());
  step.kind = CollectiveStep{std::move(c)};
  add(std::move(step));
}

}  // namespace tessera::inline v0::tape

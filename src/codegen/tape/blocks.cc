// Entering and leaving a region: whole arrays are cut into the devices' blocks and reassembled.
#include "codegen/tape/lower.h"

namespace tessera::inline v0::tape {

void Lowerer::lower_block(const Equation& eqn) {
  const Var whole = eqn.inputs[0], block = eqn.outputs[0];
  const int region = static_cast<int>(eqn.attrs.i("region"));
  const Spec& spec = eqn.attrs.get<Spec>("spec");
  const Region& r = ctx_.regions[static_cast<std::size_t>(region)];
  const Type& type = flat_.types[whole];
  if (assembled_[whole] >= 0) {
    const Assembled& a = assemblies_[static_cast<std::size_t>(assembled_[whole])];
    const Region& from = ctx_.regions[static_cast<std::size_t>(a.region)];
    if (from.axes == r.axes && spmd::same_cut(*from.mesh, a.spec, *r.mesh, spec)) {
      // The array leaves a region and enters it again with the same sharding.
      ref_[block] = dense(a.block);
      return;
    }
  }
  if (top_ && whole < flat_.inputs.size()) {
    auto key = std::make_tuple(std::size_t{whole}, region, spec);
    auto it = blocks_.find(key);
    if (it == blocks_.end()) {
      Argument a;
      a.input = whole;
      a.region = region;
      a.spec = spec;
      a.type = type;
      a.uniform = level_.mask[block] == 0;
      it = blocks_
               .emplace(key, argument(std::move(a), level_.mask[block], flat_.types[block].bytes(),
                                      type.dtype))
               .first;
    }
    ref_[block] = it->second;
    return;
  }
  spmd::Blocks blocks = ctx_.blocks(type, region, spec);
  Ref from = dense(whole);
  for (std::size_t a = 0; a < r.axes.size(); ++a)
    if (blocks.axis_offsets()[a]) from.cut.push_back({r.axes[a], blocks.axis_offsets()[a]});
  if (blocks.contiguous() && !(ctx_.spec_axes(region, spec) & ctx_.apart)) {
    ref_[block] = from;
    return;
  }
  Step step;
  step.name = "block";
  step.loc = eqn.loc;
  step.mask = level_.mask[block];
  const BoxCopy box = blocks.scatter();
  step.kind = CopyStep{box};
  step.inputs = {from};
  step.outputs = {new_value(block, step.mask)};
  step.seconds = 1e-7 + 3e-10 * static_cast<double>(box.bytes());
  add(std::move(step));
}

Ref Lowerer::assemble(Var v) {
  const Assembled a = assemblies_[static_cast<std::size_t>(assembled_[v])];
  Ref from = dense(a.block);
  const Region& r = ctx_.regions[static_cast<std::size_t>(a.region)];
  const Mask cut = ctx_.spec_axes(a.region, a.spec);
  if (cut == 0) return from;
  spmd::Blocks blocks = ctx_.blocks(flat_.types[v], a.region, a.spec);
  if (cut & ctx_.between) return assemble_from_processes(v, a, from, blocks);
  const Slot& s = at(from.slot);
  bool adjacent = s.space == Space::arena && !s.stored && from.offset == 0 && from.cut.empty() &&
                  from.absorbed == 0 && s.bytes == blocks.block_bytes() && (s.mask & cut) == cut &&
                  blocks.contiguous();
  for (std::size_t i = 0; i < r.axes.size() && adjacent; ++i)
    for (const AxisStride& st : s.instance)
      if (st.axis == r.axes[i] && (cut >> st.axis & 1))
        adjacent = st.stride * s.bytes == blocks.axis_offsets()[i];
  if (adjacent) {
    from.absorbed = cut;
    return from;
  }
  Step step;
  step.name = "assemble";
  step.mask = level_.mask[v] | cut;
  const BoxCopy box = blocks.gather();
  step.kind = CopyStep{box};
  step.inputs = {from};
  Ref to{slot(Space::arena, level_.mask[v], flat_.types[v].bytes(), flat_.types[v].dtype)};
  at(to.slot).same = level_.mask[v] & ~level_.differs[v];
  Ref part = to;
  for (std::size_t i = 0; i < r.axes.size(); ++i)
    if (blocks.axis_offsets()[i]) part.cut.push_back({r.axes[i], blocks.axis_offsets()[i]});
  step.outputs = {part};
  step.seconds = 1e-7 + 3e-10 * static_cast<double>(box.bytes());
  add(std::move(step));
  return to;
}

// Some of the blocks belong to other processes, so all blocks are gathered side by side and then
// copied to their positions at once.
Ref Lowerer::assemble_from_processes(Var v, const Assembled& a, const Ref& block,
                                     const spmd::Blocks& blocks) {
  const Region& r = ctx_.regions[static_cast<std::size_t>(a.region)];
  const Mask cut = ctx_.spec_axes(a.region, a.spec);
  const Type& type = flat_.types[v];
  const std::int64_t e = size_of(type.dtype);
  auto c = std::make_shared<Collective>();
  c->exchange = Exchange::gather;
  c->dtype = type.dtype;
  c->count = c->run = blocks.block_bytes() / e;
  Shape extents, to_strides;
  for (std::size_t i = 0; i < r.axes.size(); ++i) {
    if (!(cut >> r.axes[i] & 1)) continue;
    c->axes.push_back(r.axes[i]);
    c->sizes.push_back(r.mesh->sizes[i]);
    c->size *= r.mesh->sizes[i];
    extents.push_back(r.mesh->sizes[i]);
    to_strides.push_back(blocks.axis_offsets()[i]);
  }
  Step gather;
  gather.name = "assemble";
  gather.mask = level_.mask[v];
  gather.inputs = {block};
  const Ref side_by_side{slot(Space::arena, gather.mask, type.bytes(), type.dtype)};
  gather.outputs = {side_by_side};
  gather.seconds = 1e-7 + 2e-10 * static_cast<double>(type.bytes());
  gather.kind = CollectiveStep{std::move(c)};
  add(std::move(gather));

  const Shape whole = byte_strides(type.shape, e);
  for (int d = 0; d < blocks.block().rank(); ++d) {
    extents.push_back(blocks.block()[d]);
    to_strides.push_back(whole[d]);
  }
  const Ref to{slot(Space::arena, level_.mask[v], type.bytes(), type.dtype)};
  at(to.slot).same = level_.mask[v] & ~level_.differs[v];
  Step step;
  step.name = "assemble";
  step.mask = level_.mask[v];
  const BoxCopy box(extents, byte_strides(extents, e), to_strides, e);
  step.kind = CopyStep{box};
  step.inputs = {side_by_side};
  step.outputs = {to};
  step.seconds = 1e-7 + 3e-10 * static_cast<double>(box.bytes());
  add(std::move(step));
  return to;
}

}  // namespace tessera::inline v0::tape

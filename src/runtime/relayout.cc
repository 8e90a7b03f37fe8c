// Moves arrays to other devices and other shardings.
#include "base/box_copy.h"
#include "runtime/array_data.h"
#include "runtime/backend.h"
#include "runtime/buffer.h"
#include "spmd/place/blocks.h"

#include <utility>

namespace tessera::inline v0::runtime {

ArrayDataPtr relayout(const ArrayDataPtr& a, const LayoutPtr& layout) {
  if (a->layout == layout) return a;
  const Layout& from = *a->layout;
  if (from.backend == layout->backend &&
      spmd::same_cut(*from.mesh, from.spec, *layout->mesh, layout->spec)) {
    ArrayDataPtr same = alias(*a);  // only axis names or `committed` differ
    same->layout = layout;
    return same;
  }
  return layout->backend->place(*a, layout);
}

// Copies a whole array from device to device; everything else goes through host memory.
ArrayDataPtr Backend::place(const ArrayData& a, const LayoutPtr& layout) {
  auto out = std::make_shared<ArrayData>();
  out->type = a.type;
  out->layout = layout;
  const spmd::Blocks blocks(a.type, *layout->mesh, layout->spec);
  const Type block(a.type.dtype, blocks.block(), a.type.weak);
  std::vector<std::shared_ptr<Completion>> transfers;
  auto add = [&](Placed placed) {
    out->shards.push_back(std::move(placed.shard));
    transfers.push_back(std::move(placed.pending));
  };
  const auto device = [&](std::size_t k) {
    return layout->devices()[static_cast<std::size_t>(layout->place(k))];
  };
  const bool whole_here =
      !a.shards.empty() && (a.layout->spec.replicated() || a.layout->devices().size() == 1);
  if (a.layout->backend == this && whole_here && blocks.count() == 1) {
    if (a.pending) a.pending->wait();
    for (std::size_t k = 0; k < layout->shards(); ++k) add(copy(block, a.shards[0], device(k)));
  } else {
    BufferPtr whole;
    const std::byte* bytes = dense_bytes(a, whole);
    const auto base = static_cast<std::size_t>(bytes - whole->host_data());
    const auto size = static_cast<std::size_t>(blocks.block_bytes());
    BufferPtr cut;
    if (!blocks.contiguous()) {
      cut = Buffer::allocate(static_cast<std::size_t>(a.type.bytes()));
      BoxCopy scatter = blocks.scatter();
      for (std::int64_t b = 0; b < blocks.count(); ++b)
        scatter.run(bytes + blocks.offset_of(b),
                    cut->host_data() + static_cast<std::size_t>(b) * size);
    }
    for (std::size_t k = 0; k < layout->shards(); ++k) {
      const std::int64_t b = blocks.block_of(layout->place(k));
      const Shard part = cut ? Shard{cut, static_cast<std::size_t>(b) * size}
                             : Shard{whole, base + static_cast<std::size_t>(blocks.offset_of(b))};
      add(to_device(block, part, device(k)));
    }
  }
  out->pending = all_of(std::move(transfers));
  return out;
}

}  // namespace tessera::inline v0::runtime

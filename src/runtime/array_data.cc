#include "runtime/array_data.h"

#include "base/hash.h"
#include "base/interned.h"
#include "base/process.h"
#include "processes/processes.h"

#include "runtime/backend.h"
#include "runtime/buffer.h"
#include "runtime/gathered_reads.h"
#include "spmd/place/blocks.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace tessera::inline v0::runtime {
namespace {

spmd::Blocks blocks_of(const Type& type, const Layout& layout) {
  return spmd::Blocks(type, *layout.mesh, layout.spec);
}
void wait_for(const ArrayData& a) {
  if (a.pending) a.pending->wait();
}
ArrayDataPtr single(const Type& type, LayoutPtr layout, BufferPtr buffer, std::size_t offset) {
  auto a = std::make_shared<ArrayData>();
  a->type = type;
  a->layout = std::move(layout);
  a->shards.push_back({std::move(buffer), offset});
  return a;
}

}  // namespace

std::size_t hash_of(const Layout& l) {
  std::size_t h = l.mesh.hash();
  mix(h, l.spec.hash());
  mix(h, static_cast<std::size_t>(l.committed));
  return h;
}
MeshRef on_platform(const MeshRef& mesh, const Backend& backend) {
  const std::string_view platform =
      &backend == &host_backend() ? std::string_view() : backend.platform();
  if (mesh->devices.empty() || mesh->platform == platform) return mesh;
  DeviceMesh named = *mesh;
  named.platform = platform;
  return MeshRef(std::move(named));
}

LayoutPtr intern(Layout layout) {
  layout.mesh = on_platform(layout.mesh, *layout.backend);
  if (processes::count() > 1) {
    const std::vector<int>& devices = layout.devices();
    layout.here.clear();
    for (std::size_t p = 0; p < devices.size(); ++p)
      if (layout.backend->is_local(devices[p])) layout.here.push_back(static_cast<std::int64_t>(p));
    layout.everywhere = layout.here.size() == devices.size();
    if (layout.everywhere) layout.here.clear();
    if (devices.size() > 1) layout.backend->settle_devices();
  }
  layout.plain = nullptr;
  if (Spec spec = spmd::without_lone_axes(*layout.mesh, layout.spec); spec != layout.spec) {
    Layout plain = layout;
    plain.spec = std::move(spec);
    layout.plain = Interned<Layout>(std::move(plain)).pointer();
  }
  return Interned<Layout>(std::move(layout)).pointer();
}
std::int64_t Layout::shard_at(std::int64_t place) const {
  if (everywhere) return place;
  const auto it = std::lower_bound(here.begin(), here.end(), place);
  return it == here.end() || *it != place ? -1 : it - here.begin();
}

Layout on_device(int device, bool committed, Backend* backend) {
  return {on_platform(MeshRef(DeviceMesh{{}, {device}}), *backend), Spec(), committed, backend};
}

LayoutPtr place_of_whole(const LayoutPtr& single) {
  if (single->spec.dims().empty()) return single;
  return intern(on_device(single->devices()[0], single->committed, single->backend));
}

const LayoutPtr& host_layout() {
  // Asking for the number of devices joins the other processes: before that, device 0 may belong to
  // another process.
  static const LayoutPtr& layout = *[] {
    Backend& host = host_backend();
    (void)host.device_count();
    return new LayoutPtr(intern(on_device(host.first_local_device(), false)));
  }();
  return layout;
}

Shape ArrayData::shard_shape() const {
  if (layout->spec.replicated()) return type.shape;
  return blocks_of(type, *layout).block();
}

Message deleted_message(std::string_view function, const ArrayData& a) {
  const std::uint32_t to = a.claim.taken();
  const bool lost = a.claim.lost();
  Message m(function);
  m.problem("the array " + to_string(a.type) + " was donated to " +
            (to ? name_of_taker(to) : "a call that failed") +
            (lost ? ", which failed when it had begun to write over it" : ""));
  if (lost)
    m.rule("a call that fails gives back the donated arrays that it has not written to")
        .advice(
            "start again from a copy that the call did not get, or do not donate what has to "
            "outlive a failure");
  else
    m.rule(
         "an argument passed with std::move, or named in donate, is given away: its memory "
         "becomes the call's")
        .advice("use the result of that call, or pass the array without std::move and donate");
  return m;
}

namespace {

ArrayDataPtr in_host_memory(const Type& type, BufferPtr buffer, const LayoutPtr& layout) {
  buffer->charge(layout, type.bytes());
  return single(type, layout, std::move(buffer), 0);
}
ArrayDataPtr copied(const Type& type, const void* bytes, const LayoutPtr& layout) {
  const auto n = static_cast<std::size_t>(type.bytes());
  BufferPtr buffer = Buffer::allocate(n);
  if (n) std::memcpy(buffer->host_data(), bytes, n);
  return in_host_memory(type, std::move(buffer), layout);
}

}  // namespace

ArrayDataPtr on_host(const Type& type, const void* bytes) {
  return copied(type, bytes, host_layout());
}

ArrayDataPtr from_host(const Type& type, const void* bytes) {
  const LayoutPtr layout = default_layout();
  if (layout->backend == &host_backend()) return copied(type, bytes, layout);
  return relayout(on_host(type, bytes), layout);
}

ArrayDataPtr adopt_host(const Type& type, void* bytes, std::shared_ptr<void> owner) {
  const LayoutPtr layout = default_layout();
  if (layout->backend != &host_backend() || reinterpret_cast<std::uintptr_t>(bytes) % 64 != 0)
    return from_host(type, bytes);
  return in_host_memory(
      type, Buffer::adopt(bytes, static_cast<std::size_t>(type.bytes()), std::move(owner)), layout);
}

namespace {

[[noreturn]] void refuse_elsewhere(const ArrayData& a) {
  const Layout& l = *a.layout;
  Message("host")
      .problem("the array " + to_string(a.type) + " lies on " + std::to_string(l.devices().size()) +
               " devices, of which " + std::to_string(l.shards()) + " are this process's")
      .rule("a process reads what its own devices have")
      .advice("gather it in all processes with process_allgather(x), or read x.shards()")
      .raise<ShardingError>();
}
// For each block, the first shard that holds it; null if only other processes have it.
std::vector<const Shard*> holders(const ArrayData& a, const spmd::Blocks& blocks) {
  std::vector<const Shard*> of(static_cast<std::size_t>(blocks.count()), nullptr);
  for (std::size_t k = 0; k < a.shards.size(); ++k) {
    auto& slot = of[static_cast<std::size_t>(blocks.block_of(a.layout->place(k)))];
    if (!slot) slot = &a.shards[k];
  }
  return of;
}
bool all_here(const std::vector<const Shard*>& of) {
  return std::find(of.begin(), of.end(), nullptr) == of.end();
}
bool is_whole(const ArrayData& a) {
  return !a.shards.empty() && (a.layout->spec.replicated() || a.layout->devices().size() == 1);
}

}  // namespace

bool is_addressable(const ArrayData& a) {
  return is_gathered(a) || a.layout->everywhere || is_whole(a) ||
         all_here(holders(a, blocks_of(a.type, *a.layout)));
}

const std::byte* dense_view(const ArrayData& a, BufferPtr& hold) {
  if (a.shards.empty()) return nullptr;
  const Shard& first = a.shards[0];
  if (!first.buffer->is_host()) return nullptr;
  if (!is_whole(a)) {
    spmd::Blocks blocks = blocks_of(a.type, *a.layout);
    if (!blocks.contiguous()) return nullptr;
    auto of = holders(a, blocks);
    if (!all_here(of)) return nullptr;
    for (std::size_t b = 1; b < of.size(); ++b)
      if (of[b]->buffer != of[0]->buffer ||
          of[b]->offset != of[0]->offset + b * static_cast<std::size_t>(blocks.block_bytes()))
        return nullptr;
    hold = of[0]->buffer;
    return hold->host_data() + of[0]->offset;
  }
  hold = first.buffer;
  return first.buffer->host_data() + first.offset;
}

const std::byte* dense_bytes(const ArrayData& a, BufferPtr& hold) {
  wait_for(a);
  if (is_gathered(a)) {
    hold = gather(a);
    return hold->host_data();
  }
  return own_bytes(a, hold);
}

const std::byte* own_bytes(const ArrayData& a, BufferPtr& hold) {
  wait_for(a);
  if (const std::byte* view = dense_view(a, hold)) return view;
  spmd::Blocks blocks = blocks_of(a.type, *a.layout);
  auto of = holders(a, blocks);
  if (!all_here(of)) refuse_elsewhere(a);
  hold = Buffer::allocate(static_cast<std::size_t>(a.type.bytes()));
  a.layout->backend->read(a, blocks, of, hold->host_data());
  return hold->host_data();
}

const std::byte* host_view(const ArrayData& a) {
  wait_for(a);
  BufferPtr hold;
  if (const std::byte* view = is_gathered(a) ? nullptr : dense_view(a, hold)) {
    a.exposed.store(true, std::memory_order_relaxed);
    return view;
  }
  Locked lock(a.gathering);
  if (!a.gathered) {
    (void)dense_bytes(a, hold);
    a.gathered = std::move(hold);
  }
  return a.gathered->host_data();
}

ArrayDataPtr alias(const ArrayData& a) {
  auto out = std::make_shared<ArrayData>();
  out->type = a.type;
  out->layout = a.layout;
  out->shards = a.shards;
  out->uniform = a.uniform;
  out->pending = a.pending;
  out->history = a.history;
  return out;
}

ArrayDataPtr stack_of_one(const ArrayDataPtr& a, std::int64_t n) {
  if (n < 1 || n > a->layout->backend->device_count() || a->layout->devices().size() != 1 ||
      a->shards.empty() || !a->shards[0].buffer->is_host())
    return nullptr;
  auto out = std::make_shared<ArrayData>();
  out->type = a->type;
  out->type.shape.insert(out->type.shape.begin(), n);
  DeviceMesh mesh{{{"stack"}, {n}}, {}};
  for (std::int64_t d = 0; d < n; ++d) mesh.devices.push_back(static_cast<int>(d));
  Layout layout{MeshRef(std::move(mesh)), Spec::cut(0, "stack"), false, a->layout->backend};
  out->layout = intern(std::move(layout));
  // In the logical accounting each device is charged its own copy; physically there is one block.
  const Shard& block = a->shards.at(0);
  BufferPtr view = Buffer::share(block.buffer);
  view->charge(out->layout, a->type.bytes());
  out->shards.assign(out->layout->shards(), {view, block.offset});
  out->uniform = true;
  out->pending = a->pending;
  return out;
}

ArrayDataPtr row_view(const ArrayDataPtr& a, std::int64_t i) {
  if (a->type.shape.empty() || i < 0 || i >= a->type.shape[0] || a->shards.empty() ||
      !a->shards[0].buffer->is_host())
    return nullptr;
  Type row = a->type;
  row.shape.erase(row.shape.begin());
  const std::size_t bytes = static_cast<std::size_t>(row.bytes());
  const Layout& layout = *a->layout;
  // All processes must take the same path, whichever of them has the row.
  if (layout.devices().size() > 1 && processes::count() > 1) return nullptr;
  ArrayDataPtr out;
  if (layout.devices().size() == 1) {
    const Shard& s = a->shards.at(0);
    out = single(row, place_of_whole(a->layout), s.buffer,
                 s.offset + static_cast<std::size_t>(i) * bytes);
  } else {
    if (layout.spec.dims().size() > 1) return nullptr;
    spmd::Blocks blocks = blocks_of(a->type, layout);
    std::int64_t rows = blocks.block()[0];
    for (std::int64_t p = 0; p < blocks.positions(); ++p) {
      if (blocks.block_of(p) != i / rows || layout.shard_at(p) < 0) continue;
      const Shard& s = a->shards.at(static_cast<std::size_t>(layout.shard_at(p)));
      // Uncommitted, so that rows of one array can be combined although they are on several
      // devices.
      LayoutPtr one =
          intern(on_device(layout.devices()[static_cast<std::size_t>(p)], false, layout.backend));
      out = single(row, one, s.buffer, s.offset + static_cast<std::size_t>(i % rows) * bytes);
      break;
    }
  }
  if (out) out->pending = a->pending;
  return out;
}

BlockWithRow block_with_row(const ArrayDataPtr& a, std::int64_t i) {
  const Layout& layout = *a->layout;
  if (a->type.shape.empty() || i < 0 || i >= a->type.shape[0] || a->shards.empty() ||
      a->shards[0].buffer->is_host() || layout.devices().size() == 1 || processes::count() > 1 ||
      layout.spec.dims().size() != 1)
    return {};
  const spmd::Blocks blocks = blocks_of(a->type, layout);
  const std::int64_t rows = blocks.block()[0];
  for (std::int64_t p = 0; p < blocks.positions(); ++p) {
    if (blocks.block_of(p) != i / rows || layout.shard_at(p) < 0) continue;
    const Shard& s = a->shards.at(static_cast<std::size_t>(layout.shard_at(p)));
    LayoutPtr one =
        intern(on_device(layout.devices()[static_cast<std::size_t>(p)], false, layout.backend));
    ArrayDataPtr block = single(Type(a->type.dtype, blocks.block()), one, s.buffer, s.offset);
    block->pending = a->pending;
    return {std::move(block), i % rows};
  }
  return {};
}

}  // namespace tessera::inline v0::runtime

#include "runtime/host/arrays.h"

#include "base/box_copy.h"
#include "runtime/backend.h"
#include "runtime/buffer.h"
#include "runtime/gathered_reads.h"
#include "runtime/host/copies.h"
#include "spmd/place/blocks.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace tessera::inline v0::runtime {

namespace {

// A box of the whole array.
struct Box {
  Shape start, extent;
};
Box box_of(std::int64_t block, const Shape& extent, const Shape& whole) {
  Box box{extent, extent};
  for (std::size_t d = extent.size(); d-- > 0;) {
    const std::int64_t grid = extent[d] ? whole[d] / extent[d] : 1;
    box.start[d] = block % grid * extent[d];
    block /= grid;
  }
  return box;
}

// The intersection of a source block and a target block.
struct BlockPart {
  std::int64_t from;  // number of the source block
  Box box;            // in the whole array
};
// The parts of source blocks that make up a target box. Source blocks have equal size, so those
// that overlap the box are consecutive along each dimension.
std::vector<BlockPart> pieces_of(const Box& target, const Shape& source_block, const Shape& whole) {
  const std::size_t rank = whole.size();
  std::vector<BlockPart> pieces;
  Shape first = whole, last = whole, at = whole;
  for (std::size_t d = 0; d < rank; ++d) {
    if (target.extent[d] == 0) return pieces;
    at[d] = first[d] = target.start[d] / source_block[d];
    last[d] = (target.start[d] + target.extent[d] - 1) / source_block[d];
  }
  for (;;) {
    BlockPart piece{0, target};
    for (std::size_t d = 0; d < rank; ++d) {
      piece.from = piece.from * (whole[d] / source_block[d]) + at[d];
      const std::int64_t low = std::max(target.start[d], at[d] * source_block[d]);
      const std::int64_t high =
          std::min(target.start[d] + target.extent[d], (at[d] + 1) * source_block[d]);
      piece.box.start[d] = low;
      piece.box.extent[d] = high - low;
    }
    pieces.push_back(std::move(piece));
    std::size_t d = rank;
    while (d > 0 && at[d - 1] == last[d - 1]) --d, at[d] = first[d];
    if (d == 0) return pieces;
    ++at[d - 1];
  }
}

// The offset of a box in a dense block that contains it.
std::int64_t offset_in(const Box& box, const Box& block, const Shape& strides) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < strides.size(); ++d)
    offset += (box.start[d] - block.start[d]) * strides[d];
  return offset;
}
// Whether the box is contiguous in a dense block that contains it.
bool is_run(const Box& box, const Box& block) {
  bool inside = false;
  for (std::size_t d = 0; d < box.extent.size(); ++d) {
    if (inside && box.extent[d] != block.extent[d]) return false;
    inside = inside || box.extent[d] > 1;
  }
  return true;
}

// Blocks of equal size in row-major order, with a shard that holds each.
struct Source {
  Shape block;
  std::vector<Shard> holders;
};
Source source_of(const ArrayData& a, bool same_platform) {
  BufferPtr whole;
  if (a.pending) a.pending->wait();
  const std::byte* bytes =
      same_platform && !is_gathered(a) ? dense_view(a, whole) : dense_bytes(a, whole);
  if (bytes) return {a.type.shape, {{whole, static_cast<std::size_t>(bytes - whole->host_data())}}};
  const spmd::Blocks blocks(a.type, *a.layout->mesh, a.layout->spec);
  Source source{blocks.block(), std::vector<Shard>(static_cast<std::size_t>(blocks.count()))};
  for (std::size_t k = 0; k < a.shards.size(); ++k)
    source.holders[static_cast<std::size_t>(blocks.block_of(a.layout->place(k)))] = a.shards[k];
  return source;
}

[[noreturn]] void refuse_elsewhere(const Type& type, const Layout& to) {
  Message("device_put")
      .problem("blocks of the array " + to_string(type) +
               " that are needed here lie on devices of other processes")
      .rule("a process places what it has")
      .advice(to.devices().size() == 1
                  ? "process_allgather(x) gathers the whole in every process"
                  : "jit([](Array x) { return x; }, {.out_shardings = ...}) moves blocks between "
                    "processes")
      .raise<ShardingError>();
}

// For each target block: a view of a source block if it is contiguous there, else a copy in new
// memory, assembled directly from the source blocks.
std::vector<Shard> blocks_from(const Source& source, const Type& type, const spmd::Blocks& target,
                               const Layout& layout) {
  const Shape& whole = type.shape;
  const std::int64_t element = size_of(type.dtype);
  const Shape from_strides = byte_strides(source.block, element),
              to_strides = byte_strides(target.block(), element);
  std::vector<Shard> blocks;
  std::deque<BoxCopy> boxes;
  std::vector<PlacedBox> copies;
  std::vector<std::int64_t> places;  // of copies, in the new memory
  std::int64_t copied = 0;
  std::vector<bool> wanted(static_cast<std::size_t>(target.count()), layout.everywhere);
  for (const std::int64_t p : layout.here)
    wanted[static_cast<std::size_t>(target.block_of(p))] = true;
  for (std::int64_t t = 0; t < target.count(); ++t) {
    if (!wanted[static_cast<std::size_t>(t)]) {
      blocks.emplace_back();
      continue;
    }
    const Box to = box_of(t, target.block(), whole);
    const std::vector<BlockPart> pieces = pieces_of(to, source.block, whole);
    for (const BlockPart& piece : pieces)
      if (!source.holders[static_cast<std::size_t>(piece.from)].buffer)
        refuse_elsewhere(type, layout);
    if (pieces.empty()) {  // no elements
      blocks.push_back(source.holders[0]);
      continue;
    }
    if (pieces.size() == 1) {
      const Box from = box_of(pieces[0].from, source.block, whole);
      if (is_run(to, from)) {
        const Shard& holder = source.holders[static_cast<std::size_t>(pieces[0].from)];
        blocks.push_back({holder.buffer, holder.offset + static_cast<std::size_t>(
                                                             offset_in(to, from, from_strides))});
        continue;
      }
    }
    for (const BlockPart& piece : pieces) {
      const Box from = box_of(piece.from, source.block, whole);
      const Shard& holder = source.holders[static_cast<std::size_t>(piece.from)];
      copies.push_back(
          {&boxes.emplace_back(piece.box.extent, from_strides, to_strides, element),
           {holder.buffer->host_data() + holder.offset + offset_in(piece.box, from, from_strides),
            nullptr}});
      places.push_back(copied + offset_in(piece.box, to, to_strides));
    }
    blocks.push_back({nullptr, static_cast<std::size_t>(copied)});
    copied += target.block_bytes();
  }
  if (copies.empty()) return blocks;
  const BufferPtr memory = Buffer::allocate(static_cast<std::size_t>(copied));
  for (std::size_t i = 0; i < copies.size(); ++i)
    copies[i].way.to = memory->host_data() + places[i];
  copy_all(copies);
  for (std::size_t t = 0; t < blocks.size(); ++t)
    if (wanted[t] && !blocks[t].buffer) blocks[t].buffer = memory;
  return blocks;
}

}  // namespace

ArrayDataPtr place_on_host(const ArrayData& a, const LayoutPtr& layout) {
  const spmd::Blocks target(a.type, *layout->mesh, layout->spec);
  const std::vector<Shard> blocks =
      blocks_from(source_of(a, a.layout->backend == layout->backend), a.type, target, *layout);
  auto out = std::make_shared<ArrayData>();
  out->type = a.type;
  out->layout = layout;
  // The new layout's devices are charged by buffers of its own. If all blocks are in one buffer, a
  // single buffer is charged, so that they can be read as one array; otherwise there is one per
  // device.
  const auto block_of = [&](std::size_t k) -> const Shard& {
    return blocks[static_cast<std::size_t>(target.block_of(layout->place(k)))];
  };
  bool one = layout->shards() > 0;
  for (std::size_t k = 0; k < layout->shards(); ++k)
    one = one && block_of(k).buffer == block_of(0).buffer;
  const auto charged = [&](const BufferPtr& memory, const LayoutPtr& to) {
    BufferPtr b = Buffer::share(memory);
    b->charge(to, target.block_bytes());
    return b;
  };
  const BufferPtr shared = one ? charged(block_of(0).buffer, layout) : nullptr;
  for (std::size_t k = 0; k < layout->shards(); ++k) {
    const Shard& b = block_of(k);
    const int device = layout->devices()[static_cast<std::size_t>(layout->place(k))];
    out->shards.push_back(
        {one ? shared : charged(b.buffer, intern(on_device(device, true))), b.offset});
  }
  return out;
}

void read_on_host(const spmd::Blocks& blocks, std::span<const Shard* const> from,
                  std::byte* whole) {
  const BoxCopy copy = blocks.gather();
  std::vector<PlacedBox> copies;
  for (std::size_t b = 0; b < from.size(); ++b)
    copies.push_back({&copy,
                      {from[b]->buffer->host_data() + from[b]->offset,
                       whole + blocks.offset_of(static_cast<std::int64_t>(b))}});
  copy_all(copies);
}

}  // namespace tessera::inline v0::runtime

// Partitions whole arrays into blocks and reassembles them, on the host.
#include "spmd/region/reference.h"

#include <cstring>

namespace tessera::inline v0::spmd {

namespace {
// Calls `copy` for each element with its offsets in the whole and in the block.
template <class Copy>
void each_element(const HostArray& whole, const Shape& block, const Shape& start, Copy&& copy) {
  Shape strides = whole.shape.strides(), own = block.strides();
  std::int64_t size = size_of(whole.dtype);
  for_each_index(block, [&](const Shape& index) {
    Shape at = index;
    for (int d = 0; d < at.rank(); ++d) at[d] += start[d];
    copy(flat_index(at, strides) * size, flat_index(index, own) * size);
  });
}
}  // namespace

HostArray block_of(const HostArray& whole, const Spec& spec, const MeshShape& mesh,
                   std::int64_t device) {
  HostArray block(whole.dtype, block_shape(whole.shape, spec, mesh));
  each_element(whole, block.shape, block_start(block.shape, spec, mesh, device),
               [&](std::int64_t from, std::int64_t to) {
                 std::memcpy(block.bytes + to, whole.bytes + from,
                             static_cast<std::size_t>(size_of(whole.dtype)));
               });
  return block;
}

HostArray assemble(std::span<const HostArray> blocks, const Spec& spec, const MeshShape& mesh) {
  HostArray whole(blocks[0].dtype, whole_shape(blocks[0].shape, spec, mesh));
  for (std::int64_t d = mesh.size(); d-- > 0;) {
    const HostArray& block = blocks[static_cast<std::size_t>(d)];
    each_element(whole, block.shape, block_start(block.shape, spec, mesh, d),
                 [&](std::int64_t to, std::int64_t from) {
                   std::memcpy(whole.bytes + to, block.bytes + from,
                               static_cast<std::size_t>(size_of(whole.dtype)));
                 });
  }
  return whole;
}

}  // namespace tessera::inline v0::spmd

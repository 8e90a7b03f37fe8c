// Arrays of the CPU's devices, which share host memory: shards are views where they can be, and
// copies use all workers.
#pragma once

#include "runtime/array_data.h"

#include <cstddef>
#include <span>

namespace tessera::inline v0::spmd {
class Blocks;
}  // namespace tessera::inline v0::spmd

namespace tessera::inline v0::runtime {

/// As Backend::place.
ArrayDataPtr place_on_host(const ArrayData& a, const LayoutPtr& layout);
/// As Backend::read.
void read_on_host(const spmd::Blocks& blocks, std::span<const Shard* const> from, std::byte* whole);

}  // namespace tessera::inline v0::runtime

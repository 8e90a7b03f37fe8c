// Reads of arrays held by several processes, as if they were in one process: TESSERA_GATHER_READS.
#pragma once

#include "runtime/array_data.h"

namespace tessera::inline v0::runtime {

/// Whether gathering is enabled and some process lacks a part of the array. Equal in all processes.
bool is_gathered(const ArrayData& a);
/// The whole array, dense. All processes must call it for the same arrays in the same order.
BufferPtr gather(const ArrayData& a);

}  // namespace tessera::inline v0::runtime

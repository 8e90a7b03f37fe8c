// Reads of what several processes hold, as if it were one process's: TESSERA_GATHER_READS.
#pragma once

#include "runtime/array_data.h"

namespace tessera::inline v0::runtime {

/// Whether it is asked for, and some process lacks a part of the array: the same in all processes.
bool is_gathered(const ArrayData& a);
/// The dense whole. All processes read the array, in the order of their other reads.
BufferPtr gather(const ArrayData& a);

}  // namespace tessera::inline v0::runtime

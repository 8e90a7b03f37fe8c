// Who holds how much array memory. Counters only; nothing here allocates or blocks.
#pragma once

#include "runtime/array_data.h"

#include <cstdint>

namespace tessera::inline v0::runtime {

inline constexpr int kMaxDevices = 4096;

/// Adds to the bytes and arrays of the devices of the layout that are this process's.
void count_devices(const Layout& layout, std::int64_t bytes, std::int64_t arrays);
/// Adds to the bytes that the process holds.
void count_physical(std::int64_t bytes);
std::int64_t physical_live();
/// Arrays alive on devices `first` and after.
std::int64_t arrays_from(int first);

}  // namespace tessera::inline v0::runtime

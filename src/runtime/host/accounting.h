// Accounting of array memory. Only counters: nothing here allocates or blocks.
#pragma once

#include "runtime/array_data.h"

#include <cstdint>

namespace tessera::inline v0::runtime {

inline constexpr int kMaxDevices = 4096;

/// Adds to the bytes and arrays of those devices of the layout that belong to this process.
void count_devices(const Layout& layout, std::int64_t bytes, std::int64_t arrays);
/// Adds to the bytes that the process holds.
void count_physical(std::int64_t bytes);
std::int64_t physical_live();
/// The number of live arrays on devices with ids >= `first`.
std::int64_t arrays_from(int first);

}  // namespace tessera::inline v0::runtime

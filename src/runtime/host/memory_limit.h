// The available memory.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::inline v0::runtime {

/// The number of bytes that the process can use at most: RAM plus swap, or the limit of its control
/// group. A process that exceeds it would be killed without an error.
std::int64_t memory_limit();

/// A number of bytes as text: "512 B", "15.0 KiB", "23.4 GiB".
std::string bytes_text(double bytes);

}  // namespace tessera::inline v0::runtime

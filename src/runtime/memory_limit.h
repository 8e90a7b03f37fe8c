// How much memory there is.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::inline v0::runtime {

/// Bytes that the process can have at most: the machine's memory with its swap space, or the limit
/// of its control group. What asks for more would be killed, and not told.
std::int64_t memory_limit();

/// "512 B", "1.5 KiB", "23.4 GiB".
std::string bytes_text(double bytes);

}  // namespace tessera::inline v0::runtime

// Formats figures with three digits and a unit.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::inline v0::explain {

/// For example "0 B", "512 B", "12.6 MB"; units are powers of 1000.
std::string bytes_text(double bytes);
/// For example "1.23 Gflop".
std::string flops_text(double flops);
/// For example "0 s", "12.3 us", "1.2 ms".
std::string seconds_text(double seconds);

}  // namespace tessera::inline v0::explain

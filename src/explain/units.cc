#include "explain/units.h"

#include <fmt/format.h>

#include <array>

namespace tessera::inline v0::explain {

namespace {
std::string scaled(double x, const char* unit) {
  static constexpr std::array<const char*, 7> kPrefixes{"", "k", "M", "G", "T", "P", "E"};
  std::size_t power = 0;
  // From 999.5 on, a scaled value would be printed as 1000.
  while (x >= (power == 0 ? 1000 : 999.5) && power + 1 < kPrefixes.size()) {
    x /= 1000;
    ++power;
  }
  if (power == 0) return fmt::format("{:.0f} {}", x, unit);
  return fmt::format("{:.{}f} {}{}", x, x < 9.995 ? 2 : x < 99.95 ? 1 : 0, kPrefixes[power], unit);
}
}  // namespace

std::string bytes_text(double bytes) { return scaled(bytes, "B"); }
std::string flops_text(double flops) { return scaled(flops, "flop"); }

std::string seconds_text(double seconds) {
  if (seconds == 0) return "0 s";
  const char* unit = "s";
  for (const char* smaller : {"ms", "us", "ns"}) {
    if (seconds >= 0.9995) break;
    seconds *= 1000;
    unit = smaller;
  }
  return fmt::format("{:.{}f} {}", seconds, seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0, unit);
}

}  // namespace tessera::inline v0::explain

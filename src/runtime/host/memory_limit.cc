#include "runtime/host/memory_limit.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace tessera::inline v0::runtime {
namespace {

// The limit in a control group file; infinite if it says "max" or does not exist.
double limit_in(const char* path) {
  double limit = 0;
  std::ifstream(path) >> limit;
  return limit > 0 ? limit : std::numeric_limits<double>::infinity();
}

std::int64_t read_limit() {
  struct sysinfo info = {};
  sysinfo(&info);
  const double unit = info.mem_unit;
  const double ram = static_cast<double>(info.totalram) * unit,
               swap = static_cast<double>(info.totalswap) * unit;
  const double group = std::min(limit_in("/sys/fs/cgroup/memory.max"),
                                limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
  return static_cast<std::int64_t>(std::min(ram, group) + swap);
}

}  // namespace

std::int64_t memory_limit() {
  static const std::int64_t limit = read_limit();
  return limit;
}

std::string bytes_text(double bytes) {
  if (bytes < 10240) return fmt::format("{:.0f} B", bytes);
  const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  for (bytes /= 1024; bytes >= 10240 && unit < 5; ++unit) bytes /= 1024;
  return fmt::format("{:.1f} {}", bytes, units[unit]);
}

}  // namespace tessera::inline v0::runtime

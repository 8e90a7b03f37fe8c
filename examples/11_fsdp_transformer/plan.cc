#include "11_fsdp_transformer/plan.h"

#include <cstdio>
#include <map>
#include <string>

namespace fsdp_transformer {

void print_plan(const tessera::Plan& plan) {
  struct Total {
    std::int64_t times = 0, bytes = 0;
  };
  std::map<std::string, Total> totals;
  for (const tessera::PlannedCollective& c : plan.collectives) {
    std::string name = c.kind + " over";
    for (const std::string& axis : c.axes) name += " '" + axis + "'";
    totals[name].times += c.times;
    totals[name].bytes += c.total_bytes();
  }
  std::printf("%s", summary(plan).c_str());
  for (const auto& [name, total] : totals)
    std::printf("    %-32s %4lld times, %9.1f kB a device\n", name.c_str(),
                static_cast<long long>(total.times), static_cast<double>(total.bytes) / 1e3);
}

}  // namespace fsdp_transformer

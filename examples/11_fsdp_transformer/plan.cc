#include "11_fsdp_transformer/plan.h"

#include <cstdio>
#include <map>
#include <string>

namespace fsdp_transformer {

void print_plan(const tessera::Lowered& program) {
  struct Total {
    std::int64_t times = 0, bytes = 0;
  };
  std::map<std::string, Total> totals;
  for (const tessera::CollectiveUse& use : program.collectives()) {
    std::string name = use.op + " over";
    for (const std::string& axis : use.axes) name += " '" + axis + "'";
    totals[name].times += use.times;
    totals[name].bytes += use.bytes;
  }
  if (totals.empty()) std::printf("  nothing is exchanged\n");
  for (const auto& [name, total] : totals)
    std::printf("  %-34s %4lld times, %9.1f kB a device\n", name.c_str(),
                static_cast<long long>(total.times), static_cast<double>(total.bytes) / 1e3);
}

}  // namespace fsdp_transformer

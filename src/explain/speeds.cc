#include "explain/speeds.h"

#include <fmt/format.h>

#include <cmath>

namespace tessera::inline v0::explain {

void check_speeds(const char* what, const PlanOptions& options, const SourceLoc& loc) {
  Message m(what);
  bool wrong = false;
  const auto speed = [&](const char* name, double value) {
    if (value > 0 && std::isfinite(value)) return;
    m.offender(fmt::format("{} is {}", name, value));
    wrong = true;
  };
  const auto link = [&](const std::string& name, const LinkSpeed& l) {
    if (l.latency >= 0 && std::isfinite(l.latency) && l.bandwidth > 0 && std::isfinite(l.bandwidth))
      return;
    m.offender(fmt::format("{} has a latency of {} s and {} bytes a second", name, l.latency,
                           l.bandwidth));
    wrong = true;
  };
  speed("peak_flops", options.peak_flops);
  speed("memory_bandwidth", options.memory_bandwidth);
  link("other_links", options.other_links);
  link("between_machines", options.between_machines);
  for (const auto& [axis, l] : options.links) link("links['" + axis + "']", l);
  if (wrong)
    m.problem("a plan has no times at these speeds")
        .rule("a latency is 0 or more, all else is more than 0, and none is infinite")
        .from(loc)
        .advice("calibrate_links measures them, load_links reads what it wrote")
        .raise<ShardingError>();
}

}  // namespace tessera::inline v0::explain

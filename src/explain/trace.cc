// Exports a plan's timeline as a Chrome trace.
#include "base/message.h"

#include <tessera/detail/input_file.h>
#include <tessera/detail/replace_file.h>
#include <tessera/plan.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace tessera::inline v0 {

namespace {

using Json = nlohmann::ordered_json;

Json named(const char* what, int process, int row, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", row}, {"args", {{"name", name}}}};
}

}  // namespace

std::string to_trace(const Plan& plan) {
  Json events = Json::array();
  for (std::size_t i = 0; i < plan.timeline.size(); ++i) {
    const PlannedDevices& devices = plan.timeline[i];
    const int process = static_cast<int>(i);
    const std::string last = std::to_string(devices.first + devices.count - 1);
    events.push_back(named("process_name", process, 0,
                           devices.count == 1 ? plan.name + ", device " + last
                                              : plan.name + ", devices " +
                                                    std::to_string(devices.first) + " to " + last));
    std::vector<std::string> lanes{"compute"};
    for (const PlannedSpan& s : devices.spans)
      if (std::find(lanes.begin(), lanes.end(), s.lane) == lanes.end()) lanes.push_back(s.lane);
    for (std::size_t k = 0; k < lanes.size(); ++k)
      events.push_back(
          named("thread_name", process, static_cast<int>(k), k == 0 ? "work" : "over " + lanes[k]));
    for (const PlannedSpan& s : devices.spans) {
      const auto row = std::find(lanes.begin(), lanes.end(), s.lane) - lanes.begin();
      events.push_back({{"name", s.name},
                        {"cat", row == 0 ? "work" : "communication"},
                        {"ph", "X"},
                        {"pid", process},
                        {"tid", row},
                        {"ts", s.start * 1e6},
                        {"dur", s.seconds * 1e6},
                        {"args", {{"line", s.line}}}});
    }
  }
  const Json trace{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  // Names given by the user may not be valid UTF-8.
  return trace.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void save_trace(const Plan& plan, const std::string& path, std::source_location loc) {
  const std::string trace = to_trace(plan);
  const std::array<std::string_view, 1> parts{trace};
  const std::string problem = detail::replace_file(path, parts);
  if (!problem.empty())
    Message("save_trace")
        .problem("'" + detail::shown_path(path) + "' cannot be written: " + problem)
        .rule("the trace is one file")
        .from(loc)
        .advice("a path in a folder where files may be written")
        .raise<IoError>();
}

}  // namespace tessera::inline v0

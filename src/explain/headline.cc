// Summarises where the time of a plan goes.
#include "explain/grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tessera::inline v0 {

namespace {

std::string percent(double part, double whole) {
  const double share = 100 * part / whole;
  if (share > 99.5 && part < whole) return "more than 99 %";
  return share < 0.5 ? "less than 1 %" : fmt::format("{:.0f} %", share);
}

std::string at_line(const std::string& line) { return line.empty() ? "" : " at " + line; }

// The costliest of several items and its time.
struct Most {
  std::string name;
  double seconds = 0;
};
Most most_of(const std::map<std::string, double>& seconds) {
  Most most;
  for (const auto& [name, sum] : seconds)
    if (sum > most.seconds) most = {name, sum};
  return most;
}

// For example "all_gather over 'data' for dot_general at model.cc:12".
Most most_communication(const Plan& p) {
  std::map<std::string, double> seconds;
  for (const PlannedCollective& c : p.collectives)
    seconds[c.kind + " over " + explain::axes_text(c.axes) + " for " + c.op + at_line(c.line)] +=
        c.total_seconds();
  return most_of(seconds);
}

Most most_work(const Plan& p) {
  // Consecutive computation of one line forms one span, named after its longest operation.
  std::map<std::string, double> seconds;
  std::map<std::string, const PlannedSpan*> longest;
  for (const PlannedDevices& d : p.timeline)
    for (const PlannedSpan& s : d.spans) {
      if (s.lane != "compute") continue;
      const std::string& key = s.line.empty() ? s.name : s.line;
      seconds[key] += s.seconds;
      const PlannedSpan*& known = longest[key];
      if (!known || s.seconds > known->seconds) known = &s;
    }
  Most most = most_of(seconds);
  if (const auto it = longest.find(most.name); it != longest.end())
    most.name = it->second->name + at_line(it->second->line);
  return most;
}

}  // namespace

std::string headline(const Plan& p) {
  const double all = p.seconds();
  if (!(all > 0)) return "";
  std::string text;
  // For example "57 % of the predicted time is communication, the largest part of it all_reduce
  // over 'data' (22 %)".
  const auto add = [&](double seconds, const char* what, const Most& most) {
    if (!(seconds > 0)) return;
    text += text.empty() ? percent(seconds, all) + " of the predicted time is "
                         : "; " + percent(seconds, all) + " is ";
    text += what;
    if (most.seconds > 0)
      text += ", the largest part of it " + most.name + " (" + percent(most.seconds, all) + ")";
  };
  const auto communication = [&] {
    add(p.communication_seconds, "communication", most_communication(p));
  };
  const auto work = [&] { add(p.compute_seconds, "work", most_work(p)); };
  if (p.communication_seconds >= p.compute_seconds) {
    communication();
    work();
  } else {
    work();
    communication();
  }
  text[0] = text[0] == 'm' ? 'M' : text[0];
  return text + ".";
}

}  // namespace tessera::inline v0

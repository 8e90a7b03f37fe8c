// Renders plans as tables for the terminal.
#include "explain/grouped.h"
#include "explain/table.h"
#include "explain/units.h"

#include <algorithm>
#include <map>
#include <ostream>

namespace tessera::inline v0 {

// Defaulted here, because a comparison that is defaulted in its class is checked by the compiler in
// every file of a user.
bool PlannedAxis::operator==(const PlannedAxis&) const = default;
bool PlannedEnd::operator==(const PlannedEnd&) const = default;
bool PlannedValue::operator==(const PlannedValue&) const = default;
bool PlannedCollective::operator==(const PlannedCollective&) const = default;
bool PlannedResult::operator==(const PlannedResult&) const = default;
bool PlannedWhole::operator==(const PlannedWhole&) const = default;
bool PlannedEquation::operator==(const PlannedEquation&) const = default;
bool PlannedStep::operator==(const PlannedStep&) const = default;
bool PlannedLive::operator==(const PlannedLive&) const = default;
bool PlannedSpan::operator==(const PlannedSpan&) const = default;
bool PlannedDevices::operator==(const PlannedDevices&) const = default;
bool Plan::operator==(const Plan&) const = default;

namespace explain {

std::vector<Grouped> grouped(const Plan& plan) {
  std::vector<Grouped> groups;
  std::map<std::string, std::size_t> known;
  for (const PlannedCollective& c : plan.collectives) {
    std::string key = c.line + '\n' + c.op + '\n' + c.kind + '\n' + c.type + '\n' + c.from + '\n' +
                      c.to + '\n' + std::to_string(c.bytes) + (c.in_while ? "w" : "") +
                      (c.in_branch ? "b" : "");
    for (const std::string& axis : c.axes) key += '\n' + axis;
    for (const PlannedValue& v : c.values) key += '\n' + v.type + ' ' + v.line;
    const auto [it, fresh] = known.emplace(std::move(key), groups.size());
    if (fresh) groups.push_back({&c, 0});
    groups[it->second].times += c.times;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Grouped& a, const Grouped& b) { return a.seconds() > b.seconds(); });
  return groups;
}

std::string axes_text(const std::vector<std::string>& axes) {
  std::string s;
  for (const std::string& axis : axes) s += (s.empty() ? "'" : ", '") + axis + "'";
  return s;
}

std::string moves_text(const PlannedCollective& c) {
  if (c.from.empty()) return "";
  return c.from + " -> " + c.to;
}

}  // namespace explain

namespace {

constexpr std::size_t kMostRows = 24;

std::string bytes(std::int64_t n) { return explain::bytes_text(static_cast<double>(n)); }

std::string more(std::size_t all, const char* what) {
  return all <= kMostRows ? ""
                          : "  and " + std::to_string(all - kMostRows) + " more " + what + "\n";
}

// The share of each axis, if several axes or several processes communicate.
std::string axes_of(const Plan& p) {
  std::string s;
  int several = 0;
  for (const PlannedAxis& a : p.axes) {
    if (a.seconds == 0) continue;
    several += a.processes > 1 ? 2 : 1;
    s += "    along '" + a.name + "' " + explain::seconds_text(a.seconds) + ": " +
         bytes(a.moved_bytes);
    if (a.machines > 1)
      s += ", between " + std::to_string(a.machines) + " machines";
    else if (a.processes > 1)
      s += ", between " + std::to_string(a.processes) + " processes";
    s += "\n";
  }
  return several > 1 ? s : "";
}

std::string collectives_text(const Plan& p) {
  if (p.collectives.empty()) return "\nno collectives\n";
  std::vector<std::vector<std::string>> rows;
  const std::vector<explain::Grouped> groups = explain::grouped(p);
  for (const explain::Grouped& g : groups) {
    if (rows.size() == kMostRows) break;
    const PlannedCollective& c = *g.one;
    std::string times = std::to_string(g.times);
    if (c.in_while) times += " a turn";
    if (c.in_branch) times += " in a branch";
    rows.push_back({explain::seconds_text(g.seconds()), bytes(c.bytes), times, c.kind,
                    explain::axes_text(c.axes), c.type, explain::moves_text(c), c.op, c.line});
  }
  return "\ncollectives, costliest first\n" +
         explain::table(
             {"time", "bytes", "times", "kind", "over", "value", "from -> to", "for", "line"}, rows,
             {true, true, true, false, false, false, false, false, false}) +
         more(groups.size(), "kinds");
}

std::string wholes_text(const Plan& p) {
  if (p.wholes.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const PlannedWhole& w : p.wholes) {
    if (rows.size() == kMostRows) break;
    rows.push_back({bytes(w.bytes), w.name, w.type, w.op, w.line, w.why});
  }
  return "\nwhole on every device\n" +
         explain::table({"bytes", "value", "type", "by", "line", "because"}, rows,
                        {true, false, false, false, false, false}) +
         more(p.wholes.size(), "values");
}

std::string ends_text(const char* title, const std::vector<PlannedEnd>& ends) {
  if (ends.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const PlannedEnd& e : ends) {
    if (rows.size() == kMostRows) break;
    rows.push_back({bytes(e.bytes), e.name, e.type, e.spec, e.part, e.asked ? "asked for" : e.why});
  }
  return std::string("\n") + title + "\n" +
         explain::table({"bytes", "name", "type", "spec", "part", "because"}, rows,
                        {true, false, false, false, false, false}) +
         more(ends.size(), title);
}

}  // namespace

std::string summary(const Plan& p) {
  std::string s = "plan of " + p.name;
  if (!p.mesh.empty()) s += " over " + p.mesh;
  s += ", " + std::to_string(p.devices) + (p.devices == 1 ? " device" : " devices, each") + "\n";
  std::int64_t runs = 0;
  for (const PlannedCollective& c : p.collectives) runs += c.times;
  s += "  work           " + explain::seconds_text(p.compute_seconds) + ": " +
       explain::flops_text(p.flops) + ", " + explain::bytes_text(p.memory_traffic) +
       " read and written\n";
  s += "  communication  " + explain::seconds_text(p.communication_seconds) + ": " +
       bytes(p.moved_bytes) + " received in " + std::to_string(runs) +
       (runs == 1 ? " collective\n" : " collectives\n") + axes_of(p);
  s += "  memory         " + bytes(p.peak_bytes()) + ": arguments " + bytes(p.argument_bytes) +
       ", results " + bytes(p.result_bytes);
  if (p.donated_bytes > 0) s += " (" + bytes(p.donated_bytes) + " in donated arguments)";
  if (p.temporary_bytes >= 0) s += ", temporaries " + bytes(p.temporary_bytes);
  return s + "\n";
}

std::string to_string(const Plan& p) {
  const std::string where = headline(p);
  std::string s = summary(p) + (where.empty() ? "" : "\n" + where + "\n") + collectives_text(p) +
                  wholes_text(p) + ends_text("arguments", p.arguments) +
                  ends_text("results", p.results);
  if (!p.advice.empty()) s += "\n" + p.advice + "\n";
  return s;
}
std::ostream& operator<<(std::ostream& out, const Plan& plan) { return out << to_string(plan); }

}  // namespace tessera::inline v0

// Formats the result of autoshard as a table.
#include <tessera/autoshard.h>

#include "explain/table.h"
#include "explain/units.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace tessera::inline v0 {

namespace {

std::string bytes(std::int64_t n) { return explain::bytes_text(static_cast<double>(n)); }

std::string choices_text(double n) {
  char text[32];
  std::snprintf(text, sizeof text, n < 1e6 ? "%.0f" : "%.1e", n);
  return text;
}

}  // namespace

std::string to_string(const AutoShardings& s) {
  constexpr std::size_t kMostRows = 40;
  std::string out = s.name + " over " + to_string(s.mesh) + "\n";
  out += "  predicted  " + explain::seconds_text(s.seconds) + ", " + bytes(s.peak_bytes()) +
         " a device: arguments " + bytes(s.argument_bytes) + ", results " + bytes(s.result_bytes) +
         ", temporaries " + bytes(s.temporary_bytes);
  if (s.memory_limit > 0) out += "; limit " + bytes(s.memory_limit);
  out += "\n  searched   " + explain::seconds_text(s.search_seconds) + ": " +
         (s.exhaustive ? "all " : std::to_string(s.evaluations) + " of ") +
         choices_text(s.choices) + (s.choices == 1 ? " choice" : " choices");
  if (s.repeats > 0) out += ", with fewer than its " + std::to_string(s.repeats) + " layers";
  out += "\n";

  std::vector<std::vector<std::string>> rows;
  rows.push_back({"found", explain::seconds_text(s.seconds), "1", bytes(s.peak_bytes())});
  for (const AutoshardTemplate& t : s.templates) {
    char times[32];
    std::snprintf(times, sizeof times, "%.3g", s.seconds > 0 ? t.seconds / s.seconds : 1.0);
    rows.push_back({t.name, explain::seconds_text(t.seconds), times,
                    bytes(t.peak_bytes) + (t.fits ? "" : ", too much")});
  }
  out += "\ntemplates, with about their memory\n" +
         explain::table({"specs", "time", "times", "memory"}, rows, {false, true, true, false});
  rows.clear();
  for (const AutoshardGroup& g : s.groups) {
    if (rows.size() == kMostRows) break;
    rows.push_back({bytes(g.bytes), std::to_string(g.arguments), g.type, g.spec, g.name});
  }
  if (!rows.empty())
    out += "\narguments\n" + explain::table({"bytes", "of", "type", "spec", "name"}, rows,
                                            {true, true, false, false, false});
  if (s.groups.size() > kMostRows)
    out += "  and " + std::to_string(s.groups.size() - kMostRows) + " more\n";
  return out;
}

std::ostream& operator<<(std::ostream& out, const AutoShardings& found) {
  return out << to_string(found);
}

}  // namespace tessera::inline v0

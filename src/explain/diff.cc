// Compares two plans.
#include "explain/grouped.h"
#include "explain/units.h"

#include <algorithm>
#include <map>
#include <ostream>

namespace tessera::inline v0 {

namespace {

std::string text_of(const explain::Grouped& g) {
  const PlannedCollective& c = *g.one;
  std::string s = c.kind + " over " + explain::axes_text(c.axes) + " of " + c.type + " for " + c.op;
  if (!c.line.empty()) s += " at " + c.line;
  if (!c.from.empty()) s += ": " + explain::moves_text(c);
  return s + ", " + explain::bytes_text(static_cast<double>(c.bytes));
}

// The number of occurrences of each collective, by its description.
std::map<std::string, std::int64_t> counted(const Plan& p, std::vector<std::string>& order) {
  std::map<std::string, std::int64_t> all;
  for (const explain::Grouped& g : explain::grouped(p)) {
    const std::string text = text_of(g);
    if (!all.count(text)) order.push_back(text);
    all[text] += g.times;
  }
  return all;
}

void placed(const std::vector<PlannedEnd>& before, const std::vector<PlannedEnd>& after,
            std::vector<std::string>& out) {
  std::map<std::string, const PlannedEnd*> was;
  for (const PlannedEnd& e : before) was[e.name] = &e;
  for (const PlannedEnd& e : after) {
    const auto it = was.find(e.name);
    if (it == was.end()) {
      out.push_back(e.name + " is new: " + e.type + " " + e.spec);
      continue;
    }
    const PlannedEnd& b = *it->second;
    was.erase(it);
    if (b.type != e.type || b.spec != e.spec)
      out.push_back(e.name + ": " + (b.type == e.type ? "" : b.type + " ") + b.spec + " -> " +
                    (b.type == e.type ? "" : e.type + " ") + e.spec);
  }
  for (const PlannedEnd& e : before)
    if (was.count(e.name)) out.push_back(e.name + " is gone");
}

}  // namespace

PlanDiff diff(const Plan& before, const Plan& after) {
  PlanDiff d;
  const auto figure = [&](const char* name, auto b, auto a, auto&& text) {
    if (b != a)
      d.figures.push_back({name, text(static_cast<double>(b)), text(static_cast<double>(a))});
  };
  if (before.mesh != after.mesh) d.figures.push_back({"mesh", before.mesh, after.mesh});
  figure("time", before.seconds(), after.seconds(), explain::seconds_text);
  figure("work", before.compute_seconds, after.compute_seconds, explain::seconds_text);
  figure("communication", before.communication_seconds, after.communication_seconds,
         explain::seconds_text);
  figure("operations", before.flops, after.flops, explain::flops_text);
  figure("read and written", before.memory_traffic, after.memory_traffic, explain::bytes_text);
  figure("received", before.moved_bytes, after.moved_bytes, explain::bytes_text);
  figure("memory", before.peak_bytes(), after.peak_bytes(), explain::bytes_text);
  figure("arguments", before.argument_bytes, after.argument_bytes, explain::bytes_text);
  figure("results", before.result_bytes, after.result_bytes, explain::bytes_text);
  figure("donated", before.donated_bytes, after.donated_bytes, explain::bytes_text);
  if (before.temporary_bytes >= 0 && after.temporary_bytes >= 0)
    figure("temporaries", before.temporary_bytes, after.temporary_bytes, explain::bytes_text);

  std::vector<std::string> old_order, new_order;
  const auto was = counted(before, old_order), is = counted(after, new_order);
  const auto missing = [](const std::vector<std::string>& order, const auto& here,
                          const auto& there, std::vector<std::string>& out) {
    for (const std::string& text : order) {
      const auto it = there.find(text);
      const std::int64_t more = here.at(text) - (it == there.end() ? 0 : it->second);
      if (more > 0) out.push_back((more == 1 ? "" : std::to_string(more) + " times ") + text);
    }
  };
  missing(old_order, was, is, d.gone);
  missing(new_order, is, was, d.came);
  placed(before.arguments, after.arguments, d.placed);
  placed(before.results, after.results, d.placed);
  return d;
}

std::string to_string(const PlanDiff& d) {
  if (d.empty()) return "the plans are alike\n";
  std::string s;
  std::size_t width = 0;
  for (const PlanDiff::Figure& f : d.figures) width = std::max(width, f.name.size());
  for (const PlanDiff::Figure& f : d.figures)
    s += f.name + std::string(width - f.name.size() + 2, ' ') + f.before + " -> " + f.after + "\n";
  for (const std::string& text : d.placed) s += "~ " + text + "\n";
  for (const std::string& text : d.gone) s += "- " + text + "\n";
  for (const std::string& text : d.came) s += "+ " + text + "\n";
  return s;
}
std::ostream& operator<<(std::ostream& out, const PlanDiff& d) { return out << to_string(d); }

}  // namespace tessera::inline v0

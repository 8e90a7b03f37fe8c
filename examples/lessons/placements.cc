// Pictures of shardings and plans.
#include "lessons/pictures.h"
#include "lessons/svg.h"

#include <tessera/tessera.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

namespace ts = tessera;
using lesson_svg::Drawing;

namespace {
constexpr std::array kDevices{"#9ec5e8", "#f4c28a", "#a8d8a8", "#e3a9cf",
                              "#d6cf8b", "#b9b3e6", "#f0a8a0", "#9fd8d3"};
}

namespace {

void draw_shardings(const std::string& path,
                    const std::vector<std::pair<std::string, ts::Array>>& arrays, std::size_t most,
                    double wide, double high, double gap) {
  constexpr double kTop = 30;
  const std::size_t across = std::min(most, arrays.size());
  const std::size_t down = (arrays.size() + across - 1) / across;
  Drawing d(double(across) * (wide + gap) + gap, double(down) * (high + kTop + 16) + 8);
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    const double x0 = gap + double(k % across) * (wide + gap);
    const double y0 = 8 + kTop + double(k / across) * (high + kTop + 16);
    d.text(
        x0, y0 - 9, arrays[k].first,
        "font-family=\"monospace\" font-size=\"" + lesson_svg::number(most > 2 ? 13 : 10) + "\"");
    const auto [rows, columns] = arrays[k].second.shape().unpack<2>();
    // The devices of each part, by its corner and its end.
    std::map<std::array<std::int64_t, 4>, std::vector<std::int64_t>> parts;
    for (const ts::Shard& s : arrays[k].second.shards()) {
      const ts::Range &r = s.index[0], &c = s.index[1];
      parts[{r.start.value_or(0), c.start.value_or(0), r.stop.value_or(rows),
             c.stop.value_or(columns)}]
          .push_back(s.device.id);
    }
    for (const auto& [box, devices] : parts) {
      const double x = x0 + wide * double(box[1]) / double(columns);
      const double y = y0 + high * double(box[0]) / double(rows);
      const double w = wide * double(box[3] - box[1]) / double(columns);
      const double h = high * double(box[2] - box[0]) / double(rows);
      const auto first = static_cast<std::size_t>(devices[0]);
      d.rect(x, y, w, h, kDevices[first % kDevices.size()], "stroke=\"#444\"");
      std::string names;
      for (std::int64_t id : devices) names += (names.empty() ? "" : ",") + std::to_string(id);
      if (devices.size() > 4)
        names = std::to_string(devices.front()) + " ... " + std::to_string(devices.back());
      d.text(x + w / 2, y + h / 2 + 4, names, "text-anchor=\"middle\"");
    }
  }
  d.save(path);
}

void draw_timelines(const std::string& path,
                    const std::vector<std::pair<std::string, ts::Plan>>& plans, double left,
                    double wide) {
  constexpr double kEach = 96;
  double longest = 0;
  for (const auto& [name, plan] : plans)
    for (const ts::PlannedDevices& devices : plan.timeline)
      for (const ts::PlannedSpan& s : devices.spans)
        longest = std::max(longest, s.start + s.seconds);
  Drawing d(left + wide + 24, 14 + kEach * double(plans.size()));
  for (std::size_t k = 0; k < plans.size(); ++k) {
    const double y = 14 + kEach * double(k);
    d.text(12, y + 14, plans[k].first, "font-weight=\"bold\"");
    d.text(left - 8, y + 40, "work", "text-anchor=\"end\"");
    d.text(left - 8, y + 66, "communication", "text-anchor=\"end\"");
    if (plans[k].second.timeline.empty()) continue;
    for (const ts::PlannedSpan& s : plans[k].second.timeline[0].spans) {
      const bool work = s.lane == "compute";
      const double x = left + wide * s.start / longest, w = wide * s.seconds / longest;
      d.rect(x, y + (work ? 25 : 51), std::max(w, 0.6), 22, work ? "#9ec5e8" : "#f4a57a",
             "stroke=\"white\" stroke-width=\"0.5\"");
      if (w > 7.5 * double(s.name.size()))
        d.text(x + w / 2, y + (work ? 40 : 66), s.name, "text-anchor=\"middle\" font-size=\"11\"");
    }
  }
  d.save(path);
}

}  // namespace

void save_shardings(const std::string& path,
                    const std::vector<std::pair<std::string, ts::Array>>& arrays) {
  draw_shardings(path, arrays, 3, 200, 150, 24);
  draw_shardings(lesson_svg::narrow(path), arrays, 2, 154, 116, 14);
}

void save_timelines(const std::string& path,
                    const std::vector<std::pair<std::string, ts::Plan>>& plans) {
  draw_timelines(path, plans, 120, 500);
  draw_timelines(lesson_svg::narrow(path), plans, 112, 216);
}

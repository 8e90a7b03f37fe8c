// Draws the timetables of pipelines as text and SVG.
#include <tessera/pipeline.h>

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace tessera::inline v0 {

namespace {

using TickKind = PipelineWork::Kind;

std::string counted_ticks(std::int64_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

std::string title(const PipelineSchedule& s) {
  return fmt::format("{}: {}, {}, {}, {:.1f}% idle", to_string(s.schedule),
                     counted_ticks(s.stages, "stage", "stages"),
                     counted_ticks(s.microbatches, "microbatch", "microbatches"),
                     counted_ticks(s.ticks(), "tick", "ticks"), 100 * s.bubble());
}

struct Colours {
  const char *fill, *text;
};
Colours colours_of(TickKind kind) {
  switch (kind) {
    case TickKind::forward: return {"rgb(128,177,211)", "#222"};
    case TickKind::backward: return {"rgb(253,192,134)", "#222"};
    case TickKind::idle: break;
  }
  return {"#f3f3f3", "#222"};
}

std::string box(double x, double y, double width, double height, TickKind kind) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" fill=\"{}\" "
      "stroke=\"white\" stroke-width=\"2\"/>\n",
      x, y, width, height, colours_of(kind).fill);
}

std::string text(double x, double y, const char* anchor, const char* colour,
                 const std::string& what) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" dy=\"0.35em\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x,
      y, anchor, colour, what);
}

}  // namespace

std::string to_string(const PipelineSchedule& s) {
  const std::size_t letters = std::to_string(std::max<std::int64_t>(s.microbatches, 1) - 1).size();
  std::size_t width =
      std::max(letters + 1, std::to_string(std::max<std::int64_t>(s.ticks(), 1) - 1).size()) + 1;
  const std::size_t margin = fmt::format("stage {} ", s.stages - 1).size();
  std::string out = title(s) + "\n" + fmt::format("{:<{}}", "tick", margin);
  for (std::int64_t t = 0; t < s.ticks(); ++t) out += fmt::format("{:>{}}", t, width);
  for (std::size_t stage = 0; stage < s.work.size(); ++stage) {
    out += "\n" + fmt::format("{:<{}}", fmt::format("stage {}", stage), margin);
    for (const PipelineWork& w : s.work[stage]) {
      const std::string cell =
          w.kind == TickKind::idle
              ? "."
              : fmt::format("{}{}", w.kind == TickKind::forward ? 'F' : 'B', w.microbatch);
      out += fmt::format("{:>{}}", cell, width);
    }
  }
  return out + "\n";
}

std::ostream& operator<<(std::ostream& out, const PipelineSchedule& schedule) {
  return out << to_string(schedule);
}

std::string schedule_svg(const PipelineSchedule& s) {
  const double left = 72, top = 44, row = 30;
  const double digits =
      static_cast<double>(std::to_string(std::max<std::int64_t>(s.microbatches, 1) - 1).size());
  const double column = std::max(26.0, 8 * digits + 12);
  const double width = column * static_cast<double>(s.ticks());
  const double height = row * static_cast<double>(s.stages);
  const double title_width = 7.5 * static_cast<double>(title(s).size());
  const double legend = top + height + 42;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n",
      std::max({left + width, 16 + title_width, left + 260}) + 16, legend + 24);
  out += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  out += fmt::format("<text x=\"16\" y=\"26\" font-weight=\"600\">{}</text>\n", title(s));
  for (std::size_t stage = 0; stage < s.work.size(); ++stage) {
    const double y = top + row * static_cast<double>(stage);
    out += text(left - 10, y + row / 2, "end", "#555", fmt::format("stage {}", stage));
    for (std::size_t t = 0; t < s.work[stage].size(); ++t) {
      const PipelineWork& w = s.work[stage][t];
      const double x = left + column * static_cast<double>(t);
      out += box(x, y, column, row, w.kind);
      if (w.kind != TickKind::idle)
        out += text(x + column / 2, y + row / 2, "middle", colours_of(w.kind).text,
                    std::to_string(w.microbatch));
    }
  }
  // Number every tick if the numbers fit, else every fifth.
  const std::int64_t step = column >= 26 && s.ticks() <= 60 ? 1 : 5;
  out += text(left - 10, top + height + 14, "end", "#555", "tick");
  for (std::int64_t t = 0; t < s.ticks(); t += step)
    out += text(left + column * (static_cast<double>(t) + 0.5), top + height + 14, "middle", "#999",
                std::to_string(t));
  double x = left;
  for (const auto& [kind, name] :
       {std::pair(TickKind::forward, "forward"), std::pair(TickKind::backward, "backward"),
        std::pair(TickKind::idle, "idle")}) {
    out += box(x, legend - 9, 18, 18, kind);
    out += text(x + 24, legend, "start", "#555", name);
    x += 100;
  }
  return out + "</svg>\n";
}

}  // namespace tessera::inline v0

// Draws pictures that show which devices hold which shard of an array.
#include <tessera/sharding.h>

#include "api/devices/mesh_data.h"
#include "base/message.h"
#include "base/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace tessera::inline v0 {
namespace {

/// The contents of a picture: the shards along two dimensions, and the devices that hold each.
struct Grid {
  std::int64_t down = 1, across = 1;      // shards
  std::int64_t height = 1, width = 1;     // elements
  int down_dim = -1, across_dim = -1;     // -1 if the array has no such dimension
  std::vector<std::vector<int>> holders;  // row-major by shard, ids in mesh order
  std::string platform;
  std::string others;  // partitioned dimensions that are not shown
};

// A picture with more shards than this is not useful.
constexpr std::int64_t kMostAcross = 24, kMostDown = 48;

[[noreturn]] void no_picture(std::string problem, std::string rule, std::string advice,
                             const SourceLoc& loc) {
  Message("visualize_sharding")
      .problem(std::move(problem))
      .rule(std::move(rule))
      .from(loc)
      .advice(std::move(advice))
      .raise<ShardingError>();
}

Grid grid_of(const Shape& shape, const Sharding& s, const std::vector<int>& dims,
             const SourceLoc& loc) {
  const InFunction named("visualize_sharding", loc);
  if (s.mesh().empty())
    no_picture("the sharding is of no devices", "a picture shows who holds what",
               "x.sharding() of an array", loc);
  const int rank = shape.rank();
  if (dims.size() != 2 || dims[0] == dims[1] || std::min(dims[0], dims[1]) < 0 ||
      (rank > 2 && std::max(dims[0], dims[1]) >= rank))
    no_picture(fmt::format("dims is {{{}}} for an array of rank {}", fmt::join(dims, ", "), rank),
               "it names two different dimensions, which run down and across",
               rank > 2 ? fmt::format("{{0, {}}}", rank - 1) : "leave it out", loc);
  Grid g;
  if (rank == 1) g.across_dim = 0;
  if (rank >= 2) g.down_dim = dims[0], g.across_dim = dims[1];
  (void)s.shard_shape(shape);  // throws its errors
  const Spec spec = detail::spec_of(s.spec());
  const MeshShape& mesh = *detail::MeshData::of(s.mesh()).ref;
  const auto parts = [&](int d) { return d < 0 ? 1 : mesh.size_of(spec.axes_of(d)); };
  g.down = parts(g.down_dim), g.across = parts(g.across_dim);
  if (g.down > kMostDown || g.across > kMostAcross)
    no_picture(fmt::format("there are {} x {} parts", g.down, g.across),
               fmt::format("a picture shows {} x {} at most", kMostDown, kMostAcross),
               "print sharding.indices(shape), or show fewer axes", loc);
  if (g.down_dim >= 0) g.height = shape[g.down_dim];
  if (g.across_dim >= 0) g.width = shape[g.across_dim];
  g.holders.resize(static_cast<std::size_t>(g.down * g.across));
  for (std::int64_t device = 0; device < mesh.size(); ++device) {
    const auto at = [&](int d) { return d < 0 ? 0 : mesh.index_along(device, spec.axes_of(d)); };
    const auto place = static_cast<std::size_t>(at(g.down_dim) * g.across + at(g.across_dim));
    g.holders[place].push_back(s.mesh().is_abstract()
                                   ? static_cast<int>(device)
                                   : s.devices()[static_cast<std::size_t>(device)].id);
  }
  for (char c : s.devices().empty() ? std::string() : std::string(s.devices()[0].platform))
    g.platform += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (int d = 0; d < rank; ++d) {
    if (d == g.down_dim || d == g.across_dim || spec.axes_of(d).empty()) continue;
    g.others += fmt::format("{}dimension {} is cut by '{}' too", g.others.empty() ? "" : ", ", d,
                            fmt::join(spec.axes_of(d), "', '"));
  }
  return g;
}

/// "0", "0,2", "0-7".
std::string ids_text(const std::vector<int>& ids) {
  std::string s;
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t end = i + 1;
    while (end < ids.size() && ids[end] == ids[end - 1] + 1) ++end;
    if (!s.empty()) s += ',';
    s += std::to_string(ids[i]);
    if (end - i == 2) s += ',' + std::to_string(ids[i + 1]);
    if (end - i > 2) s += '-' + std::to_string(ids[end - 1]);
    i = end;
  }
  return s;
}

bool terminal_with_colours() {
  const std::string term = settings::environment("TERM");
  return isatty(STDOUT_FILENO) == 1 && !term.empty() && term != "dumb" &&
         settings::environment("NO_COLOR").empty();
}

struct Colour {
  int red, green, blue;
};
// Light enough for dark text, and neighbours are easy to tell apart.
constexpr std::array<Colour, 12> kColours{{{141, 211, 199},
                                           {255, 237, 111},
                                           {190, 186, 218},
                                           {251, 148, 134},
                                           {128, 177, 211},
                                           {253, 192, 134},
                                           {179, 222, 105},
                                           {252, 205, 229},
                                           {204, 204, 204},
                                           {204, 160, 204},
                                           {204, 235, 197},
                                           {166, 206, 227}}};
Colour colour_of(const Grid& g, std::int64_t row, std::int64_t column) {
  return kColours[static_cast<std::size_t>(row * g.across + column) % kColours.size()];
}

std::string text_of_cell(const Grid& g, std::int64_t row, std::int64_t column) {
  const std::string ids = ids_text(g.holders[static_cast<std::size_t>(row * g.across + column)]);
  return g.platform.empty() ? ids : g.platform + " " + ids;
}

}  // namespace

std::string visualize_sharding(const Shape& shape, const Sharding& sharding,
                               const VisualizeOptions& options, std::source_location loc) {
  const Grid g = grid_of(shape, sharding, options.dims, loc);
  const bool colours = options.color.value_or(terminal_with_colours());
  std::size_t inner = 0;
  for (std::int64_t i = 0; i < g.down; ++i)
    for (std::int64_t j = 0; j < g.across; ++j)
      inner = std::max(inner, text_of_cell(g, i, j).size());
  inner += 2;
  const auto line = [&](const char* left, const char* between, const char* right) {
    std::string s = left;
    for (std::int64_t j = 0; j < g.across; ++j) {
      if (j) s += between;
      for (std::size_t k = 0; k < inner; ++k) s += "─";
    }
    return s + right + "\n";
  };
  std::string s = line("┌", "┬", "┐");
  for (std::int64_t i = 0; i < g.down; ++i) {
    if (i) s += line("├", "┼", "┤");
    for (std::int64_t j = 0; j < g.across; ++j) {
      const std::string cell = fmt::format("{:^{}}", text_of_cell(g, i, j), inner);
      const Colour c = colour_of(g, i, j);
      s += "│" + (colours ? fmt::format("\033[38;2;0;0;0;48;2;{};{};{}m{}\033[0m", c.red, c.green,
                                        c.blue, cell)
                          : cell);
    }
    s += "│\n";
  }
  s += line("└", "┴", "┘");
  if (!g.others.empty()) s += g.others + "\n";
  return s;
}

std::string visualize_sharding(Operand x, const VisualizeOptions& options) {
  const InFunction named("visualize_sharding", x.loc);
  return visualize_sharding(x.array.shape(), x.array.sharding(), options);
}

namespace {
std::string escaped(std::string_view text) {
  std::string s;
  for (char c : text)
    s += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return s;
}
}  // namespace

std::string sharding_svg(const Shape& shape, const Sharding& sharding,
                         const VisualizeOptions& options, std::source_location loc) {
  const InFunction named("sharding_svg", loc);
  const Grid g = grid_of(shape, sharding, options.dims, loc);
  // Keep the proportions of the array as long as the labels fit.
  std::size_t letters = 0;
  for (std::int64_t i = 0; i < g.down; ++i)
    for (std::int64_t j = 0; j < g.across; ++j)
      letters = std::max(letters, text_of_cell(g, i, j).size());
  const double least_width = 8.0 * static_cast<double>(letters) + 16, least_height = 28;
  const double ratio = static_cast<double>(std::max<std::int64_t>(g.height, 1)) /
                       static_cast<double>(std::max<std::int64_t>(g.width, 1));
  double width = 360, height = std::clamp(360 * ratio, 60.0, 360.0);
  if (ratio > 1) width = std::clamp(360 / ratio, 60.0, 360.0);
  width = std::max(width, least_width * static_cast<double>(g.across));
  height = std::max(height, least_height * static_cast<double>(g.down));
  const double left = g.down_dim < 0 ? 16 : 64, top = 64;
  const double bottom = g.others.empty() ? 16 : 40;
  const double title_width = 7.5 * static_cast<double>(to_string(sharding).size()) + 32;
  std::string s = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n",
      std::max(left + width + 16, title_width), top + height + bottom);
  s += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  s += fmt::format("<text x=\"16\" y=\"22\" font-weight=\"600\">{}</text>\n",
                   escaped(to_string(sharding)));
  if (g.across_dim >= 0)
    s += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#555\">"
        "dimension {}: {}</text>\n",
        left + width / 2, top - 10, g.across_dim, g.width);
  if (g.down_dim >= 0)
    s += fmt::format(
        "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" "
        "text-anchor=\"middle\" fill=\"#555\">dimension {}: {}</text>\n",
        left - 14, top + height / 2, g.down_dim, g.height);
  const double w = width / static_cast<double>(g.across), h = height / static_cast<double>(g.down);
  for (std::int64_t i = 0; i < g.down; ++i)
    for (std::int64_t j = 0; j < g.across; ++j) {
      const double x = left + w * static_cast<double>(j), y = top + h * static_cast<double>(i);
      const Colour c = colour_of(g, i, j);
      s += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" "
          "fill=\"rgb({},{},{})\" stroke=\"white\" stroke-width=\"3\"/>\n"
          "<text x=\"{:.1f}\" y=\"{:.1f}\" dy=\"0.35em\" "
          "text-anchor=\"middle\" fill=\"#222\">{}</text>\n",
          x, y, w, h, c.red, c.green, c.blue, x + w / 2, y + h / 2, text_of_cell(g, i, j));
    }
  if (!g.others.empty())
    s += fmt::format("<text x=\"16\" y=\"{:.1f}\" fill=\"#555\">{}</text>\n", top + height + 24,
                     escaped(g.others));
  return s + "</svg>\n";
}

}  // namespace tessera::inline v0

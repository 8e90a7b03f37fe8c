// Reads link speeds from a file.
#include <tessera/detail/input_file.h>
#include <tessera/plan.h>

#include "base/message.h"

#include <nlohmann/json.hpp>

#include <set>

namespace tessera::inline v0 {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& problem,
                         const SourceLoc& loc) {
  Message("load_links")
      .problem("'" + detail::shown_path(path) + "': " + problem)
      .rule(
          "it holds {\"links\": {axis: {\"latency\": seconds, \"bandwidth\": bytes a second}}} "
          "and, "
          "if they are known, \"peak_flops\" and \"memory_bandwidth\"")
      .from(loc)
      .advice("write it with calibrate_links")
      .raise<Error>();
}

double number(const std::string& path, const nlohmann::json& in, const std::string& key,
              double least, const std::string& what, const SourceLoc& loc) {
  const auto it = in.find(key);
  if (it == in.end() || !it->is_number())
    refuse(path, what + " has no number \"" + key + "\"", loc);
  const double value = it->get<double>();
  if (!(value >= least)) refuse(path, "\"" + key + "\" of " + what + " is " + it->dump(), loc);
  return value;
}

}  // namespace

PlanOptions load_links(const std::string& path, std::source_location line) {
  const SourceLoc loc(line);
  detail::InputFile file(path);
  if (!file.problem().empty())
    Message("load_links")
        .problem("'" + detail::shown_path(path) + "' cannot be read: " + file.problem())
        .rule("speeds are a JSON file, as calibrate_links writes it")
        .from(loc)
        .advice(file.advice())
        .raise<IoError>();
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  if (file.size() > kMost) refuse(path, "it has " + std::to_string(file.size()) + " bytes", loc);
  std::string text(file.size(), '\0');
  if (!file.read(text.data(), text.size())) refuse(path, "it ends early", loc);
  // The JSON parser keeps the last of several members with one name, so duplicates are detected
  // here.
  std::set<std::string> axes;
  std::string member, twice;
  const auto look = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& key) {
    if (event != nlohmann::json::parse_event_t::key) return true;
    if (depth == 1) member = key.get<std::string>();
    if (depth == 2 && member == "links" && !axes.insert(key.get<std::string>()).second)
      twice = key.get<std::string>();
    return true;
  };
  const nlohmann::json j = nlohmann::json::parse(text, look, false);
  if (j.is_discarded() || !j.is_object()) refuse(path, "it is no JSON object", loc);
  const auto links = j.find("links");
  if (links == j.end() || !links->is_object()) refuse(path, "there is no object \"links\"", loc);
  if (!twice.empty()) refuse(path, "axis '" + twice + "' stands there twice", loc);
  PlanOptions options;
  constexpr double kLeast = 1e-30;
  for (const auto& [axis, link] : links->items()) {
    const std::string what = "axis '" + axis + "'";
    if (!link.is_object()) refuse(path, what + " is no object", loc);
    options.links[axis] = {number(path, link, "latency", 0, what, loc),
                           number(path, link, "bandwidth", kLeast, what, loc)};
  }
  if (j.contains("peak_flops"))
    options.peak_flops = number(path, j, "peak_flops", kLeast, "it", loc);
  if (j.contains("memory_bandwidth"))
    options.memory_bandwidth = number(path, j, "memory_bandwidth", kLeast, "it", loc);
  return options;
}

}  // namespace tessera::inline v0

#include "checkpoints/step_names.h"

#include "checkpoints/manifest.h"

#include <tessera/detail/unfinished_files.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tessera::inline v0::checkpoints {
namespace {

constexpr std::string_view kSaving = ".saving-", kRemoving = ".removing-", kNew = ".new";

std::string hidden(const std::string& dir, std::string_view kind, std::int64_t step,
                   std::uint64_t nonce) {
  return fmt::format("{}/{}{}-{}", dir, kind, step, detail::digits_of(nonce));
}
std::optional<std::int64_t> hidden_step_of(std::string_view name, std::string_view begin) {
  const std::size_t dash = name.rfind('-');
  if (!name.starts_with(begin) || dash < begin.size() ||
      !detail::is_digits_of_number(name.substr(dash + 1)))
    return {};
  return step_of(name.substr(begin.size(), dash - begin.size()));
}

// Removes a prefix.
bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}
bool take_number(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end > 0;
}

}  // namespace

std::string step_path(const std::string& dir, std::int64_t step) {
  return fmt::format("{}/{}", dir, step);
}
std::optional<std::int64_t> step_of(std::string_view name) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), n);
  if (error != std::errc() || end != name.data() + name.size() || n < 0) return {};
  if (fmt::format("{}", n) != name) return {};
  return n;
}

std::string steps_text(const std::vector<std::int64_t>& steps) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(steps.size(), kShown); ++i)
    text += (i ? ", " : "") + std::to_string(steps[i]);
  if (steps.size() > kShown) text += fmt::format(" and {} more", steps.size() - kShown);
  return text;
}

std::string saving_path(const std::string& dir, std::int64_t step, std::uint64_t nonce) {
  return hidden(dir, kSaving, step, nonce);
}
std::string removing_path(const std::string& dir, std::int64_t step, std::uint64_t nonce) {
  return hidden(dir, kRemoving, step, nonce);
}
std::optional<std::int64_t> saving_step_of(std::string_view name) {
  return hidden_step_of(name, kSaving);
}
std::optional<std::int64_t> removing_step_of(std::string_view name) {
  return hidden_step_of(name, kRemoving);
}

std::string shard_name(int process, int processes, std::size_t part) {
  return fmt::format("shards-{}-of-{}{}.safetensors", process, processes,
                     part ? fmt::format("-part-{}", part) : "");
}
bool is_shard(std::string_view name) {
  if (!take(name, "shards-") || !take_number(name) || !take(name, "-of-") || !take_number(name))
    return false;
  if (take(name, "-part-") && !take_number(name)) return false;
  return name == ".safetensors";
}

std::string part_name(int process) { return fmt::format("part-{}.json", process); }
std::string alive_name(int process) { return fmt::format("alive-{}", process); }
std::string unfinished(const std::string& name) { return name + std::string(kNew); }

bool is_file_of_step(std::string_view name) {
  if (name == kManifest || is_shard(name)) return true;
  if (name.ends_with(kNew)) name.remove_suffix(kNew.size());
  if (take(name, "alive-")) return take_number(name) && name.empty();
  return take(name, "part-") && take_number(name) && name == ".json";
}

}  // namespace tessera::inline v0::checkpoints

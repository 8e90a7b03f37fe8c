#include "codegen/tape/progressions.h"

#include <algorithm>

namespace tessera::inline v0::tape {

Progressions::Progressions(std::span<const std::pair<std::int64_t, std::int64_t>> entries) {
  struct Part {
    std::int64_t key, value;
    std::vector<Level> levels;
  };
  // First finds runs with equal distances, then runs of equal runs, and so on.
  std::vector<Part> parts;
  for (std::size_t i = 0; i < entries.size();) {
    const auto [key, value] = entries[i];
    Part part{key, value, {}};
    std::size_t end = i + 1;
    if (end < entries.size()) {
      const std::int64_t keys = entries[end].first - key, values = entries[end].second - value;
      while (end < entries.size() && entries[end].first - entries[end - 1].first == keys &&
             entries[end].second - entries[end - 1].second == values)
        ++end;
      part.levels.push_back({static_cast<std::int64_t>(end - i), keys, values});
    }
    parts.push_back(std::move(part));
    i = end;
  }
  for (std::size_t before = parts.size() + 1; parts.size() < before;) {
    before = parts.size();
    std::vector<Part> joined;
    for (std::size_t i = 0; i < parts.size();) {
      std::size_t end = i + 1;
      if (end < parts.size() && parts[end].levels == parts[i].levels) {
        const std::int64_t keys = parts[end].key - parts[i].key,
                           values = parts[end].value - parts[i].value;
        while (end < parts.size() && parts[end].levels == parts[i].levels &&
               parts[end].key - parts[end - 1].key == keys &&
               parts[end].value - parts[end - 1].value == values)
          ++end;
        parts[i].levels.insert(parts[i].levels.begin(),
                               {static_cast<std::int64_t>(end - i), keys, values});
      }
      joined.push_back(std::move(parts[i]));
      i = end;
    }
    parts = std::move(joined);
  }
  for (const Part& part : parts) {
    const auto found = std::search(levels_.begin(), levels_.end(), part.levels.begin(),
                                   part.levels.end());  // reuses an identical sequence of levels
    items_.push_back({part.key, part.value, static_cast<std::uint32_t>(found - levels_.begin()),
                      static_cast<std::uint32_t>(part.levels.size())});
    if (found == levels_.end())
      levels_.insert(levels_.end(), part.levels.begin(), part.levels.end());
  }
  items_.shrink_to_fit();
  levels_.shrink_to_fit();
}

std::int64_t Progressions::at(std::int64_t key, std::int64_t none) const {
  const auto behind =
      std::upper_bound(items_.begin(), items_.end(), key,
                       [](std::int64_t k, const Item& item) { return k < item.key; });
  if (behind == items_.begin()) return none;
  const Item& item = behind[-1];
  std::int64_t rest = key - item.key, value = item.value;
  for (std::uint32_t l = item.begin; l < item.begin + item.levels; ++l) {
    const Level& level = levels_[l];
    const std::int64_t k = std::min(level.keys == 1 ? rest : rest / level.keys, level.count - 1);
    rest -= k * level.keys;
    value += k * level.values;
  }
  return rest == 0 ? value : none;
}

}  // namespace tessera::inline v0::tape

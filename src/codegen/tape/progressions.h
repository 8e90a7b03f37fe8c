// A function of some integers in as little memory as it takes: what devices in a regular mesh have is
// progressions of progressions, whose number does not depend on how many devices there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tessera::inline v0::tape {

class Progressions {
 public:
  Progressions() = default;  // of none
  /// Keys, not negative and ascending, with their values.
  explicit Progressions(std::span<const std::pair<std::int64_t, std::int64_t>> entries);

  /// The value of a key; `none` where it has none.
  std::int64_t at(std::int64_t key, std::int64_t none = -1) const;
  /// Of memory, for those who count it.
  std::size_t bytes() const {
    return items_.size() * sizeof(Item) + levels_.size() * sizeof(Level);
  }

 private:
  // So many, each at a distance from the one before, whose values differ as much each time.
  struct Level {
    std::int64_t count, keys, values;
    bool operator==(const Level&) const = default;
  };
  // From a first key on: of `levels` of them from `begin`, each of what the one after it says.
  struct Item {
    std::int64_t key, value;
    std::uint32_t begin, levels;
  };
  std::vector<Item> items_;  // by their keys, none within another
  std::vector<Level> levels_;
};

}  // namespace tessera::inline v0::tape

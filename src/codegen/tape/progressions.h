// A compressed map from integers to integers. On a regular mesh, the values that devices hold form
// nested arithmetic progressions, whose count does not depend on the number of devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tessera::inline v0::tape {

class Progressions {
 public:
  Progressions() = default;  // the empty map
  /// `entries` are (key, value) pairs with ascending keys >= 0.
  explicit Progressions(std::span<const std::pair<std::int64_t, std::int64_t>> entries);

  /// The value of a key, or `none` if the key is absent.
  std::int64_t at(std::int64_t key, std::int64_t none = -1) const;
  /// The memory that the map occupies.
  std::size_t bytes() const {
    return items_.size() * sizeof(Item) + levels_.size() * sizeof(Level);
  }

 private:
  // `count` repetitions; each adds `keys` to the key and `values` to the value.
  struct Level {
    std::int64_t count, keys, values;
    bool operator==(const Level&) const = default;
  };
  // A nested progression that starts at (key, value), with `levels` levels starting at
  // levels_[begin], outermost first.
  struct Item {
    std::int64_t key, value;
    std::uint32_t begin, levels;
  };
  std::vector<Item> items_;  // by key; their ranges do not overlap
  std::vector<Level> levels_;
};

}  // namespace tessera::inline v0::tape

// Placements in the form used by the search for a plan: the few atoms and dimensions that take part
// are renumbered and packed into a few words, which are cheap to copy, compare and hash.
#pragma once

#include "spmd/place/placement.h"

#include <array>
#include <cstring>

namespace tessera::inline v0::spmd {

/// A list of the atoms (units) that take part in the search.
struct ShortList {
  static constexpr int most = 20;
  std::uint8_t count = 0;
  std::array<std::uint8_t, most> at;

  void push(int a) { at[count++] = static_cast<std::uint8_t>(a); }
  void pop() { --count; }
  const std::uint8_t* begin() const { return at.data(); }
  const std::uint8_t* end() const { return at.data() + count; }
};

/// An unpacked placement, which moves modify.
struct OpenState {
  static constexpr int most_dims = 8;
  std::array<ShortList, most_dims> dims;
  std::uint32_t unreduced = 0;
};

/// The same placement in 40 bytes: the atoms of each dimension, each list ended by a marker.
class PackedState {
 public:
  PackedState() = default;
  PackedState(const OpenState& s, int rank) : unreduced_(s.unreduced) {
    int n = 0;
    for (int d = 0; d < rank; ++d) {
      const ShortList& dim = s.dims[static_cast<std::size_t>(d)];
      for (std::uint8_t a : dim) bytes_[static_cast<std::size_t>(n++)] = a;
      bytes_[static_cast<std::size_t>(n++)] = kEnd;
    }
  }
  void open(OpenState& s, int rank) const {
    int n = 0;
    for (int d = 0; d < rank; ++d) {
      ShortList& dim = s.dims[static_cast<std::size_t>(d)];
      dim.count = 0;
      for (; bytes_[static_cast<std::size_t>(n)] != kEnd; ++n)
        dim.push(bytes_[static_cast<std::size_t>(n)]);
      ++n;
    }
    s.unreduced = unreduced_;
  }
  /// The search's progress through the ordered kinds of moves, if it keeps to that order.
  std::uint32_t phase = 0;

  std::size_t hash() const {
    std::array<std::uint64_t, 4> words;
    std::memcpy(words.data(), bytes_.data(), sizeof(words));
    std::uint64_t h = unreduced_ + (std::uint64_t{phase} << 32);
    for (std::uint64_t w : words) {
      h = (h ^ w) * 0x9e3779b97f4a7c15ull;
      h ^= h >> 29;
    }
    return h;
  }
  bool operator==(const PackedState&) const = default;

 private:
  static constexpr std::uint8_t kEnd = 0xff;
  std::array<std::uint8_t, 32> bytes_{};
  std::uint32_t unreduced_ = 0;
};
static_assert(ShortList::most + OpenState::most_dims <= 32);

}  // namespace tessera::inline v0::spmd

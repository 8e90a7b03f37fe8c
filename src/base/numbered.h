// Numbers for values: equal values have the same number.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// The values that have been seen, numbered from 0 in the order in which they came. A value stays
/// at its place in memory as long as the table lives. Not thread-safe.
template <class T>
class Numbered {
 public:
  using Id = std::uint32_t;

  /// The number of the value. T needs == and `std::size_t hash_of(const T&)`.
  Id id(const T& value) {
    return id(hash_of(value), equals(value), [&] { return value; });
  }
  Id id(T&& value) {
    return id(hash_of(value), equals(value), [&] { return std::move(value); });
  }
  /// The number of the value with this hash for which `same(value)` is true, or of the value that
  /// `make()` returns if there is none. For tables in which a value is found by a part of it.
  template <class Same, class Make>
  Id id(std::size_t hash, const Same& same, const Make& make) {
    if (!slots_.empty())
      for (std::size_t at = first(hash); slots_[at].id != kFree; at = after(at))
        if (slots_[at].hash == hash && same(values_[slots_[at].id])) return slots_[at].id;
    values_.push_back(make());
    const Id made = static_cast<Id>(values_.size() - 1);
    if (2 * values_.size() > slots_.size()) enlarge();
    put({hash, made});
    return made;
  }

  const T& operator[](Id id) const { return values_[id]; }
  std::size_t size() const { return values_.size(); }

 private:
  static constexpr Id kFree = static_cast<Id>(-1);
  struct Slot {
    std::size_t hash = 0;
    Id id = kFree;
  };

  static auto equals(const T& value) {
    return [&value](const T& other) { return other == value; };
  }
  // Hashes of similar values differ in few bits, so all of them decide on the slot.
  std::size_t first(std::size_t hash) const {
    return static_cast<std::size_t>((std::uint64_t{hash} * 0x9e3779b97f4a7c15ull) >>
                                    (64 - std::countr_zero(slots_.size())));
  }
  std::size_t after(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void put(Slot slot) {
    std::size_t at = first(slot.hash);
    while (slots_[at].id != kFree) at = after(at);
    slots_[at] = slot;
  }
  void enlarge() {
    constexpr std::size_t kFewest = 16;
    std::vector<Slot> old(std::max(kFewest, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.id != kFree) put(slot);
  }

  std::deque<T> values_;
  std::vector<Slot> slots_;  // linear probing; the size is a power of two, at most half is taken
};

}  // namespace tessera::inline v0

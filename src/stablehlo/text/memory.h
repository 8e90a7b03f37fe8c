// A bump allocator for syntax trees. Its blocks are freed as a whole, so that a module of many
// small parts needs no allocation and no deallocation for each of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tessera::inline v0::stablehlo {

class Memory {
 public:
  Memory() = default;
  Memory(Memory&&) = default;
  Memory& operator=(Memory&&) = default;

  /// All allocations are multiples of this size and aligned to it.
  static constexpr std::size_t kUnit = 8;

  void* take(std::size_t bytes) {
    bytes = rounded(bytes);
    if (bytes > left_) add_block(bytes);
    void* begin = free_;
    free_ += bytes;
    left_ -= bytes;
    return begin;
  }
  /// Grows the `bytes` at `begin` by `more`, in place or by moving them.
  void* grow(void* begin, std::size_t bytes, std::size_t more) {
    bytes = rounded(bytes);
    more = rounded(more);
    if (bytes && static_cast<std::byte*>(begin) + bytes == free_ && more <= left_) {
      free_ += more;
      left_ -= more;
      return begin;
    }
    // realloc can often extend large allocations without copying, so each of them has its own
    // block.
    if (bytes + more >= kLarge) {
      for (Block& block : large_)
        if (block.get() == begin) return resize(block, bytes + more);
      void* moved = resize(large_.emplace_back(), bytes + more);
      std::memcpy(moved, begin, bytes);
      return moved;
    }
    void* moved = take(bytes + more);
    if (bytes) std::memcpy(moved, begin, bytes);
    return moved;
  }
  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    char* begin = static_cast<char*>(take(text.size()));
    std::memcpy(begin, text.data(), text.size());
    return {begin, text.size()};
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  using Block = std::unique_ptr<void, Free>;
  static constexpr std::size_t kFirst = std::size_t{1} << 14, kLargest = std::size_t{1} << 20,
                               kLarge = std::size_t{1} << 18;

  static std::size_t rounded(std::size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }
  static void* resize(Block& block, std::size_t bytes) {
    void* const old = block.release();
    void* const p = std::realloc(old, bytes);
    block.reset(p ? p : old);
    if (!p) throw std::bad_alloc();
    return p;
  }
  void add_block(std::size_t least) {
    const std::size_t size = std::max(next_, least);
    free_ = static_cast<std::byte*>(resize(blocks_.emplace_back(), size));
    left_ = size;
    next_ = std::min(2 * next_, kLargest);
  }

  std::vector<Block> blocks_;
  std::vector<Block> large_;  // one list each
  std::byte* free_ = nullptr;
  std::size_t left_ = 0, next_ = kFirst;
};

/// A contiguous list in a Memory, which must outlive it. Copies share their elements, so `copy` a
/// list before changing it if others may hold it.
template <class T>
class List {
 public:
  using value_type = T;
  using const_iterator = const T*;
  using iterator = const T*;

  List() = default;
  static List copy(Memory& memory, const T* begin, std::size_t size) {
    List out;
    if (size == 0) return out;
    out.begin_ = static_cast<T*>(memory.take(size * sizeof(T)));
    std::uninitialized_copy_n(begin, size, out.begin_);
    out.size_ = out.capacity_ = static_cast<std::uint32_t>(size);
    return out;
  }
  template <class Range>
  static List copy(Memory& memory, const Range& range) {
    return copy(memory, std::data(range), std::size(range));
  }

  T& add(Memory& memory) {
    if (size_ == capacity_) grow(memory);
    return *new (begin_ + size_++) T();
  }
  T& add(Memory& memory, const T& value) {
    if (size_ == capacity_) grow(memory);
    return *new (begin_ + size_++) T(value);
  }
  void erase(std::size_t i) {
    std::copy(begin_ + i + 1, begin_ + size_, begin_ + i);
    --size_;
  }
  /// The first n elements.
  List first(std::size_t n) const {
    List out = *this;
    out.size_ = out.capacity_ = static_cast<std::uint32_t>(n);
    return out;
  }
  T& edit(std::size_t i) { return begin_[i]; }
  T& edit_last() { return begin_[size_ - 1]; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return begin_; }
  const T* begin() const { return begin_; }
  const T* end() const { return begin_ + size_; }
  const T& operator[](std::size_t i) const { return begin_[i]; }
  const T& front() const { return begin_[0]; }
  const T& back() const { return begin_[size_ - 1]; }
  std::vector<T> to_vector() const { return {begin(), end()}; }
  friend bool operator==(const List& a, const std::vector<T>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  void grow(Memory& memory) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    static_assert(sizeof(T) % Memory::kUnit == 0 && alignof(T) <= Memory::kUnit);
    const std::uint32_t more = std::max<std::uint32_t>(capacity_, 1);
    begin_ = static_cast<T*>(memory.grow(begin_, capacity_ * sizeof(T), more * sizeof(T)));
    capacity_ += more;
  }

  T* begin_ = nullptr;
  std::uint32_t size_ = 0, capacity_ = 0;
};

}  // namespace tessera::inline v0::stablehlo

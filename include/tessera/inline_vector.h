// A vector of trivially copyable values that is stored inline while it is short. Shapes and index
// lists are built on the hot path of every call, which must not allocate.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <type_traits>

namespace tessera::inline v0 {

/// A vector of trivially copyable T that keeps up to N elements in the object itself.
template <class T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() = default;
  explicit InlineVector(std::size_t n, T value = T{}) { resize(n, value); }
  InlineVector(std::initializer_list<T> v) { assign(v.begin(), v.end()); }
  template <class It>
  requires requires(It i) { *i, ++i; }
  InlineVector(It first, It last) { assign(first, last); }
  InlineVector(const InlineVector& o) { assign(o.begin(), o.end()); }
  InlineVector(InlineVector&& o) noexcept { take(o); }
  InlineVector& operator=(const InlineVector& o) {
    if (this != &o) assign(o.begin(), o.end());
    return *this;
  }
  InlineVector& operator=(InlineVector&& o) noexcept {
    if (this != &o) {
      release();
      take(o);
    }
    return *this;
  }
  ~InlineVector() { release(); }

  template <class It>
  void assign(It first, It last) {
    clear();
    for (; first != last; ++first) push_back(*first);
  }
  void clear() { size_ = 0; }
  void push_back(T v) {
    if (size_ == capacity_) grow(size_ + 1);
    data()[size_++] = v;
  }
  void pop_back() { --size_; }
  void resize(std::size_t n, T value = T{}) {
    if (n > capacity_) grow(n);
    for (std::size_t i = size_; i < n; ++i) data()[i] = value;
    size_ = n;
  }
  iterator insert(const_iterator at, T v) {
    std::size_t i = static_cast<std::size_t>(at - begin());
    push_back(v);
    move(begin() + i + 1, begin() + i, size_ - 1 - i);
    data()[i] = v;
    return begin() + i;
  }
  iterator erase(const_iterator at) {
    std::size_t i = static_cast<std::size_t>(at - begin());
    --size_;
    move(begin() + i, begin() + i + 1, size_ - i);
    return begin() + i;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ ? heap_ : inline_; }
  const T* data() const { return heap_ ? heap_ : inline_; }
  iterator begin() { return data(); }
  iterator end() { return data() + size_; }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    if (a.size_ != b.size_) return false;
    if constexpr (std::is_integral_v<T> || std::is_pointer_v<T>)
      return std::memcmp(a.data(), b.data(), a.size_ * sizeof(T)) == 0;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a[i] == b[i])) return false;
    return true;
  }

 private:
  static void move(T* to, const T* from, std::size_t n) {
    if (n > 0) std::memmove(static_cast<void*>(to), from, n * sizeof(T));
  }
  void grow(std::size_t n) {
    std::size_t capacity = n > 2 * capacity_ ? n : 2 * capacity_;
    T* p = new T[capacity];
    move(p, data(), size_);
    delete[] heap_;
    heap_ = p;
    capacity_ = capacity;
  }
  void release() {
    delete[] heap_;
    heap_ = nullptr;
    capacity_ = N;
    size_ = 0;
  }
  void take(InlineVector& o) {
    if (o.heap_) {
      heap_ = o.heap_;
      capacity_ = o.capacity_;
      size_ = o.size_;
      o.heap_ = nullptr;
      o.capacity_ = N;
    } else {
      move(inline_, o.inline_, o.size_);
      size_ = o.size_;
    }
    o.size_ = 0;
  }

  // Compilers print the next line in the error for a structured binding of a Shape.
  T* heap_ = nullptr;  // tessera: write auto [a, b] = x.shape().unpack<2>()
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  T inline_[N] = {};
};

}  // namespace tessera::inline v0

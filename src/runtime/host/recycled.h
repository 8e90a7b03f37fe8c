// Memory of small objects that are made and destroyed by the hundred in each call, such as arrays.
#pragma once

#include "runtime/host/sanitizers.h"

#include <cstddef>
#include <cstdint>
#include <new>

namespace tessera::inline v0::runtime {

/// An allocator of single objects. Each thread keeps the memory of up to kMost destroyed objects
/// for the next ones. The heap's per-thread lists hold only seven blocks of a size, and further
/// objects cost ten times as much.
template <class T>
class Recycled {
 public:
  using value_type = T;

  Recycled() = default;
  template <class U>
  explicit(false) Recycled(const Recycled<U>&) {}

  T* allocate(std::size_t n) {
    if (n == 1 && free_) {
      Free* const p = free_;
      free_ = p->next;
      --count_;
      return static_cast<T*>(static_cast<void*>(p));
    }
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) {
    if (n != 1 || sanitizers::kWatching || count_ == kMost || !is_open()) {
      ::operator delete(p);
      return;
    }
    free_ = new (p) Free{free_};
    ++count_;
  }
  friend bool operator==(const Recycled&, const Recycled&) { return true; }

 private:
  struct Free {
    Free* next;
  };
  static_assert(sizeof(T) >= sizeof(Free) && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  static constexpr std::uint32_t kMost = 1024;
  enum class State : std::uint8_t { unused, open, over };
  struct AtTheEnd {
    ~AtTheEnd() {
      state_ = State::over;
      while (Free* const p = free_) {
        free_ = p->next;
        ::operator delete(static_cast<void*>(p));
      }
    }
  };
  static bool is_open() {
    if (state_ == State::unused) {
      thread_local AtTheEnd at_the_end;
      (void)at_the_end;
      state_ = State::open;
    }
    return state_ == State::open;
  }

  // Plain memory, which is still usable while the thread's other thread_local variables, which may
  // hold arrays, are destroyed.
  static thread_local constinit inline Free* free_ = nullptr;
  static thread_local constinit inline std::uint32_t count_ = 0;
  static thread_local constinit inline State state_ = State::unused;
};

}  // namespace tessera::inline v0::runtime

// Variables of a thread that programs may still use while the process ends.
#pragma once

#include <unistd.h>

#include <utility>

namespace tessera::inline v0 {

/// A T for each thread: `thread_local ThreadKept<T> x`. It goes with its thread, but that of the
/// main thread stays: arrays of static storage may compute while they are destroyed, which is after
/// the main thread's own variables are gone.
template <class T>
class ThreadKept {
 public:
  template <class... A>
  explicit ThreadKept(A&&... args) : value_(new T(std::forward<A>(args)...)) {}
  ~ThreadKept() {
    if (::gettid() != ::getpid()) delete value_;
  }
  ThreadKept(const ThreadKept&) = delete;
  ThreadKept& operator=(const ThreadKept&) = delete;
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  T* value_;
};

}  // namespace tessera::inline v0

// Thread-local variables that remain usable while the process ends.
#pragma once

#include <pthread.h>

#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// A T per thread: `thread_local ThreadKept<T> x`. It is destroyed when its thread ends, but not
/// when the thread calls exit or main returns: destructors of static objects may still compute on
/// that thread after its ordinary thread_local variables are gone. The value is therefore owned by
/// a pthread key, whose destructor runs only when a thread ends.
template <class T>
class ThreadKept {
 public:
  template <class... A>
  explicit ThreadKept(A&&... args) : value_(new T(std::forward<A>(args)...)) {
    static const pthread_key_t key = [] {
      pthread_key_t made{};
      ::pthread_key_create(&made, [](void* all) { delete static_cast<Values*>(all); });
      return made;
    }();
    auto* all = static_cast<Values*>(::pthread_getspecific(key));
    if (!all) ::pthread_setspecific(key, all = new Values);
    all->list.push_back(value_);
  }
  ThreadKept(const ThreadKept&) = delete;
  ThreadKept& operator=(const ThreadKept&) = delete;
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  struct Values {
    std::vector<T*> list;
    ~Values() {
      for (T* value : list) delete value;
    }
  };
  T* value_;
};

}  // namespace tessera::inline v0

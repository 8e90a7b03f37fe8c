// The life of the process: its end, and fork.
//
// Both need a moment at which no thread is inside the library: at the end the libraries that it
// uses destroy their variables, and a child of fork has the memory of all threads but only one of
// them. So work that takes locks or calls such libraries says that it is inside; the end and fork
// wait until everybody else is out, and calls that are queued have run. No code of the user runs
// inside, so that nobody is waited for who waits himself.
#pragma once

#include <mutex>

namespace tessera::inline v0 {

/// This thread is inside for a scope; it may be nested. A fork that is under way on another thread
/// is waited for first.
class Inside {
 public:
  Inside() {
    if (depth_++ == 0) enter();
  }
  ~Inside() {
    if (--depth_ == 0) leave();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  /// Of a thread that is inside: whether the process had not begun to end when it came in. It may
  /// compile, call libraries and have others work for it; what comes in later may not.
  static bool libraries() { return libraries_; }

 private:
  friend class OnBehalf;
  static void enter();
  static void leave();
  static thread_local constinit int depth_;
  static thread_local constinit bool libraries_;
};

/// This thread works for one that is inside and waits for it: it passes as that one would.
class OnBehalf {
 public:
  OnBehalf() {
    if (Inside::depth_++ == 0) Inside::libraries_ = true;
  }
  ~OnBehalf() { --Inside::depth_; }
  OnBehalf(const OnBehalf&) = delete;
  OnBehalf& operator=(const OnBehalf&) = delete;
};

/// A lock that no child of fork finds taken by a thread that it does not have.
template <class Mutex = std::mutex>
class Locked {
 public:
  explicit Locked(Mutex& mutex) : lock_(mutex) {}

 private:
  Inside inside_;
  std::lock_guard<Mutex> lock_;
};

/// For a lock that is taken more often than it is worth to come in, and only ever for moments: fork
/// takes it, once everybody is out, for as long as it lasts. The mutex lives as long as the
/// process.
void hold_over_fork(std::mutex& mutex);

/// Whether the process has begun to end.
bool process_is_ending();
/// Whether this is the child of a fork: there are no workers.
bool forked();

/// Calls `wait` when the process ends and before it forks, once everybody is out: it returns when
/// what is queued has run. One at most.
void wait_at_the_end_for(void (*wait)());
/// To be called when a library was used in a way that is new. The variables that it made then are
/// destroyed before what was registered earlier for the process's end, which therefore is
/// registered again.
void library_was_used();

/// A library may make variables now, as the first calls of it do. A thread that has been inside and
/// ends, or ends the process, waits for that; one that has never been inside is not known here, and
/// would destroy what is being made. So this is to be short, and waits for no other thread. It may
/// be nested. After the first thousand it does nothing.
class LibraryBegins {
 public:
  LibraryBegins();
  ~LibraryBegins();
  LibraryBegins(const LibraryBegins&) = delete;
  LibraryBegins& operator=(const LibraryBegins&) = delete;

 private:
  const bool counts_;
};

}  // namespace tessera::inline v0

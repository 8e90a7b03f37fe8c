// Process exit and fork.
//
// Both need a moment at which no thread is inside the library: at exit, the libraries that it uses
// destroy their static variables, and a forked child has the memory of all threads but runs only
// one. Work that takes locks or calls such libraries therefore declares itself inside. Exit and
// fork wait until all other threads are outside and queued calls have run. User code never runs
// inside, so no thread that is waited for can itself be waiting.
#pragma once

#include <mutex>

namespace tessera::inline v0 {

/// Marks this thread as inside for a scope; scopes may nest. Waits first for a fork that is in
/// progress on another thread.
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

  /// For a thread that is inside: whether it entered before the process began to end. Only then may
  /// it compile, call libraries and use other threads.
  static bool libraries() { return libraries_; }

 private:
  friend class OnBehalf;
  static void enter();
  static void leave();
  static thread_local constinit int depth_;
  static thread_local constinit bool libraries_;
};

/// Marks this thread as working for a thread that is inside and waits for it: it has the same
/// permissions.
class OnBehalf {
 public:
  OnBehalf() {
    if (Inside::depth_++ == 0) Inside::libraries_ = true;
  }
  ~OnBehalf() { --Inside::depth_; }
  OnBehalf(const OnBehalf&) = delete;
  OnBehalf& operator=(const OnBehalf&) = delete;
};

/// A lock that a forked child never finds held by a thread that does not exist there.
template <class Mutex = std::mutex>
class Locked {
 public:
  explicit Locked(Mutex& mutex) : lock_(mutex) {}

 private:
  Inside inside_;
  std::lock_guard<Mutex> lock_;
};

/// Registers a lock that is taken too often to pay for Inside, and only ever held briefly. fork
/// takes it, once all threads are outside, and holds it until the fork is over. The mutex must live
/// as long as the process.
void hold_over_fork(std::mutex& mutex);

/// Whether the process has begun to end.
bool process_is_ending();
/// Whether this process is the child of a fork, which has no worker threads.
bool forked();

/// Registers `wait`, which is called at exit and before fork, once all other threads are outside;
/// it returns when queued work has run. At most one function can be registered.
void wait_at_the_end_for(void (*wait)());
/// Must be called when a library has been used in a new way. The static variables that it created
/// are destroyed before the exit handlers registered earlier run, so this registers our exit
/// handler again.
void library_was_used();

/// Marks a scope in which a library may create static variables, as its first calls do. A thread
/// that has been inside waits for such scopes before it ends or calls exit. A thread that has never
/// been inside is unknown here and could destroy the variables while they are created, so the scope
/// must be short and must not wait for other threads. Scopes may nest. After the first thousand
/// scopes this does nothing.
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

// Calls to OpenBLAS on the calling thread.
#pragma once

namespace tessera::inline v0::codegen {

/// Sets OpenBLAS to one thread. The setting is global to the process, so it is 1 while any instance
/// lives and is restored when the last one is destroyed. Concurrent products of the user's code
/// also run on one thread then, which affects only their speed.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
};

}  // namespace tessera::inline v0::codegen

// Host code that a program calls with its values when it runs: prints, checks, and functions of the
// host whose results the program uses.
#pragma once

#include "ir/attrs.h"
#include "ir/host_array.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

struct Callback : Hook {
  /// The position of the call: its index along each named axis around it, e.g. ("i", 2), and along
  /// each unnamed vmap, e.g. ("vmap", 5).
  using Position = std::vector<std::pair<std::string, std::int64_t>>;

  /// May be called on any thread, and concurrently for different positions; calls for the same
  /// position come in program order. An exception becomes the error of the results of the program's
  /// call. A callback must not compute with arrays: the computation could wait for work that itself
  /// waits for the callback.
  virtual void call(const Position& position, std::span<const HostArray> values) const = 0;
};

/// A function of the host: it reads arrays and writes arrays.
struct HostFunction : Hook {
  /// Writes all results. The memory of both is the caller's, and is valid only during the call. May
  /// be called on any thread, and concurrently for different devices. `device` is the number of the
  /// device that calls it, where the program says which one. An exception becomes the error of the
  /// results of the program's call.
  virtual void call(std::int64_t device, std::span<const HostArray> operands,
                    std::span<HostArray> results) const = 0;
};

/// Marks this thread as running a callback. Calling a program, or waiting for one, is then refused.
class InCallback {
 public:
  InCallback() : before_(inside_) { inside_ = true; }
  ~InCallback() { inside_ = before_; }
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
  static bool is() { return inside_; }

 private:
  static thread_local constinit bool inside_;
  bool before_;
};

}  // namespace tessera::inline v0

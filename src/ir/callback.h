// Host code that a program calls with its values when it runs: prints and checks.
#pragma once

#include "ir/attrs.h"
#include "ir/host_array.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

struct Callback : Hook {
  /// Where the call comes from: along each named axis around it ("i", 2), and along each vmap that
  /// has no name ("vmap", 5).
  using Position = std::vector<std::pair<std::string, std::int64_t>>;

  /// Called on any thread, for several positions at once; for one position in the program's order.
  /// What it throws becomes the error of the results of the program's call. It may not compute with
  /// arrays: what it would wait for may wait for it.
  virtual void call(const Position& position, std::span<const HostArray> values) const = 0;
};

/// This thread runs a callback. Calls of programs refuse it, and so does waiting for one.
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

// Host code that a program calls with its values when it runs: prints, checks, and host functions
// whose results the program uses.
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

/// A host function: it reads arrays and writes arrays.
struct HostFunction : Hook {
  /// Writes all results. The caller owns the memory of operands and results, which is valid only
  /// during the call. May be called on any thread, and concurrently for different devices. `device`
  /// is the number of the device that calls it, if the program passes it. An exception becomes the
  /// error of the results of the program's call.
  virtual void call(std::int64_t device, std::span<const HostArray> operands,
                    std::span<HostArray> results) const = 0;
  /// Called while a program is partitioned, if the call takes shards, with the spec of an operand.
  /// It may be called several times; the last spec applies.
  virtual void placed(std::size_t /*operand*/, const MeshShape& /*mesh*/,
                      const Spec& /*spec*/) const {}
};

/// Marks this thread as running a callback.
class InCallback {
 public:
  /// In callbacks of prints and checks, calling a program, or waiting for one, is an error. A host
  /// function may call programs, which then run on its own thread.
  enum Kind { report, function };
  explicit InCallback(Kind kind);
  ~InCallback();
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
  static bool is() { return inside_; }
  static bool may_compute() { return !inside_ || kind_ == function; }
  /// The number of threads that are running host functions.
  static int functions();
  /// Sets a function that is called whenever a thread enters or leaves a host function. The queue
  /// needs to know, because a host function may wait for anything, such as programs on other
  /// threads.
  static void set_watch(void (*watch)(bool begins));

 private:
  static thread_local constinit bool inside_;
  static thread_local constinit Kind kind_;
  bool inside_before_;
  Kind kind_before_;
};

}  // namespace tessera::inline v0

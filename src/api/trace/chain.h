// A chain of operations that runs as one program.
//
// Operations are recorded with the types and the place of their results (gather.h decides which
// ones, and when a chain ends). The chain runs once, when somebody needs a value. Results that no
// array stands for by then are not results of the program, so what only they needed is not
// computed.
#pragma once

#include "api/array/array_impl.h"
#include "ir/builder.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace tessera::inline v0::runtime {
class Backend;
}

namespace tessera::inline v0::detail {

/// The layout of whole results of a program on this platform whose inputs are on one device each:
/// that of the committed inputs, which agree, else where the platform puts uncommitted results.
runtime::LayoutPtr place_of_results(runtime::Backend& on,
                                    std::span<const runtime::LayoutPtr> inputs);

/// A chain belongs to one device, and the thread that made it appends to it. All other functions
/// may be called on any thread, because arrays are handed from thread to thread.
class Chain : public std::enable_shared_from_this<Chain> {
 public:
  Chain(runtime::Backend& on, int device);
  ~Chain();
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  runtime::Backend& backend() const { return on_; }
  int device() const { return device_; }
  /// Whether operations can still be appended, because nobody has needed a value yet.
  bool is_open() const { return !done_.load(std::memory_order_acquire); }
  /// How many operations were appended.
  std::size_t operations() const { return operations_.load(std::memory_order_relaxed); }
  /// Whether the chain keeps more than these bytes of arrays that nothing else refers to.
  bool keeps_more_than(std::int64_t bytes);

  /// Appends the equations of a program, which has no effects and no maps over devices, and returns
  /// its results, which are in `place` on the chain's device. An input is a bare number, a result
  /// of this chain, or an array that is in no open chain. `varies`: integers and the starts of
  /// slices become arguments of the chain's program, because they differ between the iterations of
  /// a loop. Returns nothing if the chain is not open any more. Throws TraceError, naming the
  /// program and `loc`, if an input was donated.
  std::optional<std::vector<Array>> append(const Program& program, std::span<const Array> inputs,
                                           const runtime::LayoutPtr& place, bool varies,
                                           const SourceLoc& loc);
  /// Another array with the value of a result of this chain, or nothing if it is not open any more.
  std::optional<Array> again(const ArrayImpl& result);
  /// Runs what was recorded, unless that has been done. Afterwards the results have data. Throws
  /// the error with which the program failed, each time.
  void finish();
  /// One array fewer stands for a result. If there is none, nothing is left to do, and the chain
  /// drops what it keeps.
  void drop_result() noexcept;

 private:
  struct Recording;

  Value value_of(const ArrayImpl& input, const Program& program, const SourceLoc& loc);
  Value argument(const Type& type, const void* bytes);
  Values copied(const Program& program, std::span<const Value> inputs, bool varies);
  std::optional<Value> with_arguments(const Program& program, const Equation& eqn,
                                      std::span<const Value> operands);
  Array result(Var var, const runtime::LayoutPtr& place, const SourceLoc& loc);
  void run(Recording& r) const;

  runtime::Backend& on_;
  const int device_;
  std::mutex mutex_;
  std::unique_ptr<Recording> recording_;  // null if the chain is not open
  std::exception_ptr error_;              // constant once done_ is set
  std::atomic<bool> done_{false};
  std::atomic<std::size_t> operations_{0};
  std::atomic<std::int64_t> arrays_{0};  // that stand for results
};

}  // namespace tessera::inline v0::detail

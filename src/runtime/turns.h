// The order of calls that communicate.
//
// Devices that work together, in this process or in several, have to come to their collectives in
// one order. So a call of a program with collectives takes a turn when it is made, by the program
// alone, and runs when all turns before it are over: how long calls are thought to take, and
// whether they run here or in the queue (runtime/dispatcher.h), never changes the order.
#pragma once

#include "ir/program.h"

#include <optional>
#include <utility>

namespace tessera::inline v0::runtime {

/// Whether a program has collectives, in itself or in programs nested in it: whether its calls take
/// turns.
bool communicates(const Program& p);

/// A place in the order, until it is destroyed.
class Turn {
 public:
  /// The next one where nobody has one, so that it has come already; else none.
  static std::optional<Turn> at_once();
  /// Behind all that were taken.
  static Turn behind_all();

  Turn(Turn&& other) noexcept : number_(other.number_), has_(other.has_) { other.has_ = false; }
  Turn& operator=(Turn&& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(has_, other.has_);
    return *this;
  }
  ~Turn();

  /// Returns when all turns before it are over. They have to come to an end without this thread.
  void wait() const;

 private:
  explicit Turn(unsigned number) : number_(number) {}
  unsigned number_;
  bool has_ = true;
};

}  // namespace tessera::inline v0::runtime

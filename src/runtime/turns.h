// The order of calls that communicate.
//
// Devices that work together, in one process or in several, must reach their collectives in the
// same order. A call of a program with collectives therefore takes a turn when it is made, which
// depends on the user's program alone, and runs when all earlier turns are over. Neither the
// estimated duration of calls nor running them in the queue (runtime/host/dispatcher.h) changes the
// order.
#pragma once

#include "ir/program.h"

#include <optional>
#include <utility>

namespace tessera::inline v0::runtime {

/// Whether a program contains collectives, also in nested programs, so that its calls take turns.
bool communicates(const Program& p);

/// A position in the order; the destructor ends it.
class Turn {
 public:
  /// Takes the next turn if it can start immediately, because all others are over; else returns
  /// nothing.
  static std::optional<Turn> at_once();
  /// Takes a turn after all that have been taken.
  static Turn behind_all();

  Turn(Turn&& other) noexcept : number_(other.number_), has_(other.has_) { other.has_ = false; }
  Turn& operator=(Turn&& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(has_, other.has_);
    return *this;
  }
  ~Turn();

  /// Waits until all earlier turns are over. They must be able to finish without this thread.
  void wait() const;

 private:
  explicit Turn(unsigned number) : number_(number) {}
  unsigned number_;
  bool has_ = true;
};

}  // namespace tessera::inline v0::runtime

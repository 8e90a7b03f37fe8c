// The order of calls that communicate.
//
// Devices that work together, in one process or in several, must reach their collectives in the
// same order. A call of a program with collectives therefore takes a turn when it is made, which
// depends on the user's program alone, and runs when all earlier turns are over. Neither the
// estimated duration of calls nor running them in the queue (runtime/host/dispatcher.h) changes the
// order.
#pragma once

#include "ir/program.h"

#include <atomic>
#include <optional>
#include <utility>

namespace tessera::inline v0::runtime {

/// Whether a program contains collectives, also in nested programs, so that its calls take turns.
bool communicates(const Program& p);

class Turns;

/// A position in an order; the destructor ends it.
class Turn {
 public:
  Turn(Turn&& other) noexcept
      : order_(std::exchange(other.order_, nullptr)), number_(other.number_) {}
  Turn& operator=(Turn&& other) noexcept {
    std::swap(order_, other.order_);
    std::swap(number_, other.number_);
    return *this;
  }
  ~Turn();

  /// Waits until all earlier turns are over. They must be able to finish without this thread.
  void wait() const;

 private:
  friend class Turns;
  Turn(Turns& order, unsigned number) : order_(&order), number_(number) {}
  Turns* order_;  // null: the turn was moved from
  unsigned number_;
};

/// An order of calls. Devices that communicate with each other share one; the orders of devices
/// that do not are independent. An order outlives its turns.
class Turns {
 public:
  constexpr Turns() = default;
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// Takes the next turn if it can start immediately, because all others are over; else returns
  /// nothing.
  std::optional<Turn> at_once();
  /// Takes a turn after all that have been taken.
  Turn behind_all();

 private:
  friend class Turn;
  // Numbers wrap around; they are compared for equality only.
  std::atomic<unsigned> taken_{0};  // the next free number
  std::atomic<unsigned> turn_{0};   // the number whose turn it is
};

/// The order of the calls of this process's programs, which run on own_devices()
/// (runtime/host/devices.h).
Turns& own_turns();

}  // namespace tessera::inline v0::runtime

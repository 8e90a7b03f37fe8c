// What a call holds of its inputs.
#pragma once

#include "runtime/array_data.h"

#include <tessera/inline_vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::inline v0::runtime {

/// An array that a queued call has taken, to give back where it fails.
struct Taken {
  ArrayDataPtr array;
  std::vector<Shard> shards;  // of the array, which has none meanwhile; empty where it kept them
  bool overwritten = false;   // a result has its memory
};

/// Is a user of every input, and takes those that are given away. Unless the call says how it ended
/// they are given back. An input that stands twice among them is taken if it is given away in one
/// place; its memory is then left alone.
class Holds {
 public:
  /// `given` is by input, or shorter: what it does not reach is not given away.
  explicit Holds(std::span<const ArrayDataPtr> inputs, const std::vector<bool>& given = {},
                 std::uint32_t taker = 0);
  ~Holds() { let_go(); }
  Holds(const Holds&) = delete;
  Holds& operator=(const Holds&) = delete;

  /// The first input that had been given away before; then none is held.
  std::optional<std::size_t> refused() const { return refused_; }
  /// Whether this input was taken, and nobody reads it nor has a pointer to it from before.
  bool alone(std::size_t input) const { return state_[input] == kAlone; }
  /// A result gets the memory of this input, which is held alone.
  void overwrite(std::size_t input) { state_[input] = kOverwritten; }

  /// The call has what it took, and arrays held alone let go of their memory.
  void keep();
  /// The call has failed when it had begun to write: what was overwritten is lost.
  void lose();
  /// The call is queued: what it took is the queue's to give back.
  std::vector<Taken> hand_over();

 private:
  enum State : char { kUsed, kTaken, kAlone, kOverwritten };
  bool take(std::size_t input, std::uint32_t taker);
  void let_go();

  std::span<const ArrayDataPtr> inputs_;
  InlineVector<State, 16> state_;
  std::optional<std::size_t> refused_;
};

}  // namespace tessera::inline v0::runtime

// The inputs that a call holds.
#pragma once

#include "runtime/array_data.h"

#include <tessera/inline_vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::inline v0::runtime {

/// An array that a queued call has taken, to be given back if the call fails.
struct Taken {
  ArrayDataPtr array;
  // Removed from the array for the time of the call; empty if the array kept them.
  std::vector<Shard> shards;
  bool overwritten = false;  // a result uses its memory
};

/// Registers the call as a user of every input, and takes the donated inputs. Unless the call
/// reports its outcome, they are given back. An input that occurs twice is taken if one occurrence
/// is donated; its memory is then not reused.
class Holds {
 public:
  /// `given[i]` is true if input i is donated; inputs past the end of the list are not.
  explicit Holds(std::span<const ArrayDataPtr> inputs, const std::vector<bool>& given = {},
                 std::uint32_t taker = 0);
  ~Holds() { let_go(); }
  Holds(const Holds&) = delete;
  Holds& operator=(const Holds&) = delete;

  /// The first input that had already been donated. If there is one, no input is held.
  std::optional<std::size_t> refused() const { return refused_; }
  /// Whether this input was taken, without concurrent readers and without pointers handed out
  /// earlier.
  bool alone(std::size_t input) const { return state_[input] == kAlone; }
  /// A result uses the memory of this input, which must be held alone.
  void overwrite(std::size_t input) { state_[input] = kOverwritten; }

  /// The call succeeded: it keeps what it took, and arrays held alone release their memory.
  void keep();
  /// The call failed after it had begun to write: overwritten inputs are lost.
  void lose();
  /// The call is queued: the queue becomes responsible for giving back what it took.
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

// Establishes one common order for the calls that all processes make, however their threads are
// scheduled.
//
// If one thread of each process makes these calls, program order suffices. If several do
// (InitializeOptions::several_threads), the order is that in which process 0 reaches them: it
// publishes which of its threads reached which call, and a thread of another process waits for its
// turn.
#pragma once

#include "base/message.h"

#include <cstdint>
#include <string_view>

namespace tessera::inline v0::processes {

class Group;

/// Holds a call's place in the order; no other call of this process has one until the destructor
/// runs. Does nothing if one thread makes the calls, or inside another call of the same thread.
class InOrder {
 public:
  /// Waits for this call's turn. `signature` identifies the call and is equal in all processes;
  /// `name` and `loc` are for errors. Throws CollectiveError if the corresponding thread of process
  /// 0 reached a different call, or if two threads reach the same call first, so that they cannot
  /// be told apart.
  InOrder(std::uint64_t signature, std::string_view name, const SourceLoc& loc);
  /// The same among the processes of a group, which must outlive it.
  InOrder(Group& group, std::uint64_t signature, std::string_view name, const SourceLoc& loc);
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  ~InOrder();

 private:
  Group& group_;
  bool has_ = false;
};

}  // namespace tessera::inline v0::processes

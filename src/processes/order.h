// One order of the calls that processes make together, whatever their threads do.
//
// Where one thread of each process makes them the program's order is everybody's. Where several do,
// that in which process 0 comes to them is (InitializeOptions::several_threads): it writes down what
// each of its threads comes to, and a thread of another process waits until it is its turn there.
#pragma once

#include "base/message.h"

#include <cstdint>
#include <string_view>

namespace tessera::inline v0::processes {

/// A call's place in that order: from here to its end no other one has one in this process. Nothing
/// where one thread makes the calls, or within another one of the same thread.
class InOrder {
 public:
  /// Waits for its turn. `signature`: of what it is, equal in all processes; `name` and `loc` are for
  /// errors. CollectiveError where process 0 came to something else on the thread that is this one's
  /// counterpart, or where two threads come first to the same, so that either may be.
  InOrder(std::uint64_t signature, std::string_view name, const SourceLoc& loc);
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  ~InOrder();

 private:
  bool has_ = false;
};

/// Whether two threads that lived at one time made such calls although nothing orders them.
bool several_threads_call();

}  // namespace tessera::inline v0::processes

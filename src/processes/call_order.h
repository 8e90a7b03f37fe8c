// The order of the calls in one group of processes, as one of them keeps it (order.h).
#pragma once

#include "processes/seat.h"
#include "processes/transport_abi.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

namespace tessera::inline v0::processes {

struct CallOrder {
  // A message to another machine that is still being sent.
  struct Sent {
    std::unique_ptr<OrderEntry> entry;
    TesseraRequest* request;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t next = 1;           // number of the next call, from 1
  bool taken = false;               // the next call is in progress
  bool asking = false;              // a thread waits for process 0's entry
  std::optional<OrderEntry> known;  // process 0's entry for the next call
  int lanes = 0;                    // process 0: number of threads that have made calls
  std::set<int> met;                // other processes: lanes that have been assigned
  std::set<std::uint64_t> firsts;   // of living threads
  std::deque<Sent> sent;

  // Without several_threads: the number of living threads that have made calls, and whether two of
  // them were alive at the same time although nothing orders them.
  std::atomic<int> callers{0};
  std::atomic<bool> raced{false};
};

}  // namespace tessera::inline v0::processes

// The history of arrays over devices of several processes, so that exchanges can detect calls that
// combine arrays of different origin in different processes.
//
// An array's number is derived from the call that made it, from the call's input arrays and,
// ultimately, from values: those that device_put places, and those of uncommitted arrays, of which
// every process has its own. Processes that make the same calls with the same values obtain the
// same numbers, whatever else they compute locally. A number is sent along with each exchange
// (cpu/given.h). A single process keeps no histories.
#pragma once

#include "runtime/array_data.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tessera::inline v0::runtime {

struct History {
  std::atomic<std::uint64_t> number{0};  // 0: unknown, or the call that determines it has not run
  std::string values;                    // the values that device_put placed, if they are small
};

/// TESSERA_COMPARE: compare nothing, small values and samples of large ones, or all values.
enum class Compare { off, small, all };
Compare compares();

/// Values of at most this many bytes are always compared completely.
inline constexpr std::int64_t kSmallValue = 4096;

/// A hash of an array's values; never 0.
std::uint64_t number_of_values(const Type& type, const std::byte* bytes);

/// Whether some of the layout's devices belong to other processes. False in a single process.
inline bool spans_processes(const Layout& layout) { return !layout.everywhere; }

/// The history of an array that is placed with these values over devices of several processes.
std::shared_ptr<const History> history_of_values(const Type& type, const std::byte* bytes);
/// The history of an array that each process makes from its own parts: its sequence number among
/// arrays over the same devices. Null on threads other than the main thread, and if several threads
/// make calls, because their order is unknown.
std::shared_ptr<const History> history_of_parts(const Layout& layout);

}  // namespace tessera::inline v0::runtime

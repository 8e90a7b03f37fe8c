// How arrays over devices of several processes came about, so that exchanges find calls that pair
// arrays of different origin.
//
// An array has a number that follows from the call that made it, from the arrays that the call was
// given and, at their beginning, from values: those that device_put places, and those that lie
// nowhere and that every process has for itself. Processes that make the same calls of the same
// values come to the same numbers, whatever else each of them computes for itself. A number travels
// with each exchange (cpu/given.h). A process that is alone has none of all this.
#pragma once

#include "runtime/array_data.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tessera::inline v0::runtime {

struct History {
  std::atomic<std::uint64_t> number{0};  // 0: not known, or the call that says it has not run
  std::string values;                    // what device_put placed, where that is small
};

/// TESSERA_COMPARE: nothing, small values and samples of large ones, or all values.
enum class Compare { off, small, all };
Compare compares();

/// Values of so many bytes are compared as a whole in any case.
inline constexpr std::int64_t kSmallValue = 4096;

/// Of the values of an array of `type`; never 0.
std::uint64_t number_of_values(const Type& type, const std::byte* bytes);

/// Whether devices of other processes are among those of the layout. False in a lone process.
inline bool spans_processes(const Layout& layout) { return !layout.everywhere; }

/// Of an array that is placed with these values over devices of several processes.
std::shared_ptr<const History> history_of_values(const Type& type, const std::byte* bytes);
/// Of an array that each process makes of parts of its own: which one it is of those over the same
/// devices. Null on threads other than the first one, and where several threads make calls, whose
/// order nobody knows.
std::shared_ptr<const History> history_of_parts(const Layout& layout);

}  // namespace tessera::inline v0::runtime

// Which operations outside of traces are gathered in chains (chain.h), and when a chain ends.
//
// Each thread has a chain of its own. The operations of two threads have no order between them, so
// a common chain would have another content each time, and its programs would be compiled again and
// again. A thread that uses a result of another thread's chain runs that chain first.
//
// A chain ends when it is long, and its program is found among the compiled ones only if a loop
// ends its chains at the same operations each time. Therefore a chain that is no longer short ends
// before an operation with which an earlier chain began. The chains of a loop whose body has at
// most kMostOperations operations then consist of whole iterations.
#pragma once

#include "api/trace/trace.h"

#include <tessera/eager.h>

#include <optional>
#include <span>
#include <vector>

namespace tessera::inline v0::detail {

/// Whether operations on a platform are gathered.
bool gathers(const runtime::Backend& on);
/// Records a program on this platform in the thread's chain, and returns its results. Returns
/// nothing if it has to run at once: because it calls the host, has maps over devices, or its
/// inputs are on several devices.
std::optional<std::vector<Array>> gather(const Program& program, std::span<const Array> inputs,
                                         runtime::Backend& on, const SourceLoc& loc);
/// Runs what this thread has gathered. If it fails, the error reaches whoever reads a result.
void run_gathered();

}  // namespace tessera::inline v0::detail

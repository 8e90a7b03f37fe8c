// Reports from traced functions while they run.
#pragma once

#include "api/trace/trace.h"
#include "ir/callback.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace tessera::inline v0::detail {

/// Counts calls at each position. Positions beyond the first 65,536 are not stored; their count is
/// always 0.
class StepCounter {
 public:
  std::int64_t next(const Callback::Position& position) const;

 private:
  mutable std::mutex lock_;
  mutable std::map<Callback::Position, std::int64_t> steps_;
};

/// The callback made earlier for this key if it is still alive, else the result of `make`. Programs
/// are equal only if their callbacks are identical, so that a gradient that is traced anew at each
/// call compiles once.
std::shared_ptr<const Callback> known_callback(
    const std::string& key, const std::function<std::shared_ptr<const Callback>()>& make);

/// The values as an array of them prints. They stay in host memory, whatever the default device is,
/// because a callback must not wait for a platform that waits for it.
std::string text_of(const HostArray& values);

/// Calls the callback with the values when the traced function runs, if the boolean `holds` is
/// true.
void report(Trace& trace, const HookPtr& callback, const Array& holds,
            std::span<const Array> values, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail

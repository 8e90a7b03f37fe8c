// What traced functions tell while they run.
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

/// Counts calls at each position. Positions beyond the first 65,536 are not kept, and are at 0.
class StepCounter {
 public:
  std::int64_t next(const Callback::Position& position) const;

 private:
  mutable std::mutex lock_;
  mutable std::map<Callback::Position, std::int64_t> steps_;
};

/// What was made for this key and somebody still holds, or what `make` makes. Programs are equal
/// where their callbacks are the same, so a gradient that is traced anew at each call compiles once.
std::shared_ptr<const Callback> known_callback(
    const std::string& key, const std::function<std::shared_ptr<const Callback>()>& make);

/// Calls the callback with the values when the traced function runs, where `holds`, a boolean.
void report(Trace& trace, const HookPtr& callback, const Array& holds,
            std::span<const Array> values, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail

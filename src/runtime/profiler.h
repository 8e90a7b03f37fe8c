// Records what ran when, for chrome://tracing and Perfetto. Off, a scope costs one relaxed load.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::inline v0::runtime {

namespace profiler {

/// Rows of the trace: a device by number; work done once for all devices; collectives; the thread
/// that runs the scope.
inline constexpr std::int64_t kShared = -1, kCollectives = -2, kHost = -3;

extern std::atomic<bool> g_on;
inline bool on() { return g_on.load(std::memory_order_relaxed); }

/// Forgets earlier events and records from now on.
void start();
/// Stops, and gives how the events of this process stand in a Chrome trace, without the brackets of
/// their list: a process "devices" with a row a virtual device and rows for shared work and
/// collectives, a process "host" with a row a thread. Times are microseconds since `origin`, of the
/// steady clock in nanoseconds; by default that of start(). Of several processes each says so.
struct Among {
  int process = 0, processes = 1;
  std::optional<std::int64_t> origin;
};
std::string stop(const Among& among = {});
/// When it was started.
std::int64_t origin();
/// A Chrome trace (a JSON object with "traceEvents") of what processes gave.
std::string trace(std::span<const std::string> events);

/// An event from construction to destruction; `kind` is a category and lives on.
class Scope {
 public:
  Scope(std::string_view name, const char* kind, std::int64_t row) {
    if (on()) begin(name, kind, row);
  }
  ~Scope() {
    if (begin_ >= 0) end();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  void begin(std::string_view name, const char* kind, std::int64_t row);
  void end();
  std::int64_t begin_ = -1;
  std::string name_;  // a copy, for callers compose names
  const char* kind_ = nullptr;
  std::int64_t row_ = 0;
};

}  // namespace profiler
}  // namespace tessera::inline v0::runtime

// Records a timeline for chrome://tracing and Perfetto. While it is off, a scope costs one relaxed
// load.
#pragma once

#include <tessera/message.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::runtime {

// The process has one timeline, because its threads and workers run the calls of all devices.
namespace profiler {

/// Rows of the trace other than device numbers: work done once for all devices; collectives; the
/// thread that runs the scope.
inline constexpr std::int64_t kShared = -1, kCollectives = -2, kHost = -3;

extern std::atomic<bool> g_on;
inline bool on() { return g_on.load(std::memory_order_relaxed); }

struct Event {
  std::string name;
  const char* kind;
  std::int64_t row, begin, end;  // nanoseconds of the steady clock
  SourceLoc line;                // the user's, if one is known
  int thread = 0;                // the number of the thread that recorded it
};

/// The row of a device, among those of all platforms; `platform` is its backend's number.
constexpr std::int64_t row_of(int platform, int device) {
  return (static_cast<std::int64_t>(platform) << 32) + device;
}
/// Adds an event that was timed elsewhere; its thread is set here. Dropped if the timeline is off.
void record(Event event);
/// The steady clock, in nanoseconds.
std::int64_t now();

/// Discards earlier events and starts recording.
void start();
/// Stops recording and returns this process's events.
std::vector<Event> take();
/// As `take`, but returns the events as the elements of a Chrome trace's JSON list, without the
/// brackets. A process "devices" has a row per device and rows for shared work
/// and collectives; a process "host" has a row per thread. With several processes, the names say
/// which. Times are microseconds since `origin` (nanoseconds of the steady clock; default: the time
/// of start()).
struct Among {
  int process = 0, processes = 1;
  std::optional<std::int64_t> origin;
};
std::string stop(const Among& among = {});
/// The steady-clock time of start(), in nanoseconds.
std::int64_t origin();
/// A Chrome trace (a JSON object with "traceEvents") from the results of stop() in all processes.
std::string trace(std::span<const std::string> events);

/// An event from construction to destruction. `kind` is its category and must outlive the trace.
class Scope {
 public:
  Scope(std::string_view name, const char* kind, std::int64_t row, const SourceLoc& line = {}) {
    if (on()) begin(name, kind, row, line);
  }
  ~Scope() {
    if (begin_ >= 0) end();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  void begin(std::string_view name, const char* kind, std::int64_t row, const SourceLoc& line);
  void end();
  std::int64_t begin_ = -1;
  std::string name_;  // a copy, because callers pass temporaries
  const char* kind_ = nullptr;
  std::int64_t row_ = 0;
  SourceLoc line_;
};

}  // namespace profiler
}  // namespace tessera::inline v0::runtime

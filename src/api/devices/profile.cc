#include <tessera/detail/input_file.h>
#include <tessera/detail/replace_file.h>
#include <tessera/error.h>
#include <tessera/profile.h>

#include "api/trace/gather.h"
#include "base/message.h"
#include "processes/processes.h"
#include "runtime/profiler.h"

#include <tessera/distributed.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

namespace tessera::inline v0 {

namespace {
std::atomic<bool> running{false};
}

namespace {
[[noreturn]] void refuse_profile(const std::string& path, const std::string& why,
                                 const std::source_location& loc) {
  Message("profile")
      .problem("the trace cannot be written to " + detail::shown_path(path) + ": " + why)
      .rule("it is written beside its place and then put there; what was there before is kept")
      .from(loc)
      .advice(why == "It is a folder" ? "name a file in it"
                                      : "check that its folder is writable, and the space that "
                                        "is left on the disk")
      .raise<IoError>();
}
}  // namespace

namespace {
// Process 0 writes the file; if it cannot, no process starts profiling.
std::string why_not_written(const std::string& path, const std::source_location& loc) {
  if (process_count() == 1) return detail::why_not_replaceable(path);
  std::array<char, 512> why{};
  if (process_index() == 0) detail::why_not_replaceable(path).copy(why.data(), why.size() - 1);
  const std::vector<std::byte> all =
      processes::all_gather("profile", std::as_bytes(std::span(why)), loc);
  return reinterpret_cast<const char*>(all.data());
}

// The events of all processes; only process 0 receives them.
std::vector<std::string> events_of_all(const std::source_location& loc) {
  if (process_count() == 1) return {runtime::profiler::stop()};
  const auto rank = static_cast<std::size_t>(process_index());
  const std::vector<std::int64_t> offsets = processes::clock_offsets("profile", loc);
  // Time zero is the earliest start among the processes.
  const std::int64_t own = runtime::profiler::origin() + offsets[rank];
  const std::vector<std::byte> told =
      processes::all_gather("profile", std::as_bytes(std::span(&own, 1)), loc);
  std::vector<std::int64_t> origins(offsets.size());
  std::memcpy(origins.data(), told.data(), told.size());
  const std::int64_t begin = *std::min_element(origins.begin(), origins.end());
  const std::string mine =
      runtime::profiler::stop({process_index(), process_count(), begin - offsets[rank]});
  std::vector<std::string> all;
  for (const auto& bytes : processes::gather("profile", std::as_bytes(std::span(mine)), loc))
    all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all;
}
}  // namespace

Profile::Profile(std::string path, std::source_location loc) : path_(std::move(path)), loc_(loc) {
  if (const std::string why = why_not_written(path_, loc); !why.empty())
    refuse_profile(path_, why, loc);
  if (running.exchange(true))
    Message("profile")
        .problem("a profile is being recorded already")
        .rule("one profile at a time: its events are those of the whole process")
        .from(loc)
        .advice("end the first one, with finish() or its scope")
        .raise<Error>();
  detail::run_gathered();  // which was called before
  runtime::profiler::start();
}

void Profile::finish() {
  if (!running_) return;
  running_ = false;
  detail::run_gathered();
  const std::vector<std::string> events = events_of_all(loc_);
  running = false;
  if (events.empty()) return;  // only process 0 has them
  const std::string json = runtime::profiler::trace(events);
  const std::string_view parts[] = {json};
  if (const std::string why = detail::replace_file(path_, parts); !why.empty())
    refuse_profile(path_, why, loc_);
}

Profile::~Profile() {
  try {
    finish();
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
}

}  // namespace tessera::inline v0

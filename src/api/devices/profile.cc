#include <tessera/detail/input_file.h>
#include <tessera/detail/replace_file.h>
#include <tessera/error.h>
#include <tessera/profile.h>

#include "base/message.h"
#include "runtime/profiler.h"

#include <atomic>
#include <cstdio>

namespace tessera::inline v0 {

namespace {
std::atomic<bool> running{false};
}

namespace {
[[noreturn]] void refuse(const std::string& path, const std::string& why,
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

Profile::Profile(std::string path, std::source_location loc) : path_(std::move(path)), loc_(loc) {
  if (const std::string why = detail::why_not_replaceable(path_); !why.empty())
    refuse(path_, why, loc);
  if (running.exchange(true))
    Message("profile")
        .problem("a profile is being recorded already")
        .rule("one profile at a time: its events are those of the whole process")
        .from(loc)
        .advice("end the first one, with finish() or its scope")
        .raise<Error>();
  runtime::profiler::start();
}

void Profile::finish() {
  if (!running_) return;
  running_ = false;
  std::string json = runtime::profiler::stop();
  running = false;
  const std::string_view parts[] = {json};
  if (const std::string why = detail::replace_file(path_, parts); !why.empty())
    refuse(path_, why, loc_);
}

Profile::~Profile() {
  try {
    finish();
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
}

}  // namespace tessera::inline v0

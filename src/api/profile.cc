#include <tessera/error.h>
#include <tessera/profile.h>

#include "base/message.h"
#include "runtime/profiler.h"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace tessera::inline v0 {

namespace {
std::atomic<bool> running{false};
}

Profile::Profile(std::string path) : path_(std::move(path)) {
  if (running.exchange(true))
    Message("profile")
        .problem("a profile is being recorded already")
        .rule("one profile at a time: its events are those of the whole process")
        .advice("end the first one, with finish() or its scope")
        .raise<Error>();
  runtime::profiler::start();
}

void Profile::finish() {
  if (!running_) return;
  running_ = false;
  std::string json = runtime::profiler::stop();
  running = false;
  std::string temporary = path_ + ".tmp";
  std::ofstream out(temporary, std::ios::binary);
  out << json;
  out.close();
  std::error_code ec;
  if (out) std::filesystem::rename(temporary, path_, ec);
  if (!out || ec)
    Message("profile")
        .problem("the trace cannot be written to " + path_)
        .rule("its folder exists and is writable")
        .advice("create the folder first")
        .raise<IoError>();
}

Profile::~Profile() {
  try {
    finish();
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
}

}  // namespace tessera::inline v0

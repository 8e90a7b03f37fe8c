// Profiles: what ran when, for chrome://tracing and Perfetto.
#pragma once

#include <tessera/config.h>

#include <source_location>
#include <string>

namespace tessera::inline v0 {

/// Records from construction to destruction and then writes the file: a row a virtual device with
/// its kernels and library calls, rows for collectives, for what devices share and for the host's
/// threads. Written beside its place and renamed, its folder made where it is missing; IoError at
/// once where that can be seen to fail. Of several processes all make it and end it together:
/// process 0 writes what all of them did, by its own clock. A second profile while one lasts throws
/// Error.
class TESSERA_API Profile {
 public:
  explicit Profile(std::string path, std::source_location loc = std::source_location::current());
  /// Ends the recording; a file that cannot be written is reported on stderr, for destructors do
  /// not throw. Call finish to get the IoError instead.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  void finish();

 private:
  std::string path_;
  std::source_location loc_;
  bool running_ = true;
};

/// auto p = ts::profile("trace.json");
inline Profile profile(std::string path,
                       std::source_location loc = std::source_location::current()) {
  return Profile(std::move(path), loc);
}

}  // namespace tessera::inline v0

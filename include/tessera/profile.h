// Profiles: what ran when, for chrome://tracing and Perfetto; and how much work it was.
//
//   const ts::WorkCounter counter;
//   step(model, x, y);
//   counter.total().flops          // what step.explain(model, x, y).flops predicts
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

/// What programs did, on one device.
struct MeasuredWork {
  double flops = 0;           // as Plan::flops
  double memory_traffic = 0;  // bytes, as Plan::memory_traffic
  bool operator==(const MeasuredWork&) const = default;
};

/// Counts from construction to destruction what compiled programs do, eager operations too, on all
/// threads: each kernel and library call as often as it runs, by the costs of its ops at its
/// shapes. A loop's body counts for the turns that were taken, of branches the one that was.
///
/// What devices have in common counts for each of them: figures are those of one device, of a
/// program for several the mean over those of this process, where they went different ways. A
/// product over the rows of all devices, which stands for their own products and the sum of these,
/// counts a device's rows. `flops` are the same with TESSERA_ISOLATE=1 and without; how operations
/// are put together in kernels, which is what `memory_traffic` depends on, can differ: plans have
/// it as with it. Calls that fail do not count. Without a counter a call costs nothing more.
class TESSERA_API WorkCounter {
 public:
  WorkCounter();
  ~WorkCounter();
  WorkCounter(const WorkCounter&) = delete;
  WorkCounter& operator=(const WorkCounter&) = delete;
  /// Of the calls since it was made; waits for those that are under way.
  MeasuredWork total() const;

 private:
  MeasuredWork before_;
};

/// auto p = ts::profile("trace.json");
inline Profile profile(std::string path,
                       std::source_location loc = std::source_location::current()) {
  return Profile(std::move(path), loc);
}

}  // namespace tessera::inline v0

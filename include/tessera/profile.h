// Profiles: what ran when, for chrome://tracing and Perfetto; and how much work it was.
//
//   const ts::WorkCounter counter;
//   step(model, x, y);
//   counter.total().flops          // what step.explain(model, x, y).flops predicts
#pragma once

#include <tessera/config.h>

#include <map>
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
  /// Bytes received in collectives, as Plan::moved_bytes: in each what the device receives that
  /// receives most in it, as often as it ran. Of n devices with b bytes each that is 2 b (n - 1) /
  /// n for a sum (rounded up) and other combinations, b (n - 1) / n for those of which each keeps a
  /// part and for an all_to_all, b (n - 1) for an all_gather, b for a permutation or broadcast,
  /// whose pairs do not matter; n is the size of the largest group.
  double moved_bytes = 0;
  /// Of these, by mesh axis, as PlannedAxis::moved_bytes where the links of all axes are alike: a
  /// collective over several axes goes along one after the other, a gather along the last one
  /// first.
  std::map<std::string, double> moved_along = {};
  bool operator==(const MeasuredWork&) const = default;
};

/// Counts from construction to destruction what compiled programs do, eager operations too, on all
/// threads: each kernel and library call as often as it runs, by the costs of its ops at its
/// shapes. A loop's body counts for the turns that were taken, of branches the one that was.
///
/// What devices have in common counts for each of them: figures are those of one device, of a
/// program for several the mean over those of this process, where they went different ways. A
/// product over the rows of all devices, which stands for their own products and the sum of these,
/// counts a device's rows, and the sum. Virtual devices share memory, and read there what others
/// would send; it counts as if each had a memory of its own. `flops` and `moved_bytes` are the same
/// with TESSERA_ISOLATE=1 and without; how operations are put together in kernels, which is what
/// `memory_traffic` depends on, can differ: plans have it as with it. Arrays that are brought to
/// where a call wants them, and wholes that are put together, are no collectives. Calls that fail
/// do not count. Without a counter a call costs nothing more.
///
/// Of several processes each counts what its own devices do, and nothing of a program that runs on
/// devices of others alone. What all devices do in the same way has the same figures in all of
/// them; else a device of the whole job does the mean of theirs, each as often as it has devices of
/// the program's mesh (docs/plans.md).
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

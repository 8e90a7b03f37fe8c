// Profiling: timelines for chrome://tracing and Perfetto, and counters of the work done.
//
//   const ts::WorkCounter counter;
//   step(model, x, y);
//   counter.total().flops          // as predicted by step.explain(model, x, y).flops
#pragma once

#include <tessera/config.h>

#include <map>
#include <source_location>
#include <string>

namespace tessera::inline v0 {

/// Records from construction to destruction, then writes the file. The timeline has one row per
/// virtual device with its kernels and library calls, and rows for collectives, for work that
/// devices share, and for host threads. The file is written under a temporary name and renamed, and
/// its folder is created if missing; the constructor throws IoError if writing is bound to fail.
/// With several processes, all of them create and end the profile together, and process 0 writes
/// everything, with times on its own clock. Throws Error if another profile is active.
class TESSERA_API Profile {
 public:
  explicit Profile(std::string path, std::source_location loc = std::source_location::current());
  /// Ends the recording. A file that cannot be written is only reported on stderr, because
  /// destructors do not throw; call finish to get the IoError instead.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  void finish();

 private:
  std::string path_;
  std::source_location loc_;
  bool running_ = true;
};

/// The work that programs did on one device.
struct MeasuredWork {
  double flops = 0;           // see Plan::flops
  double memory_traffic = 0;  // in bytes, see Plan::memory_traffic
  /// Bytes received in collectives, as in Plan::moved_bytes: each run of a collective counts the
  /// bytes of the device that receives most. For groups of n devices (n being the largest group)
  /// with b bytes each, that is 2 b (n - 1) / n (rounded up) for an all-reduce, b (n - 1) / n for a
  /// reduce-scatter or all_to_all, b (n - 1) for an all_gather, and b for a permutation or
  /// broadcast, whatever its pairs.
  double moved_bytes = 0;
  /// The same bytes by mesh axis, as in PlannedAxis::moved_bytes if all axes have equal links: a
  /// collective over several axes runs along one after the other, a gather along the last one
  /// first.
  std::map<std::string, double> moved_along = {};
  bool operator==(const MeasuredWork&) const = default;
};

/// Counts the work of compiled programs on all threads from construction to destruction, including
/// eager operations. Each kernel and library call counts as often as it runs, with the costs of its
/// ops at their shapes. Loop bodies count once per iteration that ran, and only the branch that was
/// taken counts.
///
/// Figures are for one device; if devices of a program take different paths, they are the mean over
/// this process's devices. Work that virtual devices share counts for each of them, as does reading
/// another device's memory, as if each had its own memory. A product over the rows of all devices,
/// which replaces their separate products and the sum of these, counts as one device's rows plus
/// the sum. `flops` and `moved_bytes` do not depend on TESSERA_ISOLATE; `memory_traffic` depends on
/// how operations are fused into kernels, and matches plans exactly under TESSERA_ISOLATE=1. Moving
/// arguments to where a call needs them and assembling whole arrays are not collectives. Failing
/// calls do not count, nor do programs that other platforms than the CPU run; their plans have the
/// figures. Without a counter, calls have no overhead.
///
/// With several processes, each counts only the work of its own devices. Work that all devices do
/// alike gives the same figures in every process; otherwise the figures for a device of the whole
/// job are the mean of the processes' figures, weighted by their number of devices in the program's
/// mesh (docs/plans.md).
class TESSERA_API WorkCounter {
 public:
  WorkCounter();
  ~WorkCounter();
  WorkCounter(const WorkCounter&) = delete;
  WorkCounter& operator=(const WorkCounter&) = delete;
  /// The work of all calls since construction; waits for calls in progress.
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

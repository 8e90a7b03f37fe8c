// A save in progress.
#pragma once

#include "checkpoints/snapshot.h"
#include "checkpoints/staging.h"

#include <tessera/checkpoint.h>
#include <tessera/message.h>

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// The request for a save, as made on the program's thread.
struct SaveRequest {
  const std::string& dir;
  std::int64_t step;
  const std::vector<std::string>& paths;
  const std::vector<Array>& leaves;
  const CheckpointSaveOptions& options;
  SourceLoc loc;
  /// The error of an earlier save of this process. If set, it is reported and nothing is saved.
  std::exception_ptr before = nullptr;
  /// Called in the first process when the step is complete, on the job's thread, with the later
  /// steps that existed when the save began.
  std::function<void(const std::vector<std::int64_t>& later)> then = {};
  /// Whether the existence of later steps is an error.
  bool is_newest = false;
};

class Job {
 public:
  /// Agrees with the other processes on the save, and starts it.
  static std::shared_ptr<Job> begin(const SaveRequest& order);

  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Waits until the save is over; throws its error on every call.
  void wait();
  bool is_done() const;
  /// Whether the save is over and its error, if any, has been reported; also true if the job
  /// belongs to the process that forked this one.
  bool is_settled() const;

 private:
  Job(const SaveRequest& order, std::vector<std::int64_t> later, Snapshot snapshot,
      Staging staging);
  void run() noexcept;
  void join();
  void write();
  void make_step(struct Part part);

  const std::string dir_;
  const SourceLoc loc_;
  const bool overwrite_;
  const int process_, processes_;
  const pid_t pid_;
  std::function<void(const std::vector<std::int64_t>&)> then_;
  const std::vector<std::int64_t> later_;
  Snapshot snapshot_;
  Pieces pieces_;
  Staging staging_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  struct Failure {
    std::optional<ErrorParts> save;  // of a Trouble
    std::exception_ptr other;        // another exception
    bool there() const { return other || save; }
  };
  Failure failure_;
  bool done_ = false, told_ = false;
};

}  // namespace tessera::inline v0::checkpoints

// A save that is under way.
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
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// What is asked for, on the thread of the program.
struct SaveRequest {
  const std::string& dir;
  std::int64_t step;
  const std::vector<std::string>& paths;
  const std::vector<Array>& leaves;
  const CheckpointSaveOptions& options;
  SourceLoc loc;
  /// An earlier save of this process that failed, of which it is told now; then nothing is saved.
  std::exception_ptr before = nullptr;
  /// Called in the first process when the step is there, on the job's thread, with the later steps
  /// that were there when the save began.
  std::function<void(const std::vector<std::int64_t>& later)> then = {};
  /// Whether it is an error that there are later ones.
  bool is_newest = false;
};

class Job {
 public:
  /// Comes to terms with the other processes, and begins.
  static std::shared_ptr<Job> begin(const SaveRequest& order);

  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Returns when it is over; throws its error, as often as it is asked.
  void wait();
  bool is_done() const;
  /// It is over and somebody has been told of its error, or there is none; or it is another
  /// process's, that forked this one.
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
    std::string text;
    std::exception_ptr other;  // what is no Trouble
    bool there() const { return other || !text.empty(); }
  };
  Failure failure_;
  bool done_ = false, told_ = false;
};

}  // namespace tessera::inline v0::checkpoints

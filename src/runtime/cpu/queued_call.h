// A call that runs behind others, with everything that has to outlive it.
#pragma once

#include "runtime/buffer.h"
#include "runtime/cpu/tape_executable.h"
#include "runtime/holds.h"

#include <memory>
#include <vector>

namespace tessera::inline v0::runtime {

class QueuedCall {
 public:
  QueuedCall(std::shared_ptr<const TapeExecutable> owner, std::shared_ptr<const tape::Tape> tape,
             ScopedBlock memory, const Frame& frame)
      : owner_(std::move(owner)),
        tape_(std::move(tape)),
        memory_(std::move(memory)),
        frame_(frame) {}
  ~QueuedCall();
  QueuedCall(const QueuedCall&) = delete;
  QueuedCall& operator=(const QueuedCall&) = delete;

  /// Keeps a buffer until the call is over, and counts it as in flight.
  void hold(const BufferPtr& buffer);
  void keep(std::shared_ptr<CallGiven> given) { given_ = std::move(given); }
  /// A computation that has to be over before.
  void after(std::shared_ptr<Completion> before) { before_.push_back(std::move(before)); }
  /// What the call took. Where it fails, what it has not written over is given back.
  void take(std::vector<Taken> taken);

  void run();
  /// Gives back what it took. `begun`: it has begun to write.
  void give_back(bool begun);

 private:
  std::shared_ptr<const TapeExecutable> owner_;
  std::shared_ptr<const tape::Tape> tape_;
  ScopedBlock memory_;
  Frame frame_;
  std::shared_ptr<CallGiven> given_;  // of the frame
  std::vector<BufferPtr> buffers_;
  std::vector<std::shared_ptr<Completion>> before_;
  std::vector<Taken> taken_;
};

/// Runs a tape, here; DeviceError in the name of `name` where its kernels find no memory.
void execute_for(std::string_view name, const tape::Tape& tape, const Frame& frame);

}  // namespace tessera::inline v0::runtime

// A call that runs from the queue, with everything that must outlive it.
#pragma once

#include "runtime/buffer.h"
#include "runtime/cpu/call_forms.h"
#include "runtime/cpu/tape_executable.h"
#include "runtime/holds.h"
#include "runtime/host/blocks.h"

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

  /// Keeps a buffer alive until the call is over, and counts it as in flight.
  void hold(const BufferPtr& buffer);
  void keep(std::shared_ptr<CallGiven> given) { given_ = std::move(given); }
  void keep(std::unique_ptr<CallForms> forms) { forms_ = std::move(forms); }
  /// Adds a computation that must complete before the call.
  void after(std::shared_ptr<Completion> before) { before_.push_back(std::move(before)); }
  /// Whether it may run before earlier calls.
  bool may_overtake() const;
  /// The arrays that the call took. If it fails, those that it has not overwritten are given back.
  void take(std::vector<Taken> taken);

  void run();
  /// Gives back the taken arrays. `begun`: the call has begun to write.
  void give_back(bool begun);

 private:
  std::shared_ptr<const TapeExecutable> owner_;
  std::shared_ptr<const tape::Tape> tape_;
  ScopedBlock memory_;
  Frame frame_;
  std::shared_ptr<CallGiven> given_;  // used by the frame
  std::unique_ptr<CallForms> forms_;  // used by the frame
  std::vector<BufferPtr> buffers_;
  std::vector<std::shared_ptr<Completion>> before_;
  std::vector<Taken> taken_;
};

/// Runs a tape on this thread; throws DeviceError in the name of `name` if its kernels run out of
/// memory.
void execute_for(std::string_view name, const tape::Tape& tape, const Frame& frame);

}  // namespace tessera::inline v0::runtime

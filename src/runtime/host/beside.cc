#include "runtime/host/beside.h"

#include "base/float_mode.h"
#include "base/process.h"
#include "runtime/host/background_thread.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace tessera::inline v0::runtime {

// The process has one communication thread, because calls that communicate take turns.
class Communicator {
 public:
  static Communicator& instance() {
    static auto* c = new Communicator;  // leaked: its thread ends with the process
    return *c;
  }
  /// False if there is no thread.
  bool begin(Beside& work) {
    std::lock_guard lock(mutex_);
    if (!thread_.start([this] { loop(); })) return false;
    work_ = &work;
    changed_.notify_all();
    return true;
  }
  void wait(const Beside& work) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return work.over_; });
  }
  static void run(Beside& work) noexcept {
    try {
      const ProgramFloats floats;
      work.work_();
    } catch (...) {
      work.error_ = std::current_exception();
    }
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return work_ != nullptr; });
      Beside& work = *std::exchange(work_, nullptr);
      lock.unlock();
      run(work);
      lock.lock();
      work.over_ = true;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Beside* work_ = nullptr;
  BackgroundThread thread_;
};

Beside::Beside(std::function<void()> work) : work_(std::move(work)) {
  handed_over_ = !forked() && Inside::libraries() && Communicator::instance().begin(*this);
  if (!handed_over_) Communicator::run(*this);
}

Beside::~Beside() {
  if (handed_over_) Communicator::instance().wait(*this);
}

void Beside::wait() {
  if (std::exchange(handed_over_, false)) Communicator::instance().wait(*this);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace tessera::inline v0::runtime

#include <tessera/data.h>
#include <tessera/message.h>

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

namespace tessera::inline v0::data::detail {

struct PrefetchQueue::Impl {
  std::mutex mutex;
  std::condition_variable room, ready;
  std::deque<std::shared_ptr<void>> items;
  std::exception_ptr error;
  bool finished = false, stop = false;
  std::thread thread;
  const pid_t process = ::getpid();
  bool is_of_parent() const { return ::getpid() != process; }  // this process has no such thread
};

PrefetchQueue::PrefetchQueue(std::size_t depth, std::function<std::shared_ptr<void>()> next)
    : impl_(std::make_unique<Impl>()) {
  auto produce = [impl = impl_.get(), depth = std::max<std::size_t>(1, depth),
                  next = std::move(next)] {
    for (;;) {
      {
        std::unique_lock lock(impl->mutex);
        impl->room.wait(lock, [&] { return impl->stop || impl->items.size() < depth; });
        if (impl->stop) return;
      }
      std::shared_ptr<void> item;
      std::exception_ptr error;
      try {
        item = next();
      } catch (...) {
        error = std::current_exception();
      }
      std::lock_guard lock(impl->mutex);
      if (!item) {
        impl->error = std::move(error);  // its last owner is the thread that rethrows it
        impl->finished = true;
        impl->ready.notify_all();
        return;
      }
      impl->items.push_back(std::move(item));
      impl->ready.notify_one();
    }
  };
  try {
    impl_->thread = std::thread(std::move(produce));
  } catch (const std::system_error& e) {
    Message("Prefetch")
        .problem(std::string("the system has no thread for it: ") + e.what())
        .rule("items are made on a thread of their own")
        .advice("end other threads first, or call the function that makes items directly")
        .raise<Error>();
  }
}

PrefetchQueue::~PrefetchQueue() {
  if (impl_->is_of_parent()) {
    (void)impl_.release();  // leaked: what the parent's thread holds is never released
    return;
  }
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->room.notify_all();
  impl_->thread.join();
}

std::shared_ptr<void> PrefetchQueue::pop() {
  std::unique_lock lock(impl_->mutex, std::defer_lock);
  if (impl_->is_of_parent()) {
    // The parent's thread may have held the lock during fork, so do not wait for it.
    if (!lock.try_lock() || (impl_->items.empty() && !impl_->finished))
      Message("Prefetch::next")
          .problem("its thread belongs to the process that forked this one")
          .rule("a child of fork has the items that were ready, and no thread that makes more")
          .advice("make the Prefetch after fork")
          .raise<Error>();
  } else {
    lock.lock();
    impl_->ready.wait(lock, [&] { return impl_->finished || !impl_->items.empty(); });
  }
  if (!impl_->items.empty()) {
    std::shared_ptr<void> item = std::move(impl_->items.front());
    impl_->items.pop_front();
    impl_->room.notify_one();
    return item;
  }
  if (impl_->error) std::rethrow_exception(std::exchange(impl_->error, nullptr));
  return nullptr;
}

}  // namespace tessera::inline v0::data::detail

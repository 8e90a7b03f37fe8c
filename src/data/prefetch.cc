#include <tessera/data.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace tessera::inline v0::data::detail {

struct PrefetchQueue::Impl {
  std::mutex mutex;
  std::condition_variable room, ready;
  std::deque<std::shared_ptr<void>> items;
  std::exception_ptr error;
  bool finished = false, stop = false;
  std::thread thread;
};

PrefetchQueue::PrefetchQueue(std::size_t depth, std::function<std::shared_ptr<void>()> next)
    : impl_(std::make_unique<Impl>()) {
  impl_->thread = std::thread(
      [impl = impl_.get(), depth = std::max<std::size_t>(1, depth), next = std::move(next)] {
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
            impl->error = std::move(error);  // the last owner is who rethrows it
            impl->finished = true;
            impl->ready.notify_all();
            return;
          }
          impl->items.push_back(std::move(item));
          impl->ready.notify_one();
        }
      });
}

PrefetchQueue::~PrefetchQueue() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->room.notify_all();
  impl_->thread.join();
}

std::shared_ptr<void> PrefetchQueue::pop() {
  std::unique_lock lock(impl_->mutex);
  impl_->ready.wait(lock, [&] { return impl_->finished || !impl_->items.empty(); });
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

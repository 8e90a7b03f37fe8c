#include "runtime/completion.h"

#include <algorithm>
#include <utility>

namespace tessera::inline v0::runtime {

void Event::wait() {
  if (!done()) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_.load(std::memory_order_relaxed); });
  }
  if (error_) std::rethrow_exception(error_);
}

void Event::then(Then f) {
  {
    std::lock_guard lock(mutex_);
    if (!done_.load(std::memory_order_relaxed)) {
      then_.push_back(std::move(f));
      return;
    }
  }
  f(error_);
}

void Event::end(std::exception_ptr error) noexcept {
  std::vector<Then> then;
  {
    std::lock_guard lock(mutex_);
    error_ = std::move(error);
    then.swap(then_);
    done_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
  for (const Then& f : then) f(error_);
}

namespace {

class All : public Completion {
 public:
  explicit All(std::vector<std::shared_ptr<Completion>> parts) : parts_(std::move(parts)) {}

  void wait() override {
    std::exception_ptr error;
    for (const auto& p : parts_) {
      try {
        p->wait();
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    }
    if (error) std::rethrow_exception(error);
  }
  bool done() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const auto& p) { return p->done(); });
  }
  void then(Then f) override {
    struct Rest {
      Then f;
      std::atomic<std::size_t> open;
      std::vector<std::exception_ptr> errors;  // by part
    };
    auto rest = std::make_shared<Rest>(std::move(f), parts_.size());
    rest->errors.resize(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i)
      parts_[i]->then([rest, i](const std::exception_ptr& error) {
        rest->errors[i] = error;
        if (rest->open.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        const auto first = std::find_if(rest->errors.begin(), rest->errors.end(),
                                        [](const auto& e) { return e != nullptr; });
        rest->f(first == rest->errors.end() ? nullptr : *first);
      });
  }

 private:
  std::vector<std::shared_ptr<Completion>> parts_;
};

}  // namespace

std::shared_ptr<Completion> all_of(std::vector<std::shared_ptr<Completion>> parts) {
  std::erase(parts, nullptr);
  if (parts.empty()) return nullptr;
  if (parts.size() == 1) return std::move(parts[0]);
  return std::make_shared<All>(std::move(parts));
}

}  // namespace tessera::inline v0::runtime

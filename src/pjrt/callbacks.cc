#include "pjrt/callbacks.h"

#include "pjrt/element.h"
#include "pjrt/error.h"
#include "runtime/host/dispatcher.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tessera::inline v0::pjrt {

namespace {

std::atomic<TesseraCallback> g_callback{nullptr};

// How many functions in programs have each number. The numbers' owner asks before it forgets one.
class Users {
 public:
  static Users& all() {
    static auto* users = new Users;  // never destroyed: programs may outlive static variables
    return *users;
  }
  void add(std::int64_t index) {
    const std::lock_guard lock(mutex_);
    ++count_[index];
  }
  void remove(std::int64_t index) {
    const std::lock_guard lock(mutex_);
    const auto it = count_.find(index);
    if (--it->second == 0) count_.erase(it);
  }
  std::int64_t of(std::int64_t index) {
    const std::lock_guard lock(mutex_);
    const auto it = count_.find(index);
    return it == count_.end() ? 0 : it->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::int64_t, std::int64_t> count_;
};

// The arrays of a call as Python sees them. Elements that the runtime stores in a wider dtype are
// converted to and from bytes of their own.
class Seen {
 public:
  Seen(std::span<const Element* const> elements, std::span<const HostArray> arrays)
      : elements_(elements), arrays_(arrays) {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const HostArray& a = arrays[i];
      TesseraArray& seen = seen_.emplace_back();
      seen = {a.bytes, elements[i]->type, a.shape.rank(), a.shape.data()};
      if (elements[i]->is_stored_as_seen()) continue;
      own_.emplace_back(
          std::make_unique<std::byte[]>(static_cast<std::size_t>(a.count() * elements[i]->bytes)));
      seen.data = own_.back().get();
    }
  }
  const TesseraArray* data() const { return seen_.data(); }
  std::int32_t size() const { return static_cast<std::int32_t>(seen_.size()); }
  void show_all() const {
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (!elements_[i]->is_stored_as_seen())
        show(*elements_[i], arrays_[i].bytes, static_cast<std::byte*>(seen_[i].data),
             arrays_[i].count());
  }
  void store_all() const {
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (!elements_[i]->is_stored_as_seen())
        store(*elements_[i], static_cast<const std::byte*>(seen_[i].data), arrays_[i].bytes,
              arrays_[i].count());
  }

 private:
  const std::span<const Element* const> elements_;
  const std::span<const HostArray> arrays_;
  std::vector<TesseraArray> seen_;
  std::vector<std::unique_ptr<std::byte[]>> own_;
};

class PythonFunction final : public HostFunction {
 public:
  explicit PythonFunction(const stablehlo::HostCall& call) : index_(call.index) {
    for (const std::string_view element : call.operands) operands_.push_back(&element_of(element));
    for (const std::string_view element : call.results) results_.push_back(&element_of(element));
    Users::all().add(index_);
  }
  ~PythonFunction() override { Users::all().remove(index_); }
  PythonFunction(const PythonFunction&) = delete;
  PythonFunction& operator=(const PythonFunction&) = delete;

  std::string name() const override { return "Python function " + std::to_string(index_); }

  void call(std::int64_t device, std::span<const HostArray> operands,
            std::span<HostArray> results) const override {
    const TesseraCallback callback = g_callback.load();
    if (!callback)
      throw Failure(PJRT_Error_Code_FAILED_PRECONDITION,
                    "a program calls a function of Python, but Python has ended, or the package "
                    "jax-tessera is not loaded");
    const Seen in(operands_, operands), out(results_, results);
    in.show_all();
    constexpr std::size_t kLongest = 1 << 16;
    const auto error = std::make_unique_for_overwrite<char[]>(kLongest);
    error[0] = 0;
    if (callback(index_, device, in.size(), in.data(), out.size(), out.data(), error.get(),
                 kLongest))
      throw Failure(PJRT_Error_Code_INTERNAL, std::string("a callback failed: ") + error.get());
    out.store_all();
  }

 private:
  std::int64_t index_;
  std::vector<const Element*> operands_, results_;
};

}  // namespace

std::shared_ptr<const HostFunction> python_function(const stablehlo::HostCall& call) {
  return std::make_shared<const PythonFunction>(call);
}

}  // namespace tessera::inline v0::pjrt

void tessera_pjrt_set_callback(TesseraCallback callback) {
  if (!callback) tessera::runtime::wait_for_calls();
  tessera::pjrt::g_callback.store(callback);
}

void tessera_pjrt_wait() { tessera::runtime::wait_for_calls(); }

std::int64_t tessera_pjrt_callback_users(std::int64_t index) {
  return tessera::pjrt::Users::all().of(index);
}

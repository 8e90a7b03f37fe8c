#include "pjrt/callbacks.h"

#include "pjrt/element.h"
#include "pjrt/error.h"
#include "runtime/host/dispatcher.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::inline v0::pjrt {

namespace {

std::atomic<TesseraCallback> g_callback{nullptr};
// The number of threads that are in the function or about to load its pointer.
std::atomic<int> g_inside{0};

struct Entered {
  Entered() { g_inside.fetch_add(1); }
  ~Entered() {
    if (g_inside.fetch_sub(1) == 1) g_inside.notify_all();
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
};

// Counts how many functions in programs use each number. The owner of the numbers asks before it
// frees one.
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
// converted in a separate buffer.
class Seen {
 public:
  Seen(std::span<const Element* const> elements, std::span<const HostArray> arrays)
      : elements_(elements), arrays_(arrays) {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const HostArray& a = arrays[i];
      TesseraArray& seen = seen_.emplace_back();
      seen = {a.bytes, static_cast<std::int32_t>(elements[i]->type), a.shape.rank(),
              a.shape.data()};
      if (elements[i]->is_stored_as_seen()) continue;
      own_.emplace_back(
          std::make_unique<std::byte[]>(static_cast<std::size_t>(a.count() * elements[i]->bytes)));
      seen.data = own_.back().get();
    }
  }
  std::span<const TesseraArray> all() const { return seen_; }
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

// Keeps the number of a function in use as long as the object lives.
class Used {
 public:
  explicit Used(std::int64_t index) : index_(index) { Users::all().add(index_); }
  ~Used() { Users::all().remove(index_); }
  Used(const Used&) = delete;
  Used& operator=(const Used&) = delete;

  void call(std::int64_t device, std::span<const TesseraArray> operands,
            std::span<const TesseraArray> results) const {
    const Entered entered;
    const TesseraCallback callback = g_callback.load();
    if (!callback)
      throw Failure(PJRT_Error_Code_FAILED_PRECONDITION,
                    "a program calls a function of Python, but Python has ended, or the package "
                    "jax-tessera is not loaded");
    constexpr std::size_t kLongest = 1 << 16;
    const auto error = std::make_unique_for_overwrite<char[]>(kLongest);
    error[0] = 0;
    if (callback(index_, device, static_cast<std::int32_t>(operands.size()), operands.data(),
                 static_cast<std::int32_t>(results.size()), results.data(), error.get(), kLongest))
      throw Failure(PJRT_Error_Code_INTERNAL, std::string("a callback failed: ") + error.get());
  }
  std::string name() const { return "Python function " + std::to_string(index_); }

 private:
  const std::int64_t index_;
};

class PythonFunction final : public HostFunction {
 public:
  explicit PythonFunction(const stablehlo::HostCall& call) : used_(call.index) {
    for (const std::string_view element : call.operands) operands_.push_back(&element_of(element));
    for (const std::string_view element : call.results) results_.push_back(&element_of(element));
  }
  std::string name() const override { return used_.name(); }

  void call(std::int64_t device, std::span<const HostArray> operands,
            std::span<HostArray> results) const override {
    const Seen in(operands_, operands), out(results_, results);
    in.show_all();
    used_.call(device, in.all(), out.all());
    out.store_all();
  }

 private:
  const Used used_;
  std::vector<const Element*> operands_, results_;
};

// A callback that does not run in calls: it is only told how its operand is sharded.
class PythonInspector final : public HostFunction {
 public:
  explicit PythonInspector(std::int64_t index) : used_(index) {}
  std::string name() const override { return used_.name(); }
  void call(std::int64_t, std::span<const HostArray>, std::span<HostArray>) const override {}
  void placed(std::size_t, const MeshShape& mesh, const Spec& spec) const override {
    placement_ = {mesh, spec};
  }

  void tell(const std::vector<int>& devices) const {
    std::vector<std::int64_t> parts, ids;
    if (placement_) {
      const auto& [mesh, spec] = *placement_;
      // The mesh's axes in the order of the dimensions that they shard; axes that shard no
      // dimension come last.
      Strings by_part;
      for (const auto& axes : spec.dims()) {
        parts.push_back(mesh.size_of(axes));
        by_part.insert(by_part.end(), axes.begin(), axes.end());
      }
      for (const std::string& axis : mesh.axes)
        if (std::find(by_part.begin(), by_part.end(), axis) == by_part.end())
          by_part.push_back(axis);
      ids.resize(static_cast<std::size_t>(mesh.size()));
      for (std::int64_t d = 0; d < mesh.size(); ++d)
        ids[static_cast<std::size_t>(mesh.index_along(d, by_part))] =
            devices.empty() ? d : devices[static_cast<std::size_t>(d)];
    }
    const std::int64_t counts[] = {static_cast<std::int64_t>(parts.size()),
                                   static_cast<std::int64_t>(ids.size())};
    const TesseraArray operands[] = {{parts.data(), PJRT_Buffer_Type_S64, 1, &counts[0]},
                                     {ids.data(), PJRT_Buffer_Type_S64, 1, &counts[1]}};
    used_.call(0, operands, {});
  }

 private:
  const Used used_;
  mutable std::optional<std::pair<MeshShape, Spec>> placement_;
};

}  // namespace

std::shared_ptr<const HostFunction> PythonFunctions::add(const stablehlo::HostCall& call) {
  if (call.only_placed)
    all_.push_back(std::make_shared<const PythonInspector>(call.index));
  else
    all_.push_back(std::make_shared<const PythonFunction>(call));
  return all_.back();
}

void PythonFunctions::tell_placements(const std::vector<int>& devices) const {
  for (const auto& function : all_)
    if (const auto* inspector = dynamic_cast<const PythonInspector*>(function.get()))
      inspector->tell(devices);
}

}  // namespace tessera::inline v0::pjrt

void tessera_pjrt_set_callback(TesseraCallback callback) {
  using namespace tessera::pjrt;
  if (callback) return g_callback.store(callback);
  // Calls under way still find the function, so they end first. A call that another thread starts
  // meanwhile may have loaded the pointer before it became null; it is waited for below.
  tessera::runtime::wait_for_calls();
  g_callback.store(nullptr);
  if (tessera::InCallback::is()) return;
  for (int inside; (inside = g_inside.load()) != 0;) g_inside.wait(inside);
}

void tessera_pjrt_wait() { tessera::runtime::wait_for_calls(); }

std::int64_t tessera_pjrt_callback_users(std::int64_t index) {
  return tessera::pjrt::Users::all().of(index);
}

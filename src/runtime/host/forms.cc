// Implements runtime/forms.h.
#include "runtime/forms.h"

#include "base/message.h"
#include "base/process.h"
#include "base/settings.h"
#include "runtime/buffer.h"
#include "runtime/host/memory_limit.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::inline v0::runtime {

struct Forms::Entry {
  FormPtr form;
  int calls = 0;  // that found no form
  std::list<Entry*>::iterator place{};
  std::int64_t bytes = 0;
};
// By the operand's address and the key.
struct Forms::Entries {
  struct Before {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      if (a.first != b.first) return std::less<const void*>()(a.first, b.first);
      return std::string_view(a.second) < std::string_view(b.second);
    }
  };
  std::map<std::pair<const void*, std::string>, Entry, Before> of;
};

// The process has one list, because the limit is on its memory.
struct KeptForms {
  std::mutex mutex;
  std::list<Forms::Entry*> by_use;  // with a form, the most recently used first
  std::int64_t bytes = 0, limit = -1, evicted = 0;

  KeptForms() { hold_over_fork(mutex); }
  static KeptForms& instance() {
    static auto* k = new KeptForms;  // leaked, because arrays may outlive main's statics
    return *k;
  }

  // The following require the lock.
  std::int64_t most() {
    if (limit >= 0) return limit;
    const std::optional<std::int64_t> megabytes = settings::number("TESSERA_OPERAND_CACHE_MB");
    limit = megabytes ? std::min(*megabytes, std::numeric_limits<std::int64_t>::max() >> 20) << 20
                      : memory_limit() / 4;
    return limit;
  }
  FormPtr take(Forms::Entry& e) {
    by_use.erase(e.place);
    bytes -= e.bytes;
    e.calls = 0;
    return std::exchange(e.form, nullptr);
  }
  // Removes the least recently used forms until at most `least` bytes remain.
  std::vector<FormPtr> shrink(std::int64_t least) {
    std::vector<FormPtr> gone;
    while (bytes > least && !by_use.empty()) gone.push_back(take(*by_use.back()));
    return gone;
  }
};

Form::Form(std::size_t bytes) : memory_(Buffer::allocate(bytes)), bytes_(bytes) {}
std::byte* Form::data() const { return memory_->host_data(); }

Forms::Forms() = default;
Forms::~Forms() { forget(); }

Forms::Found Forms::find(const void* operand, std::string_view key, std::size_t bytes,
                         bool repeats) {
  constexpr int kCallsBefore = 2;
  KeptForms& all = KeptForms::instance();
  const std::pair<const void*, std::string_view> name(operand, key);
  const auto size = static_cast<std::int64_t>(bytes);
  bool keep = false;
  FormPtr failed;
  {
    std::lock_guard lock(all.mutex);
    if (!entries_) entries_ = std::make_unique<Entries>();
    auto it = entries_->of.find(name);
    if (it == entries_->of.end())
      it = entries_->of.emplace(std::pair(operand, std::string(key)), Entry{}).first;
    Entry& e = it->second;
    const Form::State state = e.form ? e.form->state() : Form::State::given_up;
    if (state == Form::State::ready) {
      all.by_use.splice(all.by_use.begin(), all.by_use, e.place);
      return {e.form, false};
    }
    if (e.form && state == Form::State::given_up) failed = all.take(e);
    const bool fits = size <= all.most();
    if (state == Form::State::given_up) keep = ++e.calls >= kCallsBefore && fits;
    if (!keep && !(repeats && fits)) return {};
  }
  FormPtr form;
  try {
    form = std::make_shared<Form>(bytes);
  } catch (const DeviceError&) {
    return {};
  }
  if (!keep) return {std::move(form), true};
  std::vector<FormPtr> gone;
  {
    std::lock_guard lock(all.mutex);
    // Another call may have come first, or the memory may be about to change.
    const auto it = entries_ ? entries_->of.find(name) : decltype(entries_->of)::iterator();
    if (entries_ && it != entries_->of.end() && !it->second.form) {
      Entry& e = it->second;
      gone = all.shrink(all.most() - size);
      all.evicted += std::ssize(gone);
      e.form = form;
      e.bytes = size;
      all.by_use.push_front(&e);
      e.place = all.by_use.begin();
      all.bytes += size;
    }
  }
  return {std::move(form), true};
}

void Forms::forget() {
  // Destroyed after the lock is released.
  std::unique_ptr<Entries> gone;
  std::vector<FormPtr> forms;
  KeptForms& all = KeptForms::instance();
  std::lock_guard lock(all.mutex);
  if (!entries_) return;
  for (auto& [_, e] : entries_->of)
    if (e.form) forms.push_back(all.take(e));
  gone = std::move(entries_);
}

std::int64_t forms_limit() {
  KeptForms& all = KeptForms::instance();
  std::lock_guard lock(all.mutex);
  return all.most();
}

void set_forms_limit(std::int64_t bytes) {
  std::vector<FormPtr> gone;
  KeptForms& all = KeptForms::instance();
  std::lock_guard lock(all.mutex);
  all.limit = bytes;
  gone = all.shrink(bytes);
  all.evicted += std::ssize(gone);
}

bool drop_forms() {
  std::vector<FormPtr> gone;
  KeptForms& all = KeptForms::instance();
  std::lock_guard lock(all.mutex);
  gone = all.shrink(0);
  return !gone.empty();
}

FormsStats forms_stats() {
  KeptForms& all = KeptForms::instance();
  std::lock_guard lock(all.mutex);
  return {all.bytes, std::ssize(all.by_use), all.evicted};
}

}  // namespace tessera::inline v0::runtime

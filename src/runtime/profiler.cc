#include "runtime/profiler.h"

#include "base/process.h"
#include "base/thread_kept.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace tessera::inline v0::runtime::profiler {

std::atomic<bool> g_on{false};

namespace {

struct Event {
  std::string name;
  const char* kind;
  std::int64_t row, begin, end;  // nanoseconds
};
// The events of one thread. The lock is uncontended except while a trace is collected.
struct Thread {
  std::mutex mutex;
  std::vector<Event> events;
  int number = 0;
};
struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Thread>> threads;
  std::int64_t origin = 0;
};
Registry& registry() {
  static Registry* a = new Registry;
  return *a;
}
Thread& mine() {
  thread_local const ThreadKept<std::shared_ptr<Thread>> t([] {
    auto made = std::make_shared<Thread>();
    Locked lock(registry().mutex);
    made->number = static_cast<int>(registry().threads.size());
    registry().threads.push_back(made);
    return made;
  }());
  return **t;
}
std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void Scope::begin(std::string_view name, const char* kind, std::int64_t row) {
  name_ = name;
  kind_ = kind;
  row_ = row;
  begin_ = now();
}
void Scope::end() {
  if (!on()) return;
  Thread& t = mine();
  Locked lock(t.mutex);
  t.events.push_back({std::move(name_), kind_, row_, begin_, now()});
}

void start() {
  Locked lock(registry().mutex);
  for (auto& t : registry().threads) {
    Locked own(t->mutex);
    t->events.clear();
  }
  registry().origin = now();
  g_on.store(true);
}

std::int64_t origin() {
  Locked lock(registry().mutex);
  return registry().origin;
}

std::string stop(const Among& among) {
  using nlohmann::json;
  g_on.store(false);
  Locked lock(registry().mutex);
  const std::int64_t origin = among.origin.value_or(registry().origin);
  const int devices = 2 * among.process + 1, host = devices + 1;
  json events = json::array();
  auto label = [&](const char* what, int pid, std::int64_t tid, const std::string& name) {
    json e = {{"ph", "M"}, {"name", what}, {"pid", pid}, {"args", {{"name", name}}}};
    if (tid >= 0) e["tid"] = tid;
    events.push_back(std::move(e));
  };
  const std::string of =
      among.processes == 1 ? "" : "process " + std::to_string(among.process) + ": ";
  label("process_name", devices, -1, of + "devices");
  label("process_name", host, -1, of + "host");
  std::set<std::int64_t> rows;
  for (auto& t : registry().threads) {
    Locked own(t->mutex);
    bool any = false;
    for (const Event& e : t->events) {
      const bool on_host = e.row == kHost;
      // Rows in this order: shared work, collectives, device 0, ...
      const std::int64_t tid = on_host                 ? t->number
                               : e.row == kShared      ? 0
                               : e.row == kCollectives ? 1
                                                       : e.row + 2;
      any = any || on_host;
      if (!on_host) rows.insert(e.row);
      events.push_back({{"ph", "X"},
                        {"name", e.name},
                        {"cat", e.kind},
                        {"pid", on_host ? host : devices},
                        {"tid", tid},
                        {"ts", static_cast<double>(e.begin - origin) / 1e3},
                        {"dur", static_cast<double>(e.end - e.begin) / 1e3}});
    }
    if (any) label("thread_name", host, t->number, "thread " + std::to_string(t->number));
    t->events.clear();
  }
  for (std::int64_t r : rows)
    label("thread_name", devices,
          r == kShared        ? 0
          : r == kCollectives ? 1
                              : r + 2,
          r == kShared        ? "all devices"
          : r == kCollectives ? "collectives"
                              : "device " + std::to_string(r));
  const std::string text = events.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.substr(1, text.size() - 2);
}

std::string trace(std::span<const std::string> events) {
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  bool first = true;
  for (const std::string& some : events) {
    if (some.empty()) continue;
    text += (first ? "" : ",") + some;
    first = false;
  }
  return text + "]}";
}

}  // namespace tessera::inline v0::runtime::profiler

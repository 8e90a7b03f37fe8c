#include "runtime/profiler.h"

#include "base/process.h"
#include "base/thread_kept.h"
#include "runtime/backend.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace tessera::inline v0::runtime::profiler {

std::atomic<bool> g_on{false};

namespace {

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
// "device 1", or on a platform other than the CPU "cuda device 1".
std::string device_label(std::int64_t row) {
  const std::vector<std::string> names = platforms();
  const auto platform = static_cast<std::size_t>(row >> 32);
  const std::string of = platform == 0 || platform >= names.size() ? "" : names[platform] + " ";
  return of + "device " + std::to_string(row & 0xffffffff);
}

}  // namespace

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Scope::begin(std::string_view name, const char* kind, std::int64_t row,
                  const SourceLoc& line) {
  name_ = name;
  kind_ = kind;
  row_ = row;
  line_ = line;
  begin_ = now();
}
void Scope::end() {
  if (!on()) return;
  Thread& t = mine();
  Locked lock(t.mutex);
  t.events.push_back({std::move(name_), kind_, row_, begin_, now(), line_, t.number});
}

void record(Event event) {
  if (!on()) return;
  Thread& t = mine();
  event.thread = t.number;
  Locked lock(t.mutex);
  t.events.push_back(std::move(event));
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

std::vector<Event> take() {
  g_on.store(false);
  std::vector<Event> all;
  Locked lock(registry().mutex);
  for (auto& t : registry().threads) {
    Locked own(t->mutex);
    std::move(t->events.begin(), t->events.end(), std::back_inserter(all));
    t->events.clear();
  }
  return all;
}

std::string stop(const Among& among) {
  using nlohmann::json;
  const std::int64_t origin = among.origin.value_or(profiler::origin());
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
  std::set<int> threads;
  for (const Event& e : take()) {
    const bool on_host = e.row == kHost;
    // Rows in this order: shared work, collectives, device 0, ...
    const std::int64_t tid = on_host                 ? e.thread
                             : e.row == kShared      ? 0
                             : e.row == kCollectives ? 1
                                                     : e.row + 2;
    if (on_host)
      threads.insert(e.thread);
    else
      rows.insert(e.row);
    json event = {{"ph", "X"},
                  {"name", e.name},
                  {"cat", e.kind},
                  {"pid", on_host ? host : devices},
                  {"tid", tid},
                  {"ts", static_cast<double>(e.begin - origin) / 1e3},
                  {"dur", static_cast<double>(e.end - e.begin) / 1e3}};
    if (const std::string line = to_string(e.line); !line.empty()) event["args"]["line"] = line;
    events.push_back(std::move(event));
  }
  for (const int t : threads) label("thread_name", host, t, "thread " + std::to_string(t));
  for (std::int64_t r : rows)
    label("thread_name", devices,
          r == kShared        ? 0
          : r == kCollectives ? 1
                              : r + 2,
          r == kShared        ? "all devices"
          : r == kCollectives ? "collectives"
                              : device_label(r));
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

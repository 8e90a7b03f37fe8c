#include "pjrt/profiler.h"

#include "base/message.h"
#include "pjrt/error.h"
#include "pjrt/profiler_abi.h"
#include "platforms/proto.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <tuple>

struct PLUGIN_Profiler_Error {
  PJRT_Error_Code code;
  std::string text;
};

struct PLUGIN_Profiler {
  bool is_running = false;
  std::int64_t wall_clock = 0;
  std::string collected = {};  // a message XSpace
};

namespace tessera::inline v0::pjrt {

using platforms::ProtoWriter;

namespace {

namespace profiler = runtime::profiler;

// The fields of the messages.
namespace space {
constexpr std::uint32_t kPlanes = 1;
}
namespace plane {
constexpr std::uint32_t kId = 1, kName = 2, kLines = 3, kEventMetadata = 4, kStatMetadata = 5;
}
namespace line {
constexpr std::uint32_t kId = 1, kName = 2, kTimestampNs = 3, kEvents = 4;
}
namespace event {
constexpr std::uint32_t kMetadataId = 1, kOffsetPs = 2, kDurationPs = 3, kStats = 4;
}
namespace metadata {
constexpr std::uint32_t kId = 1, kName = 2;
}
namespace stat {
constexpr std::uint32_t kMetadataId = 1, kReference = 7;
}
namespace entry {
constexpr std::uint32_t kKey = 1, kValue = 2;
}

// JAX's converter shows planes with this prefix, as it shows GPUs.
constexpr const char* kPlaneNames = "/device:CUSTOM:Tessera ";
constexpr std::int64_t kPicoseconds = 1000;  // in a nanosecond

std::int64_t nanoseconds(auto time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// The scopes in the name of a step, "model/layer_0" in "model/layer_0/dot_general".
std::string scope_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == name.npos ? std::string() : name.substr(0, slash);
}

class Plane {
 public:
  Plane(std::int64_t id, const std::string& name) {
    text_.number(plane::kId, id);
    text_.bytes(plane::kName, kPlaneNames + name);
  }

  void add_line(std::int64_t id, const std::string& name,
                const std::vector<const profiler::Event*>& events, std::int64_t wall_clock) {
    ProtoWriter made;
    made.number(line::kId, id);
    made.bytes(line::kName, name);
    const std::int64_t begin = events.front()->begin;
    made.number(line::kTimestampNs, begin + wall_clock);
    for (const profiler::Event* e : events) {
      const Known& of = known(*e);
      ProtoWriter one;
      one.number(event::kMetadataId, of.metadata);
      one.number(event::kOffsetPs, (e->begin - begin) * kPicoseconds);
      one.number(event::kDurationPs, (e->end - e->begin) * kPicoseconds);
      made.bytes(line::kEvents, one.text() + of.stats);
    }
    text_.bytes(plane::kLines, made.text());
  }

  std::string finish() {
    for (const auto& [text, id] : texts_) {
      ProtoWriter made;
      made.number(metadata::kId, id);
      made.bytes(metadata::kName, text);
      add_entry(plane::kStatMetadata, id, made.text());
    }
    return text_.text();
  }

 private:
  void add_entry(std::uint32_t field, std::int64_t key, const std::string& value) {
    ProtoWriter made;
    made.number(entry::kKey, key);
    made.bytes(entry::kValue, value);
    text_.bytes(field, made.text());
  }

  // The number of a text among the plane's: statistics refer to their names and values.
  std::int64_t reference(const std::string& text) {
    return texts_.try_emplace(text, static_cast<std::int64_t>(texts_.size()) + 1).first->second;
  }

  void add_stat(std::string& to, const std::string& name, const std::string& value) {
    if (value.empty()) return;
    ProtoWriter made;
    made.number(stat::kMetadataId, reference(name));
    made.number(stat::kReference, reference(value));
    ProtoWriter field;
    field.bytes(event::kStats, made.text());
    to += field.text();
  }

  // The data shared by events that differ only in their times.
  struct Known {
    std::int64_t metadata;
    std::string stats;  // as fields of an event
  };
  const Known& known(const profiler::Event& e) {
    const std::string source = to_string(e.line).empty()
                                   ? std::string()
                                   : e.line.file + (":" + std::to_string(e.line.line));
    const auto [it, is_new] = events_.try_emplace({e.name, e.kind, source});
    if (!is_new) return it->second;
    const auto id = static_cast<std::int64_t>(events_.size());
    it->second.metadata = id;
    ProtoWriter made;
    made.number(metadata::kId, id);
    made.bytes(metadata::kName, e.name);
    add_entry(plane::kEventMetadata, id, made.text());
    add_stat(it->second.stats, "kind", e.kind);
    if (e.row != profiler::kHost) add_stat(it->second.stats, "scope", scope_of(e.name));
    add_stat(it->second.stats, "source", source);
    return it->second;
  }

  ProtoWriter text_;
  std::map<std::tuple<std::string, std::string, std::string>, Known> events_;
  std::map<std::string, std::int64_t> texts_;
};

std::string name_of_row(std::int64_t row) {
  return row == profiler::kShared        ? "all devices"
         : row == profiler::kCollectives ? "collectives"
                                         : "device " + std::to_string(row);
}

}  // namespace

std::string xspace_of(const std::vector<profiler::Event>& events, std::int64_t wall_clock) {
  std::map<std::int64_t, std::vector<const profiler::Event*>> rows, threads;
  for (const profiler::Event& e : events)
    (e.row == profiler::kHost ? threads[e.thread] : rows[e.row]).push_back(&e);
  for (auto* lines : {&rows, &threads})
    for (auto& [number, line] : *lines)
      std::stable_sort(line.begin(), line.end(),
                       [](const auto* a, const auto* b) { return a->begin < b->begin; });
  Plane devices(1, "devices"), host(2, "host");
  // Shared work, collectives, device 0, ...
  for (const std::int64_t row : {profiler::kShared, profiler::kCollectives})
    if (const auto it = rows.find(row); it != rows.end())
      devices.add_line(row == profiler::kShared ? 0 : 1, name_of_row(row), it->second, wall_clock);
  for (const auto& [row, line] : rows)
    if (row >= 0) devices.add_line(row + 2, name_of_row(row), line, wall_clock);
  for (const auto& [thread, line] : threads)
    host.add_line(thread, "thread " + std::to_string(thread), line, wall_clock);
  ProtoWriter all;
  if (!rows.empty()) all.bytes(space::kPlanes, devices.finish());
  if (!threads.empty()) all.bytes(space::kPlanes, host.finish());
  return all.text();
}

namespace {

// The process has one timeline, so only one profiler can run at a time.
std::atomic<bool> profiling{false};

template <class F>
PLUGIN_Profiler_Error* guarded_for_profiler(F&& body) noexcept {
  PJRT_Error* const error = guarded(std::forward<F>(body));
  if (!error) return nullptr;
  const std::unique_ptr<PJRT_Error> owner(error);
  return new PLUGIN_Profiler_Error{error->code, error->text};
}

void profiler_error_destroy(PLUGIN_Profiler_Error_Destroy_Args* args) { delete args->error; }
void profiler_error_message(PLUGIN_Profiler_Error_Message_Args* args) {
  args->message = args->error->text.data();
  args->message_size = args->error->text.size();
}
PLUGIN_Profiler_Error* profiler_error_get_code(PLUGIN_Profiler_Error_GetCode_Args* args) {
  args->code = static_cast<std::int32_t>(args->error->code);
  return nullptr;
}

void end_profile(PLUGIN_Profiler& p) {
  if (!p.is_running) return;
  p.is_running = false;
  const std::vector<profiler::Event> events = profiler::take();
  profiling = false;
  p.collected = xspace_of(events, p.wall_clock);
}

PLUGIN_Profiler_Error* profiler_create(PLUGIN_Profiler_Create_Args* args) {
  return guarded_for_profiler([&] { args->profiler = new PLUGIN_Profiler; });
}
PLUGIN_Profiler_Error* profiler_destroy(PLUGIN_Profiler_Destroy_Args* args) {
  return guarded_for_profiler([&] {
    const std::unique_ptr<PLUGIN_Profiler> owner(args->profiler);
    if (owner) end_profile(*owner);
  });
}
PLUGIN_Profiler_Error* profiler_start(PLUGIN_Profiler_Start_Args* args) {
  return guarded_for_profiler([&] {
    if (args->profiler->is_running) return;
    if (profiling.exchange(true))
      throw Failure(PJRT_Error_Code_FAILED_PRECONDITION,
                    "a profile is being recorded already, and a process records one at a time");
    args->profiler->is_running = true;
    args->profiler->wall_clock = nanoseconds(std::chrono::system_clock::now()) -
                                 nanoseconds(std::chrono::steady_clock::now());
    profiler::start();
  });
}
PLUGIN_Profiler_Error* profiler_stop(PLUGIN_Profiler_Stop_Args* args) {
  return guarded_for_profiler([&] { end_profile(*args->profiler); });
}
PLUGIN_Profiler_Error* profiler_collect(PLUGIN_Profiler_CollectData_Args* args) {
  return guarded_for_profiler([&] {
    std::string& bytes = args->profiler->collected;
    if (args->buffer)
      std::memcpy(args->buffer, bytes.data(), std::min(args->buffer_size_in_bytes, bytes.size()));
    else
      args->buffer = reinterpret_cast<std::uint8_t*>(bytes.data());
    args->buffer_size_in_bytes = bytes.size();
  });
}

}  // namespace

PJRT_Extension_Base* profiler_extension() {
  static PLUGIN_Profiler_Api functions{sizeof(PLUGIN_Profiler_Api),
                                       nullptr,
                                       profiler_error_destroy,
                                       profiler_error_message,
                                       profiler_error_get_code,
                                       profiler_create,
                                       profiler_destroy,
                                       profiler_start,
                                       profiler_stop,
                                       profiler_collect};
  static PJRT_Profiler_Extension extension{
      {sizeof(PJRT_Profiler_Extension), PJRT_Extension_Type_Profiler, nullptr}, &functions, 0};
  return &extension.base;
}

}  // namespace tessera::inline v0::pjrt

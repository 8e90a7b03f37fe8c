// Profiles as a client takes them: the plug-in's events as a message XSpace.
#include "pjrt/profiler_abi.h"

#include "pjrt/caller.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using plugin::api;
using plugin::Client;
using plugin::make;

namespace {

static_assert(sizeof(PLUGIN_Profiler_Api) == 80);
static_assert(offsetof(PLUGIN_Profiler_Api, collect_data) == 72);
static_assert(sizeof(PLUGIN_Profiler_CollectData_Args) == 32);
static_assert(sizeof(PLUGIN_Profiler_Create_Args) == 32);
static_assert(offsetof(PJRT_Profiler_Extension, profiler_api) == 24);
static_assert(sizeof(PJRT_Profiler_Extension) == 40);

const PLUGIN_Profiler_Api& functions() {
  for (const PJRT_Extension_Base* e = api().extension_start; e; e = e->next)
    if (e->type == PJRT_Extension_Type_Profiler)
      return *reinterpret_cast<const PJRT_Profiler_Extension*>(e)->profiler_api;
  throw std::runtime_error("there is no profiler");
}

// "9: text" of an error, which is destroyed; empty for none.
std::string text_of(PLUGIN_Profiler_Error* error) {
  if (!error) return "";
  auto code = make<PLUGIN_Profiler_Error_GetCode_Args>();
  code.error = error;
  functions().error_get_code(&code);
  auto message = make<PLUGIN_Profiler_Error_Message_Args>();
  message.error = error;
  functions().error_message(&message);
  const std::string text =
      std::to_string(code.code) + ": " + std::string(message.message, message.message_size);
  auto destroy = make<PLUGIN_Profiler_Error_Destroy_Args>();
  destroy.error = error;
  functions().error_destroy(&destroy);
  return text;
}

class Profiler {
 public:
  Profiler() {
    auto args = make<PLUGIN_Profiler_Create_Args>();
    EXPECT_EQ(text_of(functions().create(&args)), "");
    p_ = args.profiler;
  }
  ~Profiler() {
    auto args = make<PLUGIN_Profiler_Destroy_Args>();
    args.profiler = p_;
    EXPECT_EQ(text_of(functions().destroy(&args)), "");
  }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  std::string start() {
    auto args = make<PLUGIN_Profiler_Start_Args>();
    args.profiler = p_;
    return text_of(functions().start(&args));
  }
  std::string stop() {
    auto args = make<PLUGIN_Profiler_Stop_Args>();
    args.profiler = p_;
    return text_of(functions().stop(&args));
  }
  std::string collect() {
    auto args = make<PLUGIN_Profiler_CollectData_Args>();
    args.profiler = p_;
    EXPECT_EQ(text_of(functions().collect_data(&args)), "");
    const std::string bytes(reinterpret_cast<const char*>(args.buffer), args.buffer_size_in_bytes);
    // Some callers bring a buffer of the size that they have been told.
    std::string copy(bytes.size(), 'x');
    args.buffer = reinterpret_cast<std::uint8_t*>(copy.data());
    EXPECT_EQ(text_of(functions().collect_data(&args)), "");
    EXPECT_EQ(copy, bytes);
    return bytes;
  }

 private:
  PLUGIN_Profiler* p_ = nullptr;
};

// A message as its fields; a number is its value, anything else its bytes.
struct Field {
  std::uint64_t number = 0;
  std::string bytes = {};
};
using Fields = std::multimap<int, Field>;

std::uint64_t take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.at(0));
    rest.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
}

Fields fields_of(std::string_view rest) {
  Fields out;
  while (!rest.empty()) {
    const std::uint64_t head = take_varint(rest);
    Field f;
    if ((head & 7) == 0) {
      f.number = take_varint(rest);
    } else {
      EXPECT_EQ(head & 7, 2u);
      const std::uint64_t size = take_varint(rest);
      f.bytes = rest.substr(0, size);
      rest.remove_prefix(size);
    }
    out.emplace(static_cast<int>(head >> 3), f);
  }
  return out;
}
const Field& only(const Fields& fields, int field) {
  EXPECT_EQ(fields.count(field), 1u) << "field " << field;
  return fields.find(field)->second;
}

struct Event {
  std::string name;
  std::map<std::string, std::string> statistics;
  std::uint64_t begin, duration;  // nanoseconds since 1970, picoseconds
};
// By plane and line.
using Profile = std::map<std::string, std::map<std::string, std::vector<Event>>>;

Profile profile_of(const std::string& xspace) {
  Profile out;
  for (const auto& [space_field, space_value] : fields_of(xspace)) {
    EXPECT_EQ(space_field, 1);
    const Fields plane = fields_of(space_value.bytes);
    std::map<std::uint64_t, std::string> names;
    std::map<std::uint64_t, Fields> metadata;
    for (auto [it, end] = plane.equal_range(5); it != end; ++it) {
      const Fields entry = fields_of(it->second.bytes);
      const Fields value = fields_of(only(entry, 2).bytes);
      EXPECT_EQ(only(value, 1).number, only(entry, 1).number);
      names[only(entry, 1).number] = only(value, 2).bytes;
    }
    for (auto [it, end] = plane.equal_range(4); it != end; ++it) {
      const Fields entry = fields_of(it->second.bytes);
      metadata[only(entry, 1).number] = fields_of(only(entry, 2).bytes);
      EXPECT_EQ(only(metadata[only(entry, 1).number], 1).number, only(entry, 1).number);
    }
    for (auto [it, end] = plane.equal_range(3); it != end; ++it) {
      const Fields line = fields_of(it->second.bytes);
      std::vector<Event>& events = out[only(plane, 2).bytes][only(line, 2).bytes];
      for (auto [e, last] = line.equal_range(4); e != last; ++e) {
        const Fields event = fields_of(e->second.bytes);
        const Fields& of = metadata.at(only(event, 1).number);
        Event& made = events.emplace_back();
        made.name = only(of, 2).bytes;
        for (auto [s, no_more] = event.equal_range(4); s != no_more; ++s) {
          const Fields stat = fields_of(s->second.bytes);
          made.statistics[names.at(only(stat, 1).number)] = names.at(only(stat, 7).number);
        }
        made.begin = only(line, 3).number + only(event, 2).number / 1000;
        made.duration = only(event, 3).number;
      }
    }
  }
  return out;
}

constexpr const char* kModule = R"mlir(
module @jit_step {
  func.func public @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("jit(step)/model/dot_general"("step"("/src/train.py":7:1)))
    return %0 : tensor<64x64xf32>
  }
}
)mlir";

std::uint64_t wall_clock() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

TEST(Profiler, HasKernelsWithTheirScopesAndLines) {
  const Client client(1);
  const plugin::Executable f = client.compile(kModule);
  const std::vector<float> numbers(64 * 64, 0.5f);
  const plugin::Buffer x = client.buffer(numbers.data(), PJRT_Buffer_Type_F32, {64, 64});
  Profiler profiler;
  const std::uint64_t before = wall_clock();
  ASSERT_EQ(profiler.start(), "");
  for (int i = 0; i < 3; ++i) {
    std::vector<plugin::Event> done;
    (void)f.one({x.get()}, {.done = &done});
    for (const plugin::Event& e : done) e.await();
  }
  ASSERT_EQ(profiler.stop(), "");
  const std::uint64_t after = wall_clock();
  Profile profile = profile_of(profiler.collect());
  const std::vector<Event>& shared =
      profile["/device:CUSTOM:Tessera devices"]["all devices"];
  ASSERT_EQ(shared.size(), 3u);
  for (const Event& e : shared) {
    EXPECT_EQ(e.name, "model/dot_general");
    EXPECT_EQ(e.statistics, (std::map<std::string, std::string>{{"kind", "kernel"},
                                                                {"scope", "model"},
                                                                {"source", "/src/train.py:7"}}));
    EXPECT_GT(e.duration, 0u);
    // Another thread may set the clock in between, but not by this much.
    EXPECT_GE(e.begin + 1'000'000'000, before);
    EXPECT_LE(e.begin, after + 1'000'000'000);
  }
  std::set<std::string> calls;
  for (const auto& [thread, events] : profile["/device:CUSTOM:Tessera host"])
    for (const Event& e : events) calls.insert(e.name);
  EXPECT_EQ(calls, std::set<std::string>{"jit_step"});
}

TEST(Profiler, RecordsOneProfileAtATime) {
  Profiler one, other;
  EXPECT_EQ(one.start(), "");
  EXPECT_EQ(one.start(), "");
  EXPECT_EQ(other.start(),
            "9: a profile is being recorded already, and a process records one at a time");
  EXPECT_EQ(other.stop(), "");
  EXPECT_EQ(other.collect(), "");
  EXPECT_EQ(one.stop(), "");
  EXPECT_EQ(one.stop(), "");
  EXPECT_EQ(other.start(), "");
  { Profiler never_started; }
  EXPECT_EQ(one.collect(), "");  // nothing has run
}

TEST(Profiler, ThatIsDestroyedStops) {
  {
    Profiler running;
    EXPECT_EQ(running.start(), "");
  }
  Profiler next;
  EXPECT_EQ(next.start(), "");
}

}  // namespace

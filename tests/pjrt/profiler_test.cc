// The profiler as front ends use it, which start and stop it, and read its events as a message.
#include "gate.h"
#include "pjrt/profiler_abi.h"

#include <algorithm>
#include <cstring>

using namespace caller;

namespace {

using Floats = std::vector<float>;

PLUGIN_Profiler_Api& profiler() {
  for (PJRT_Extension_Base* e = api().extension_start; e; e = e->next)
    if (e->type == PJRT_Extension_Type_Profiler)
      return *reinterpret_cast<PJRT_Profiler_Extension*>(e)->profiler_api;
  throw std::runtime_error("there is no profiler");
}

template <class Args>
Args sized() {
  Args args{};
  args.struct_size = sizeof args;
  return args;
}
// "9: text" for an error.
std::string taken(PLUGIN_Profiler_Error* error) {
  if (!error) return "";
  auto message = sized<PLUGIN_Profiler_Error_Message_Args>();
  message.error = error;
  profiler().error_message(&message);
  auto code = sized<PLUGIN_Profiler_Error_GetCode_Args>();
  code.error = error;
  EXPECT_EQ(profiler().error_get_code(&code), nullptr);
  const std::string text =
      std::to_string(code.code) + ": " + std::string(message.message, message.message_size);
  auto destroy = sized<PLUGIN_Profiler_Error_Destroy_Args>();
  destroy.error = error;
  profiler().error_destroy(&destroy);
  return text;
}

class Profiler {
 public:
  Profiler() {
    auto args = sized<PLUGIN_Profiler_Create_Args>();
    EXPECT_EQ(taken(profiler().create(&args)), "");
    it_ = args.profiler;
  }
  ~Profiler() {
    auto args = sized<PLUGIN_Profiler_Destroy_Args>();
    args.profiler = it_;
    EXPECT_EQ(taken(profiler().destroy(&args)), "");
  }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  std::string start() {
    auto args = sized<PLUGIN_Profiler_Start_Args>();
    args.profiler = it_;
    return taken(profiler().start(&args));
  }
  std::string stop() {
    auto args = sized<PLUGIN_Profiler_Stop_Args>();
    args.profiler = it_;
    return taken(profiler().stop(&args));
  }
  // The message, which the caller asks for twice: for its size, and with room for it.
  std::string collect() {
    auto args = sized<PLUGIN_Profiler_CollectData_Args>();
    args.profiler = it_;
    EXPECT_EQ(taken(profiler().collect_data(&args)), "");
    const std::string there(reinterpret_cast<char*>(args.buffer), args.buffer_size_in_bytes);
    std::vector<std::uint8_t> room(args.buffer_size_in_bytes + 1, 'x');
    args.buffer = room.data();
    EXPECT_EQ(taken(profiler().collect_data(&args)), "");
    EXPECT_EQ(args.buffer_size_in_bytes, there.size());
    EXPECT_EQ(std::memcmp(room.data(), there.data(), there.size()), 0);
    EXPECT_EQ(room.back(), 'x');
    return there;
  }

 private:
  PLUGIN_Profiler* it_;
};

std::size_t times(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += word.size()) ++n;
  return n;
}

const std::string kNamed = module_of(
    "%a: tensor<8xf32>", "tensor<8xf32>",
    "    %0 = stablehlo.sine %a : tensor<8xf32> loc(\"model/layer_0/sin\"(\"model.py\":12:3))\n"
    "    return %0 : tensor<8xf32>\n",
    "jit_named");

TEST(Profiles, HaveTheWorkBetweenStartAndStop) {
  const Client client = make_client();
  const Loaded loaded = compile(client, kNamed);
  const Buffer x = put(client, Floats(8, 1), {8});
  Profiler p;
  run(loaded, {x.get()});
  ASSERT_EQ(p.start(), "");
  run(loaded, {x.get()});
  run(loaded, {x.get()});
  ASSERT_EQ(p.stop(), "");
  run(loaded, {x.get()});
  const std::string first = p.collect();
  // A name is written once for all events that have it.
  for (const char* word : {"/device:CUSTOM:Tessera devices", "/device:CUSTOM:Tessera host",
                           "all devices", "model/layer_0/sin", "model.py:12", "jit_named"})
    EXPECT_EQ(times(first, word), 1u) << word;
  EXPECT_EQ(p.collect(), first);
  // What is stopped may be started again, and has the new work alone.
  ASSERT_EQ(p.start(), "");
  ASSERT_EQ(p.stop(), "");
  EXPECT_EQ(p.collect(), "");
  EXPECT_EQ(p.stop(), "");
}

TEST(Profiles, AreOneAtATime) {
  auto one = std::make_unique<Profiler>();
  Profiler two;
  EXPECT_EQ(one->start(), "");
  EXPECT_EQ(one->start(), "");
  const std::string refused =
      "9: a profile is being recorded already, and a process records one at a time";
  EXPECT_EQ(two.start(), refused);
  EXPECT_EQ(two.stop(), "");
  EXPECT_EQ(two.start(), refused);
  one.reset();  // ends what it recorded
  EXPECT_EQ(two.start(), "");
  EXPECT_EQ(two.stop(), "");
  EXPECT_EQ(two.collect(), "");
}

// A call that is under way when the profile ends.
TEST(Profiles, EndDuringACall) {
  Gate gate;
  const Client client = make_client();
  const Loaded gated = compile(client, Gate::module());
  const Buffer matrix = put(client, Floats(256 * 256), {256, 256});
  const Buffer four = put(client, Floats(4), {4});
  Profiler p;
  ASSERT_EQ(p.start(), "");
  Results r = run_on(gated, std::vector<Arguments>{{matrix.get(), four.get()}}, 2);
  ASSERT_EQ(p.stop(), "");
  gate.open();
  EXPECT_EQ(get<float>(r.buffers[0][0]), Floats{1});
  EXPECT_EQ(times(p.collect(), "gated"), 1u);
}

}  // namespace

// Each platform compiles and runs programs of one device.
#include "backends/platforms.h"
#include "message.h"

#include <atomic>
#include <thread>

namespace ops = tessera::ops;
using namespace backends;

namespace {

class Programs : public OnEachPlatform {};
ON_EACH_PLATFORM(Programs);

const ts::Type kType(ts::f32, {6, 3});

// A program that computes x + x and -x.
ts::ProgramPtr doubled() {
  return program({kType}, [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::add(v[0], v[0]), ops::neg(v[0])};
  });
}
ts::ProgramPtr sum_of_two() {
  return program({kType, kType},
                 [](ts::Builder&, ts::Values v) { return ts::Values{ops::add(v[0], v[1])}; });
}
std::vector<ts::HostArray> evaluated(const ts::ProgramPtr& p,
                                     const std::vector<ts::HostArray>& inputs) {
  return evaluate(*p, inputs);
}

}  // namespace

TEST_P(Programs, RunWhereTheirInputsAre) {
  const ts::HostArray values = counted(kType);
  const auto expected = evaluated(doubled(), {values});
  const auto executable = compile(doubled(), {"doubled", {}}, backend);
  EXPECT_EQ(executable->options().name, "doubled");
  EXPECT_TRUE(same_structure(executable->program(), *doubled()));
  EXPECT_FALSE(executable->schedule().empty());
  for (int d = 0; d < count; ++d) {
    const auto out = executable->run(std::vector{put_on(d, values)});
    ASSERT_EQ(out.size(), 2u);
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(out[k]->layout, on(d));
      EXPECT_EQ(out[k]->type, kType);
      EXPECT_TRUE(same_bits(host(*out[k]), expected[k]));
    }
    // The next call takes these results as inputs, and may begin before they are complete.
    EXPECT_TRUE(same_bits(host(*executable->run(std::vector{out[1]})[1]), values));
  }
}

TEST_P(Programs, UncommittedInputsFollowTheOthers) {
  const ts::HostArray x = counted(kType), y = counted(kType, 1);
  const auto expected = evaluated(sum_of_two(), {x, y});
  const auto executable = compile(sum_of_two(), {}, backend);
  for (const auto& inputs :
       {std::vector{put_on(last, x), put(y)}, std::vector{put(x), put_on(last, y)}}) {
    EXPECT_EQ(&backend_for("sum", inputs), &backend);
    const auto out = executable->run(inputs);
    EXPECT_EQ(out[0]->layout, on(last));
    EXPECT_TRUE(same_bits(host(*out[0]), expected[0]));
  }
}

TEST_P(Programs, ResultsOfUncommittedInputsAreUncommitted) {
  const ts::HostArray x = counted(kType);
  const DefaultDeviceScope scope(backend, last);
  const std::vector<ArrayDataPtr> inputs{put(x)};
  EXPECT_EQ(&backend_for("doubled", inputs), &backend);
  const auto out = compile(doubled(), {"doubled", {}}, backend)->run(inputs);
  EXPECT_EQ(out[0]->layout, on(last, false));
  EXPECT_TRUE(same_bits(host(*out[0]), evaluated(doubled(), {x})[0]));
}

TEST_P(Programs, OfNoInputs) {
  const auto p = program({}, [](ts::Builder& b, const ts::Values&) {
    return ts::Values{ops::iota(b, ts::DType::int32, {4}, 0)};
  });
  const DefaultDeviceScope scope(backend, last);
  const auto out = compile(p, {}, backend)->run({});
  EXPECT_EQ(out[0]->layout, on(last, false));
  EXPECT_EQ(numbers(host(*out[0])), (std::vector<double>{0, 1, 2, 3}));
}

TEST_P(Programs, ResultsMayBeInputs) {
  const ts::HostArray x = counted(kType), y = counted(kType, 1);
  const auto swapped = program({kType, kType}, [](ts::Builder&, ts::Values v) {
    return ts::Values{v[1], v[0], v[1]};
  });
  const auto out = compile(swapped, {}, backend)->run(std::vector{put_on(0, x), put_on(0, y)});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_TRUE(same_bits(host(*out[0]), y));
  EXPECT_TRUE(same_bits(host(*out[1]), x));
  EXPECT_TRUE(same_bits(host(*out[2]), y));
}

TEST_P(Programs, TakeDonatedInputs) {
  const ts::HostArray values = counted(kType);
  const auto executable = compile(doubled(), {"doubled", {true}}, backend);
  const ArrayDataPtr in = put_on(last, values), same = alias(*in);
  const auto out = executable->run(std::vector{in});
  EXPECT_TRUE(in->deleted());
  EXPECT_FALSE(same->deleted());
  EXPECT_TRUE(same_bits(host(*out[0]), evaluated(doubled(), {values})[0]));
  EXPECT_TRUE(same_bits(host(*same), values)) << "another array with the same memory";
  EXPECT_THROW(executable->run(std::vector{in}), ts::TraceError);
}

TEST_P(Programs, InputsAreNotWritten) {
  const ts::HostArray values = counted(kType);
  const ArrayDataPtr in = put_on(last, values);
  const auto executable = compile(doubled(), {"doubled", {}}, backend);
  for (int k = 0; k < 3; ++k) (void)host(*executable->run(std::vector{in})[0]);
  EXPECT_TRUE(same_bits(host(*in), values));
}

TEST_P(Programs, RefuseInputsCommittedToTwoDevices) {
  if (count < 2) GTEST_SKIP() << "the platform has one device";
  const ts::HostArray x = counted(kType);
  const auto executable = compile(sum_of_two(), {}, backend);
  EXPECT_EQ(
      test::message<ts::ShardingError>([&] {
        executable->run(std::vector{put_on(0, x), put_on(1, x)});
      }),
      "body: the inputs are committed to different devices\n"
      "  - input 0, f32[6,3], is on " +
          text(0) +
          "\n"
          "  - input 1, f32[6,3], is on " +
          text(1) +
          "\n"
          "  rule: a computation runs on one device; inputs that are not committed follow those "
          "that are\n"
          "  try: move one of them: device_put(x, device), or device_get(x), which is not "
          "committed");
}

TEST_P(Programs, OneExecutableServesManyThreads) {
  const auto executable = compile(sum_of_two(), {}, backend);
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&, t] {
      const ts::HostArray x = counted(kType, t), y = counted(kType, t + 7);
      const auto expected = evaluated(sum_of_two(), {x, y});
      for (int k = 0; k < 20; ++k) {
        const auto out = executable->run(std::vector{put_on(t % count, x), put_on(t % count, y)});
        right += same_bits(host(*out[0]), expected[0]) ? 1 : 0;
      }
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(right, 80);
}

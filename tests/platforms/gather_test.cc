// Operations outside of jit on a platform that a plug-in drives: they are gathered by default, and
// a chain of them is one program.
#include "message.h"
#include "other_plugin.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

namespace ts = tessera;
using test::message;
using ts::Array;

namespace {

class Gathered : public testing::Test {
 protected:
  static std::vector<ts::Device> load() {
    if (const char* other = std::getenv("TESSERA_TEST_PLUGIN"))
      return ts::load_platform("theirs", other, test::two_devices());
    return ts::load_platform("mine", TESSERA_PJRT_LIBRARY, {{"device_count", std::int64_t{2}}});
  }
  const std::vector<ts::Device> there = load();
  Array put(const Array& x) const {
    return ts::block_until_ready(ts::device_put(x, there.front()));
  }
  template <class F>
  static std::int64_t compiled(F f) {
    const std::int64_t before = ts::cache_stats().entries;
    f();
    return ts::cache_stats().entries - before;
  }
};

// 20 operations, whose results are exact in float32.
Array chain(Array x, float k) {
  for (int i = 0; i < 5; ++i) x = ts::maximum(x * k + i, -8) - 1;
  return x;
}
std::vector<float> chain_of_numbers(std::vector<float> x, float k) {
  for (float& v : x)
    for (int i = 0; i < 5; ++i) v = std::max(v * k + static_cast<float>(i), -8.f) - 1;
  return x;
}

}  // namespace

TEST_F(Gathered, AChainIsOneProgram) {
  const Array x = put(ts::arange(6.f));
  const std::vector<float> numbers{0, 1, 2, 3, 4, 5};
  Array y;
  EXPECT_EQ(compiled([&] { y = chain(x, 2); }), 0);
  EXPECT_EQ(y.shards()[0].device, there.front());
  EXPECT_EQ(compiled([&] { y = chain(x, 3).block_until_ready(); }), 0) << "shards() ran the other";
  EXPECT_EQ(y.to_vector<float>(), chain_of_numbers(numbers, 3));
  EXPECT_EQ(chain(x, -2).to_vector<float>(), chain_of_numbers(numbers, -2));
}

TEST_F(Gathered, EachByItselfIfThatIsAsked) {
  const Array x = put(ts::arange(7.f));
  std::vector<float> gathered, at_once;
  EXPECT_EQ(compiled([&] { gathered = chain(x, 2).to_vector<float>(); }), 1);
  ts::set_eager(ts::Eager::at_once);
  EXPECT_EQ(compiled([&] { at_once = chain(x, 2).to_vector<float>(); }), 4) << "four operations";
  ts::set_eager(ts::Eager::by_platform);
  EXPECT_EQ(gathered, at_once);
}

TEST_F(Gathered, ALoopOverBatchesComesToRest) {
  const Array data = put(ts::reshape(ts::arange(64.f * 3), {64, 3})),
              labels = put(ts::arange(64.f));
  const auto train = [&] {
    Array w = put(ts::zeros({3}));
    for (std::int64_t i = 0; i < 64; i += 8) {
      const Array x = data(ts::range(i, i + 8)) / 64, y = labels(ts::range(i, i + 8)) / 64;
      const Array error = ts::dot(x, w) - y;
      w = w - 0.01 / (1.0 + static_cast<double>(i)) * ts::dot(error, x);
    }
    return w.to_vector<float>();
  };
  const std::vector<float> first = train();
  (void)train();
  std::vector<float> last;
  EXPECT_EQ(compiled([&] { last = train(); }), 0);
  EXPECT_EQ(first.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(last[i], first[i], 1e-6) << i;
}

TEST_F(Gathered, ArraysOfSeveralPlacesMeetAsBefore) {
  if (there.size() < 2) GTEST_SKIP() << "the platform has one device";
  const Array x = put(ts::arange(3.f)), other = ts::device_put(ts::ones({3}), there[1]);
  EXPECT_EQ((x + 1 + ts::ones({3})).to_vector<float>(), (std::vector<float>{2, 3, 4}));
  const Array y = x * 2, z = other * 3;
  EXPECT_TRUE(message<ts::ShardingError>([&] {
                (void)(y + z);
              }).starts_with("add: the inputs are committed to different devices"));
  EXPECT_EQ((ts::device_put(y, there[1]) + z).to_vector<float>(), (std::vector<float>{3, 5, 7}));
  EXPECT_EQ(ts::device_get(y).to_vector<float>(), (std::vector<float>{0, 2, 4}));
}

TEST_F(Gathered, ResultsAreReadOnOtherThreads) {
  const Array x = put(ts::arange(3.f));
  std::vector<Array> all;
  for (int i = 0; i < 8; ++i) all.push_back(x * 2 + i);
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < all.size(); ++i)
    readers.emplace_back([&, i] {
      const auto k = static_cast<float>(i);
      EXPECT_EQ(all[i].to_vector<float>(), (std::vector<float>{k, 2 + k, 4 + k}));
      EXPECT_EQ((all[i] - k).to_vector<float>(), (std::vector<float>{0, 2, 4}));
    });
  for (std::thread& t : readers) t.join();
}

TEST_F(Gathered, ResultsAreDonated) {
  const auto next = ts::jit([](Array a) { return a + 1; }, {.donate = {0}});
  Array x = put(ts::zeros({2000}));
  for (int i = 0; i < 5; ++i) {
    const Array before = x * 2;
    x = next(x * 3);
    EXPECT_EQ(before[1].item<float>() * 3 / 2 + 1, x[1].item<float>());
  }
  EXPECT_EQ(x[0].item<float>(), 121);
}

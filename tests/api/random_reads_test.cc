// Two threads read one array in all ways and orders, while memory is allocated and freed, and may
// donate it. TESSERA_READS=100000 in the environment runs that many rounds.
#include <tessera/contractions.h>
#include <tessera/reductions.h>
#include <tessera/safetensors.h>

#include "api/check.h"
#include "api/stored.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <thread>

namespace ts = tessera;
using api_test::f32s;
using api_test::kDevices;
using api_test::Stored;
using ts::Array;

namespace {

// One thread's view of the array. Its checks return "" or a description of the error.
struct Reader {
  const Stored& stored;
  std::vector<std::pair<Array, std::span<const float>>> spans;  // with their owners
  bool deleted = false;  // once it is donated, it must stay so
  int donated = 0;

  bool is(std::span<const float> got, const std::vector<float>& want) const {
    return std::equal(got.begin(), got.end(), want.begin(), want.end());
  }
  bool all(const Array& x) const { return f32s(x) == stored.values; }

  bool read(std::uint64_t what) {
    const Array& x = stored.array;
    const std::vector<float>& v = stored.values;
    switch (what % 16) {
      case 0: spans.emplace_back(x, x.host<float>()); return is(spans.back().second, v);
      case 1: return all(x);
      case 2: {
        const std::string text = to_string(x);
        if (text == "Array(" + describe(x) + " deleted)")  // printing says so, and does not throw
          throw ts::TraceError("was donated to jit(random_reads_test.cc:");
        return text == to_string(Array(v, x.shape()));
      }
      case 3: return v.size() == 1 ? x.item<float>() == v[0] : all(x.reshape(x.shape()));
      case 4: {
        if (x.ndim() == 0 || x.length() == 0) return all(+x);
        const auto rows = static_cast<std::size_t>(x.length()), size = v.size() / rows;
        const std::size_t row = what / 16 % rows;
        return is(f32s(x[static_cast<std::int64_t>(row)]),
                  {v.begin() + static_cast<std::ptrdiff_t>(row * size),
                   v.begin() + static_cast<std::ptrdiff_t>((row + 1) * size)});
      }
      case 5: {
        std::vector<float> got;
        if (x.ndim() == 0) return all(x.astype(ts::f32));
        for (const Array& row : x) {
          const std::vector<float> part = f32s(row);
          got.insert(got.end(), part.begin(), part.end());
        }
        return got == v;
      }
      case 6: {
        bool right = true;
        for (const ts::Shard& s : x.shards())
          right = right && f32s(s.data) == api_test::block(v, x.shape(), s.index);
        return right;
      }
      case 7: return all(ts::device_put(x, ts::Device{static_cast<int>(what / 16 % kDevices)}));
      case 8: {
        std::vector<float> want = v;
        for (float& w : want) w = w * 2 + 1;
        return f32s(x * 2 + 1) == want;
      }
      case 9: {
        const Array copy = x;
        spans.emplace_back(copy, copy.host<float>());
        return is(spans.back().second, v);
      }
      case 10: return all(ts::device_get(x));
      case 11: return all(ts::concatenate({x.flatten()}).reshape(x.shape()));
      case 12: return f32s(-x.flatten()).size() == v.size();
      case 13: {
        if (what / 16 % 8) return all(x.block_until_ready());
        const std::string path = testing::TempDir() + "reads" + std::to_string(::getpid()) + "_" +
                                 std::to_string(reinterpret_cast<std::uintptr_t>(this));
        ts::save(path, x);
        Array back = x;
        back = ts::load(path, back);
        ::unlink(path.c_str());
        return all(back);
      }
      case 14:
        if (v.empty()) return all(x);
        return ts::max(x).item<float>() == *std::max_element(v.begin(), v.end());
      default: {
        static const auto take = ts::jit([](Array a) { return a + 1; }, {.donate = {0}});
        if (what / 16 % 6) return all(ts::broadcast_to(x, x.shape()));
        std::vector<float> want = v;
        for (float& w : want) w += 1;
        const Array y = take(x);
        ++donated;
        return f32s(y) == want;
      }
    }
  }

  std::string step(std::uint64_t what) {
    if (what / 1024 % 2)  // memory that was freed too early would get these values
      for (const std::size_t n : {stored.values.size(), stored.values.size() + 300})
        (void)ts::full({n}, -7.0).block_until_ready();
    const bool was = deleted || donated;
    try {
      if (!read(what)) return "wrong values";
      if (was) return "read after it was donated";
    } catch (const ts::TraceError& e) {
      if (std::string(e.what()).find("was donated to jit(random_reads_test.cc:") ==
          std::string::npos)
        return e.what();
      deleted = true;
    }
    return "";
  }

  std::string run(const std::vector<std::uint64_t>& steps) {
    for (const std::uint64_t s : steps)
      if (std::string wrong = step(s); !wrong.empty())
        return "step " + std::to_string(s % 16) + ": " + wrong;
    for (const auto& [array, span] : spans)
      if (!is(span, stored.values)) return "the span of an earlier read has changed";
    return "";
  }
};

struct Round {
  std::uint64_t seed;
  std::vector<std::uint64_t> steps[2];
};

Stored made(const Round& r) {
  std::mt19937_64 rng(r.seed);
  const std::int64_t columns = std::vector<std::int64_t>{1, 5, 700, 3000}[rng() % 4];
  return api_test::stored(rng, 2 * kDevices, columns, static_cast<float>(rng() % 1000));
}

// One thread runs after the other, which is deterministic and can be shrunk.
std::string in_turn(const Round& r) {
  const Stored s = made(r);
  Reader reader{s};
  std::vector<std::uint64_t> both = r.steps[0];
  both.insert(both.end(), r.steps[1].begin(), r.steps[1].end());
  const std::string wrong = reader.run(both);
  return wrong.empty() ? "" : s.kind + ", in turn: " + wrong;
}

std::string at_once(const Round& r) {
  const Stored s = made(r);
  Reader readers[2] = {{s}, {s}};
  std::string wrong[2];
  std::latch start(2);
  auto run = [&](int t) {
    start.arrive_and_wait();
    try {
      wrong[t] = readers[t].run(r.steps[t]);
    } catch (const std::exception& e) {
      wrong[t] = e.what();
    }
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  const int donated = readers[0].donated + readers[1].donated;
  if (donated > 1) return s.kind + ", at once: donated twice";
  if ((donated == 1) != s.array.is_deleted()) return s.kind + ": deleted, or not";
  for (int t : {0, 1})
    if (!wrong[t].empty()) return s.kind + ", at once: " + wrong[t];
  return "";
}

// Drops steps while the round still fails; it is tried several times if it fails by chance.
void shrink(Round& r, const std::function<std::string(const Round&)>& problem) {
  auto fails = [&](const Round& round) {
    for (int again = 0; again < 50; ++again)
      if (!problem(round).empty()) return true;
    return false;
  };
  for (int t : {0, 1})
    for (std::size_t i = r.steps[t].size(); i-- > 0;) {
      Round less = r;
      less.steps[t].erase(less.steps[t].begin() + static_cast<std::ptrdiff_t>(i));
      if (fails(less)) r = less;
    }
}

std::string to_text(const Round& r) {
  std::string s = "round of seed " + std::to_string(r.seed);
  for (const auto& steps : r.steps) {
    s += ", [";
    for (const std::uint64_t step : steps)
      s += " " + std::to_string(step % 16) + "/" + std::to_string(step / 16 % 48);
    s += " ]";
  }
  return s;
}

}  // namespace

TEST(RandomReads, GiveTheValuesOrSayThatTheyAreGone) {
  ts::set_device_count(kDevices);
  const char* text = std::getenv("TESSERA_READS");
  const int rounds = text ? std::atoi(text) : 400;
  for (int k = 0; k < rounds; ++k) {
    std::mt19937_64 rng(static_cast<std::uint64_t>(k) * 7919 + 1);
    Round r{rng(), {}};
    for (auto& steps : r.steps)
      for (std::size_t n = 1 + rng() % 7; n > 0; --n) steps.push_back(rng() >> 8);
    for (const auto& problem : {in_turn, at_once}) {
      const std::string wrong = problem(r);
      if (wrong.empty()) continue;
      shrink(r, problem);
      FAIL() << wrong << "\n" << to_text(r);
    }
  }
}

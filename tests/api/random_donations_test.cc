// Random programs that copy, move, view and donate arrays agree with a model of their owners.
// TESSERA_DONATIONS=100000 in the environment runs that many.
#include <tessera/reductions.h>
#include <tessera/sharding.h>

#include "api/check.h"
#include "api/stored.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <latch>
#include <optional>
#include <thread>

namespace ts = tessera;
using api_test::f32s;
using api_test::kDevices;
using ts::Array;

namespace {

struct Pair {
  Array first, second;
};

const auto kPlain = ts::jit([](Array x) { return x + 1; }, {.name = "plain"});
const auto kTake = ts::jit([](Array x) { return x + 1; }, {.donate = {0}, .name = "take"});
const auto kOther = ts::jit([](Array x) { return -x; }, {.donate = {0}, .name = "other"});
const auto kBoth = ts::jit([](Array x, Array y) { return std::pair(x + 1, y - 1); },
                           {.donate = {0, 1}, .name = "both"});
const auto kPair = ts::jit(
    [](Pair p) {
      return Pair{p.second, -p.first};
    },
    {.donate = {0}, .name = "pair"});
const auto kLoop = ts::jit(
    [](Array x) {
      return ts::fori_loop(
          0, 300, [](Array, Array v) { return -(v - 1) + 1; }, x);
    },
    {.donate = {0}, .name = "loop"});
const auto kFails =
    ts::jit([](Array x) { return x.reshape(x.size() + 1, 1); }, {.donate = {0}, .name = "fails"});

// The expected state of a program's array: its values, the call that took it, and the number of
// handles.
struct Model {
  std::vector<float> values;
  std::string taker;  // empty: no call
  int handles = 0;
};
using ModelPtr = std::shared_ptr<Model>;

struct Variable {
  Array array;
  ModelPtr model;  // null: the variable is empty
};

class World {
 public:
  // Makes one step; returns "" or a description of the error.
  std::string step(std::uint64_t seed) {
    std::mt19937_64 rng(seed);
    const std::uint64_t what = rng() % 19;
    if (what < 4 || at_.empty()) return make(rng);
    const std::size_t a = rng() % at_.size(), b = rng() % at_.size();
    switch (what) {
      case 4: set(b, at_[a].array, at_[a].model); return "";
      case 5: return move(a, b);
      case 6: return view(a, b, rng());
      case 7: return view(a, b, rng());
      case 8:
        return call(
            kPlain, a, b, [](float v) { return v + 1; }, "");
      case 9:
        return call(
            kTake, a, b, [](float v) { return v + 1; }, "take");
      case 10:
        return call(
            kOther, a, b, [](float v) { return -v; }, "other");
      case 11:
        return call(
            kLoop, a, b, [](float v) { return v; }, "loop");
      case 12: return moved(a, b);
      case 13: return both(a, b);
      case 14: return pair(a, b);
      case 15: return at_once(a, b);
      case 16: return fails(a);
      case 17: at_.erase(at_.begin() + static_cast<std::ptrdiff_t>(forget(a))); return "";
      default: return read(a);
    }
  }

  std::string read_all() {
    for (std::size_t i = 0; i < at_.size(); ++i)
      if (std::string wrong = read(i); !wrong.empty()) return wrong;
    for (const Span& s : spans_)
      if (!std::equal(s.span.begin(), s.span.end(), s.values.begin(), s.values.end()))
        return "the span of an earlier read has changed";
    return "";
  }

 private:
  std::size_t forget(std::size_t i) {
    if (at_[i].model) --at_[i].model->handles;
    at_[i] = {};
    return i;
  }
  void set(std::size_t i, Array x, ModelPtr m) {
    if (m) ++m->handles;
    forget(i);
    at_[i] = {std::move(x), std::move(m)};
  }
  void set(std::size_t i, Array x, std::vector<float> values) {
    set(i, std::move(x), std::make_shared<Model>(Model{std::move(values), "", 0}));
  }

  std::string make(std::mt19937_64& rng) {
    const std::int64_t columns = std::vector<std::int64_t>{1, 3, 600, 2500}[rng() % 4];
    api_test::Stored s = api_test::stored(rng, kDevices, columns, static_cast<float>(rng() % 1000));
    if (at_.size() < 6) at_.emplace_back();
    set(rng() % at_.size(), std::move(s.array), std::move(s.values));
    return "";
  }

  // Runs f, which needs the arrays of these variables. Returns "" if it behaves like the model;
  // `done` then updates the model.
  template <class F>
  std::string expect(std::initializer_list<std::size_t> needed, F f, bool* done = nullptr) {
    std::string story;
    for (std::size_t i : needed) {
      const ModelPtr& m = at_[i].model;
      if (!m) story = story.empty() ? "empty" : story;
      if (m && !m->taker.empty() && story.empty()) story = "was donated to " + m->taker;
    }
    try {
      if (done) *done = false;
      f();
      if (done) *done = true;
      return story.empty() ? "" : "done though it " + story;
    } catch (const ts::TraceError& e) {
      if (!story.empty() && std::string(e.what()).find(story) != std::string::npos) return "";
      return "expected '" + story + "', got: " + e.what();
    }
  }

  std::string read(std::size_t i) {
    const ModelPtr m = at_[i].model;
    std::string wrong;
    const std::string story = expect({i}, [&] {
      if (f32s(at_[i].array) != m->values) wrong = "wrong values";
      if (m->values.size() % 2 == 0) {
        const auto span = at_[i].array.host<float>();
        ++m->handles;
        spans_.push_back({at_[i].array, m, span, m->values});
      }
    });
    if (m && at_[i].array.is_deleted() != !m->taker.empty()) return "deleted, or not";
    return wrong.empty() ? story : wrong;
  }

  std::string move(std::size_t a, std::size_t b) {
    if (a == b) return "";
    ModelPtr m = at_[a].model;
    Array x = std::move(at_[a].array);
    at_[a].model = nullptr;
    if (m) --m->handles;
    set(b, std::move(x), std::move(m));
    return "";
  }

  std::string view(std::size_t a, std::size_t b, std::uint64_t which) {
    const ModelPtr m = at_[a].model;
    Array y;
    std::vector<float> want;
    bool done = false;
    const std::string wrong = expect(
        {a},
        [&] {
          const Array& x = at_[a].array;
          if (m) want = m->values;
          auto rows = [&](std::int64_t first, std::int64_t count) {
            const auto size = static_cast<std::ptrdiff_t>(want.size()) / x.length();
            want = {want.begin() + first * size, want.begin() + (first + count) * size};
          };
          const bool has_rows = x.ndim() > 0 && x.length() > 0;
          switch (which % 10) {
            case 0: y = +x; break;
            case 1: y = x.reshape(-1); break;
            case 2: y = ts::concatenate({x.flatten()}); break;
            case 3: y = x.astype(ts::f32); break;
            case 4:
              y = ts::device_put(x, ts::Device{static_cast<int>(which / 16 % kDevices)});
              break;
            case 5: y = ts::device_put(x, x.sharding()); break;
            case 6: {
              const auto shards = x.shards();
              const ts::Shard& s = shards[which / 16 % shards.size()];
              want = api_test::block(want, x.shape(), s.index);
              y = s.data;
              break;
            }
            default: {
              if (!has_rows) {
                y = ts::broadcast_to(x, x.shape());
                break;
              }
              const auto i = static_cast<std::int64_t>(which / 16) & 0xffff;
              if (which % 10 == 7) {
                y = x[i % x.length()];
                rows(i % x.length(), 1);
              } else {
                y = x(ts::range(i % x.length(), std::nullopt));
                rows(i % x.length(), x.length() - i % x.length());
              }
            }
          }
        },
        &done);
    if (done) set(b, std::move(y), std::move(want));
    return wrong;
  }

  static std::string called(const char* name) {
    return std::string(name) + " (random_donations_test.cc:";
  }

  template <class F, class Map>
  std::string call(const F& f, std::size_t a, std::size_t b, Map map, const std::string& taker) {
    const ModelPtr m = at_[a].model;
    Array y;
    bool done = false;
    const std::string wrong = expect(
        {a}, [&] { y = f(at_[a].array); }, &done);
    if (!done) return wrong;
    std::vector<float> want = m->values;
    for (float& v : want) v = map(v);
    if (!taker.empty()) m->taker = called(taker.c_str());
    set(b, std::move(y), std::move(want));
    return wrong;
  }

  // Passes the array by std::move, which donates it if there is no other handle.
  std::string moved(std::size_t a, std::size_t b) {
    const ModelPtr m = at_[a].model;
    Array y;
    bool done = false;
    const std::string wrong = expect(
        {a}, [&] { y = kPlain(std::move(at_[a].array)); }, &done);
    if (!done) return wrong;
    std::vector<float> want = m->values;
    for (float& v : want) v += 1;
    if (m->handles == 1) m->taker = called("plain");
    set(b, std::move(y), std::move(want));
    return wrong;
  }

  std::string both(std::size_t a, std::size_t b) {
    const ModelPtr m = at_[a].model, n = at_[b].model;
    std::pair<Array, Array> y;
    bool done = false;
    if (!m || !n || places(a, b)) return "";  // an empty leaf has no array
    const std::string wrong = expect(
        {a, b}, [&] { y = kBoth(at_[a].array, at_[b].array); }, &done);
    if (!done) return wrong;
    std::vector<float> first = m->values, second = n->values;
    for (float& v : first) v += 1;
    for (float& v : second) v -= 1;
    m->taker = n->taker = called("both");
    const bool same = a == b;
    set(a, std::move(y.first), std::move(first));
    if (!same) set(b, std::move(y.second), std::move(second));
    return wrong;
  }

  std::string pair(std::size_t a, std::size_t b) {
    const ModelPtr m = at_[a].model, n = at_[b].model;
    if (!m || !n || places(a, b)) return "";  // an empty leaf has no array
    Pair y;
    bool done = false;
    const std::string wrong = expect(
        {a, b},
        [&] {
          y = kPair(Pair{at_[a].array, at_[b].array});
        },
        &done);
    if (!done) return wrong;
    std::vector<float> second = m->values;
    for (float& v : second) v = -v;
    m->taker = n->taker = called("pair");
    const bool same = a == b;
    std::vector<float> first = n->values;
    set(a, std::move(y.first), std::move(first));
    if (!same) set(b, std::move(y.second), std::move(second));
    return wrong;
  }

  // Whether two arrays are committed to different devices, which a call refuses.
  bool places(std::size_t a, std::size_t b) {
    if (!at_[a].model->taker.empty() || !at_[b].model->taker.empty()) return false;
    try {
      (void)ts::jit([](Array x, Array y) { return std::pair(x, y); })(at_[a].array, at_[b].array);
      return false;
    } catch (const ts::ShardingError&) {
      return true;
    }
  }

  // Two threads donate one array: one call gets it, and the error of the other names that call.
  std::string at_once(std::size_t a, std::size_t b) {
    const ModelPtr m = at_[a].model;
    if (!m || !m->taker.empty()) return "";
    const Array x = at_[a].array;
    std::latch start(2);
    std::string problem[2];
    std::optional<Array> results[2];
    auto run = [&](int t) {
      start.arrive_and_wait();
      try {
        results[t] = t ? kOther(x) : kTake(x);
      } catch (const ts::TraceError& e) {
        problem[t] = e.what();
      }
    };
    std::thread other(run, 1);
    run(0);
    other.join();
    if (results[0].has_value() == results[1].has_value()) return "donated twice, or not at all";
    const int won = results[1] ? 1 : 0;
    m->taker = called(won ? "other" : "take");
    if (problem[1 - won].find("was donated to " + m->taker) == std::string::npos)
      return "the other call says: " + problem[1 - won];
    std::vector<float> want = m->values;
    for (float& v : want) v = won ? -v : v + 1;
    set(b, std::move(*results[won]), std::move(want));
    return "";
  }

  std::string fails(std::size_t a) {
    const ModelPtr m = at_[a].model;
    if (!m) return "";
    try {
      (void)kFails(at_[a].array);
      return "a call that cannot be done was done";
    } catch (const ts::Error&) {
      return at_[a].array.is_deleted() == !m->taker.empty() ? ""
                                                            : "a failed call took its argument";
    }
  }

  struct Span {
    Array keeps;
    ModelPtr model;
    std::span<const float> span;
    std::vector<float> values;
  };
  std::vector<Variable> at_;
  std::vector<Span> spans_;
};

std::string problem(const std::vector<std::uint64_t>& steps) {
  World world;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (std::string wrong = world.step(steps[i]); !wrong.empty())
      return "step " + std::to_string(i) + ": " + wrong;
  return world.read_all();
}

}  // namespace

TEST(RandomDonations, LeaveEachArrayToWhoHasIt) {
  NEEDS_CPU(first);
  ts::set_device_count(kDevices);
  const char* text = std::getenv("TESSERA_DONATIONS");
  const int programs = text ? std::atoi(text) : 400;
  for (int k = 0; k < programs; ++k) {
    std::mt19937_64 rng(static_cast<std::uint64_t>(k) * 7919 + 5);
    std::vector<std::uint64_t> steps(5 + rng() % 30);
    for (std::uint64_t& s : steps) s = rng();
    if (problem(steps).empty()) continue;
    for (std::size_t i = steps.size(); i-- > 0;) {
      std::vector<std::uint64_t> less = steps;
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
      if (!problem(less).empty()) steps = less;
    }
    std::string program;
    for (const std::uint64_t s : steps) program += " " + std::to_string(std::mt19937_64(s)() % 19);
    FAIL() << "program " << k << ": " << problem(steps) << "\nsteps" << program;
  }
}

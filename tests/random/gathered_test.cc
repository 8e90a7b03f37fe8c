// Random programs of operations outside of jit, in which arrays are dropped, read, donated and
// moved in between: if the operations are gathered, everything that the program sees is what it
// sees if they run at once, bit for bit.
#include <tessera/tessera.h>

#include "ops/dice.h"
#include "random/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace ts = tessera;
using ts::Array;

namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string text(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(text.data(), values.data(), text.size());
  std::string hex;
  for (const char c : text) {
    constexpr char digits[] = "0123456789abcdef";
    hex += digits[static_cast<unsigned char>(c) >> 4];
    hex += digits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

std::string seen(const Array& x) {
  std::string text = ts::describe(x) + (x.weak_type() ? " weak " : " ");
  text += ts::to_string(x.sharding()) + " ";
  if (x.dtype() == ts::f32) return text + bytes_of(x.to_vector<float>());
  if (x.dtype() == ts::f64) return text + bytes_of(x.to_vector<double>());
  if (x.dtype() == ts::i32) return text + bytes_of(x.to_vector<std::int32_t>());
  return text + ts::to_string(x);
}

// A pool of arrays, and a line for everything that the program sees.
struct Walk {
  walk::Dice& dice;
  std::vector<Array> pool{};
  std::vector<std::string> lines{};

  Array& any() { return pool[static_cast<std::size_t>(dice.below(std::ssize(pool)))]; }
  void put(Array x) {
    if (x.size() > 64) x = ts::sum(x, 0);
    if (pool.size() < 6)
      pool.push_back(std::move(x));
    else
      any() = std::move(x);
  }
  void begin() {
    const Array key = ts::random::key(3);
    pool.push_back(ts::random::normal(key, {3, 4}));
    pool.push_back(ts::arange(4));
    pool.push_back(ts::random::uniform(key, {4}));
    pool.push_back(ts::device_put(ts::array({{1.5}, {-2.0}, {0.25}}), ts::default_device()));
  }

  Array unary(const Array& x) {
    switch (dice.below(12)) {
      case 0: return -x;
      case 1: return ts::tanh(x);
      case 2: return ts::sum(x);
      case 3: return ts::max(x, -1);
      case 4: return x.T();
      case 5: return x.astype(ts::f32);
      case 6: return x.astype(ts::i32);
      case 7: return x.flatten();
      case 8: return ts::abs(x) > 0.5;
      case 9: return ts::cumsum(x, 0);
      case 10: return ts::sort(x, -1);
      default: return ts::grad([](Array a) { return ts::sum(ts::sin(a) * a); })(x);
    }
  }
  Array binary(const Array& x, const Array& y) {
    switch (dice.below(8)) {
      case 0: return x + y;
      case 1: return x * y;
      case 2: return x - y;
      case 3: return ts::where(x > y, x, y);
      case 4: return ts::dot(x, y);
      case 5: return ts::concatenate({x.flatten(), y.flatten()});
      case 6: return x / (ts::abs(y) + 1);
      default: return x < y;
    }
  }
  Array with_number(const Array& x) {
    const std::int64_t k = dice.between(-3, 3);
    switch (dice.below(4)) {
      case 0: return x * k;
      case 1: return x + 0.5 * static_cast<double>(k);
      case 2: return ts::maximum(k, x);
      default: return x - k;
    }
  }
  Array with_position(const Array& x) {
    const std::int64_t i = dice.below(4);
    switch (dice.below(4)) {
      case 0: return x[i];
      case 1: return x(ts::range(i, i + 2));
      case 2: return x.at(i).set(7);
      default: return x.at(ts::range(0, i)).add(1);
    }
  }
  void step() {
    switch (dice.below(16)) {
      case 0:
      case 1:
      case 2: return put(unary(any()));
      case 3:
      case 4:
      case 5:
      case 6: return put(binary(any(), any()));
      case 7:
      case 8: return put(with_number(any()));
      case 9:
      case 10: return put(with_position(any()));
      case 11: return put(any());
      case 12:
        if (pool.size() > 2) pool.pop_back();
        return;
      case 13: lines.push_back(seen(any())); return;
      case 14: {
        const auto f = ts::jit([](Array a) { return a + a; }, {.donate = {0}});
        return put(f(any()));
      }
      default: return put(ts::device_put(any(), ts::default_device()));
    }
  }
  void run() {
    begin();
    for (int i = 0; i < 40; ++i) try {
        step();
      } catch (const ts::Error& e) {
        lines.push_back(e.what());
      }
    for (const Array& x : pool) try {
        lines.push_back(seen(x));
      } catch (const ts::Error& e) {
        lines.push_back(e.what());
      }
  }
};

std::vector<std::string> lines_of(const walk::Tape& tape, ts::Eager when) {
  const ts::Eager before = ts::eager();
  ts::set_eager(when);
  walk::Dice dice(tape);
  Walk w{dice};
  w.run();
  ts::set_eager(before);
  return w.lines;
}

std::string wrong(const walk::Tape& tape) {
  check::note(tape);
  const std::vector<std::string> want = lines_of(tape, ts::Eager::at_once),
                                 got = lines_of(tape, ts::Eager::gathered);
  for (std::size_t i = 0; i < std::min(want.size(), got.size()); ++i)
    if (got[i] != want[i]) return "gathered:\n" + got[i] + "\nat once:\n" + want[i];
  return got.size() == want.size() ? "" : "one sees more than the other";
}

}  // namespace

TEST(RandomGathered, IsAsAtOnce) { check::check_many(60, 200, wrong); }

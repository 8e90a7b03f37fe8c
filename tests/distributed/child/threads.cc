// Programs in which several threads of each process make calls.
#include "child.h"

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace child {
namespace {

// Three threads of each process call functions that all processes run together, each as fast as it
// can.
void threads() {
  const ts::Mesh mesh({{"i", 8}}), middle({{"i", 4}}, devices_of({2, 3, 4, 5}));
  const Array x = draw(30, {8, 64});
  std::vector<Array> results(3);
  const auto busy = [](int turn) {  // processes differ in speed
    Array y = ts::ones({16, 16});
    for (int i = 0; i < (turn * 7 + ts::process_index() * 5) % 11; ++i)
      y = ts::matmul(y, y) * 0.01f;
    y.block_until_ready();
  };
  std::vector<std::thread> all;
  all.emplace_back([&] {
    const auto f =
        ts::pmap([](Array v) { return v * 0.5f + ts::pmean(ts::sin(v), "i"); }, {.axis_name = "i"});
    Array v = x;
    for (int t = 0; t < 40; ++t) {
      busy(t);
      v = f(v);
    }
    results[0] = v;
  });
  all.emplace_back([&] {
    const auto f =
        ts::jit([](Array v) { return v - ts::mean(v, 0, true) * 0.25f; }, {.mesh = mesh});
    Array v = ts::device_put(x, mesh, P("i"));
    for (int t = 0; t < 30; ++t) {
      v = f(v);
      busy(t + 3);
    }
    results[1] = v;
  });
  all.emplace_back([&] {
    const auto f = ts::jit([](Array v) { return ts::cos(v) + ts::sum(v); }, {.mesh = middle});
    Array v = ts::device_put(x, middle, P("i")), sums = ts::zeros({8, 64});
    for (int t = 0; t < 10; ++t) {
      v = f(v);
      sums = sums + ts::process_allgather(v);
      ts::distributed::barrier();
    }
    results[2] = sums;
  });
  for (std::thread& t : all) t.join();
  for (int i = 0; i < 3; ++i)
    show("thread " + std::to_string(i), results[static_cast<std::size_t>(i)]);
  const auto last = ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"});
  show("and this one", last(x));
}

// A thread begins with the same program as another one that is still alive.
void like_threads() {
  const auto f = ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"});
  show("first", f(rows()));
  std::string text;
  std::thread([&] {
    try {
      f(rows() * 2).block_until_ready();
    } catch (const ts::CollectiveError& e) {
      text = e.what();
    }
  }).join();
  show("and again", f(rows()));
  if (!text.empty()) throw std::runtime_error(text);
}

// The threads run one after the other and begin with the same program, but are never alive
// together.
void more_threads() {
  const auto f = ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"});
  for (int i = 0; i < 3; ++i)
    std::thread([&] { show("turn " + std::to_string(i), f(draw(i, {8, 4}))); }).join();
  show("at last", f(rows()));
}

// Two threads make calls in no fixed order; process 1 makes them in the opposite order.
void race_threads() {
  const auto make = [](bool squares) {
    if (squares) sum(rows()).block_until_ready();
    if (!squares) mean(rows()).block_until_ready();
  };
  show("before", sum(rows()));
  if (ts::process_index() == 1) make(false);
  std::string text;
  std::thread([&] {
    try {
      make(true);
    } catch (const ts::CollectiveError& e) {
      text = e.what();
    }
  }).join();
  if (!text.empty()) throw std::runtime_error(text);
  if (ts::process_index() == 0) make(false);
}

}  // namespace

Modes threads_modes() {
  return {{"threads", threads},
          {"like_threads", like_threads},
          {"more_threads", more_threads},
          {"race", race_threads}};
}

}  // namespace child

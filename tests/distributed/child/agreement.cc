// Settings, values and the order of calls that processes must have in common and do not.
#include "child.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace child {
namespace {

// The number that the launcher gives, before the processes are joined.
int launched_as() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const char* rank = std::getenv(name)) return std::atoi(rank);
  return 0;
}
std::string given(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

const ts::Mesh& mesh() {
  static const ts::Mesh all({{"i", kDevices}});
  return all;
}
// Arrays that are equal in all processes, except for one element in the last process.
Array almost(std::vector<float> values, std::size_t element) {
  if (ts::process_index() == ts::process_count() - 1) values[element] += 1;
  return ts::array(values);
}
Array drawn(int seed) { return ts::device_put(draw(seed, {kDevices, 4}), mesh(), P("i")); }
Array made_of_parts(float of) {
  return ts::make_array_from_callback({kDevices, 4}, ts::Sharding(mesh(), P("i")),
                                      [&](const std::vector<ts::Range>&) {
                                        return ts::full({1, 4}, of);
                                      });
}

// One process alone makes a call of the function that all call next.
void extra_call() {
  const Array x = drawn(0), y = drawn(1);
  if (ts::process_index() == 0) sum(x).block_until_ready();
  sum(y).block_until_ready();
}
void extra_call_of_parts() {
  const Array x = made_of_parts(1), y = made_of_parts(2);
  if (ts::process_index() == 0) sum(x).block_until_ready();
  sum(y).block_until_ready();
}
void extra_call_of_results() {
  const Array x = drawn(0);
  if (ts::process_index() == 0) sum(ts::exp(x)).block_until_ready();
  sum(ts::cos(x)).block_until_ready();
}
// Arguments that are equivalent, and values that each process computes for itself, are not
// differences.
void calls_of_its_own() {
  const Array x = drawn(0), parts = made_of_parts(2);
  Array y = sum(x);
  if (ts::process_index() == 1) {
    (void)(x * 2).block_until_ready();
    (void)ts::sum(draw(3, {8})).item<float>();
  }
  for (int turn = 0; turn < 3; ++turn) y = sum(ts::cos(y) + parts);
  show("y", y);
}

void put_differs() {
  const Array x = ts::device_put(almost({1, 2, 3, 4, 5, 6, 7, 8}, 5).reshape({2, 4}), mesh(), P());
  ts::jit([](Array v, Array w) { return v + ts::sum(w); },
          {.mesh = mesh(), .in_shardings = {P(), P("i")}})(x, drawn(0))
      .block_until_ready();
}
void argument_differs() {
  const std::map<std::string, Array> m{{"b", almost({1, 2, 3}, 2)}, {"w", drawn(0)}};
  ts::jit(
      [](std::map<std::string, Array> p, Array x) { return ts::sum(p.at("w")) * p.at("b") + x; },
      {.mesh = mesh(), .name = "step"})(m, ts::ones({3}))
      .block_until_ready();
}
void capture_differs() {
  const Array rate = almost({0.5}, 0).reshape(ts::Shape{});
  const Array w = drawn(0);
  ts::jit([&](Array x) { return ts::sum(x) * rate; }, {.mesh = mesh(), .name = "step"})(w)
      .block_until_ready();
}
// Larger than arrays that are compared as a whole, and different where no sample is taken.
void large_differs() {
  const Array x = almost(std::vector<float>(5000, 1), 1001);
  ts::jit([](Array a, Array b) { return ts::sum(a) * ts::sum(b); },
          {.mesh = mesh(), .in_shardings = {P(), P("i")}, .name = "step"})(x, drawn(0))
      .block_until_ready();
  if (ts::process_index() == 0) std::printf("not compared\n");
}

void counts_differ() { ts::set_device_count(2 * kDevices * (1 + ts::process_index())); }

}  // namespace

Modes agreement_modes() {
  return {{"extra_call", extra_call},
          {"extra_call_of_parts", extra_call_of_parts},
          {"extra_call_of_results", extra_call_of_results},
          {"calls_of_its_own", calls_of_its_own},
          {"put_differs", put_differs},
          {"argument_differs", argument_differs},
          {"capture_differs", capture_differs},
          {"large_differs", large_differs},
          {"counts_differ", counts_differ}};
}

namespace {

// The last of two processes has the additional setting NAME=VALUE.
void settings_differ() {
  const std::string one = given("ONE_HAS");
  if (launched_as() == 1)
    ::setenv(one.substr(0, one.find('=')).c_str(), one.substr(one.find('=') + 1).c_str(), 1);
  ts::distributed::initialize({.several_threads = one == "THREADS=1" && launched_as() == 1});
  std::printf("process %d joined\n", ts::process_index());
}
// The processes have different numbers of cores, as on machines of different sizes.
void cores_differ() {
  ::setenv("TESSERA_WORKERS", launched_as() == 1 ? "6" : "4", 1);
  std::printf("process %d has %d devices\n", ts::process_index(), ts::device_count());
}
void never_come() {
  if (launched_as() == 1) ::pause();
  try {
    ts::distributed::initialize({.timeout = 1});
  } catch (const ts::CollectiveError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::exit(1);
  }
}
void odd_timeouts() {
  for (const double t : {0.0, -1.0, std::nan("")}) try {
      ts::distributed::initialize({.timeout = t});
    } catch (const ts::Error& e) {
      std::printf("%s\n", e.what());
    }
  try {
    std::printf("%d\n", ts::process_of(ts::Device{99}));
  } catch (const ts::DeviceError& e) {
    std::printf("%s\n", e.what());
  }
}
// Changes to a folder with foreign files before anything else.
void moved() {
  if (::chdir(given("ELSEWHERE").c_str()) != 0) return;
  std::printf("process %d of %d\n", ts::process_index(), ts::process_count());
}

}  // namespace

Modes early_modes() {
  return {{"settings_differ", settings_differ},
          {"cores_differ", cores_differ},
          {"never_come", never_come},
          {"odd_timeouts", odd_timeouts},
          {"moved", moved}};
}

}  // namespace child

// Measures the costs of the runtime that grow with the number of devices: the time of small calls
// on arrays over all devices, and the memory of programs and arrays, in this process.
// TESSERA_DEVICES sets the number of devices, in as many processes as a launcher starts. Process 0
// prints a line of JSON.
#include <tessera/tessera.h>

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <vector>

namespace ts = tessera;
using ts::Array;
using ts::P;

namespace {

constexpr int kKept = 64, kPrograms = 8;

std::int64_t heap() {
  const struct mallinfo2 m = mallinfo2();
  return static_cast<std::int64_t>(m.uordblks + m.hblkhd);
}
double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double processor_time() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Figures {
  double call = 0, processor = 0;  // seconds per call: by the clock, and of this process's threads
  double program = 0,
         array = 0;  // bytes that stay allocated for a compiled program and for a result
  double frame = 0;  // bytes that a call takes while it runs
};

// `make(k)` is the k-th of several programs that differ in one number.
template <class Make>
Figures measure(const Make& make, const Array& x) {
  Figures f;
  {
    // The first programs allocate what all programs share.
    std::vector<decltype(make(0))> programs;
    for (int k = 0; k < 2 * kPrograms; ++k) {
      if (k == kPrograms) f.program = -static_cast<double>(heap());
      programs.push_back(make(k));
      ts::block_until_ready(programs.back()(x));
    }
    f.program = (f.program + static_cast<double>(heap())) / kPrograms;
  }
  auto step = make(100);
  f.frame = static_cast<double>(step.lower(x).memory().temporaries);
  std::vector<Array> kept;
  kept.reserve(2 * kKept);
  for (int k = 0; k < 2 * kKept; ++k) {
    if (k == kKept) f.array = -static_cast<double>(heap());
    kept.push_back(step(x));
    ts::block_until_ready(kept.back());
  }
  f.array = (f.array + static_cast<double>(heap())) / kKept;
  // All processes make the same number of calls per round, because calls that communicate need all
  // processes.
  std::vector<double> calls, worked_each;
  for (int round = 0; round < 15; ++round) {
    constexpr int kCalls = 200;
    const double begin = now(), worked = processor_time();
    for (int k = 0; k < kCalls; ++k) kept[0] = step(x);
    ts::block_until_ready(kept[0]);
    calls.push_back((now() - begin) / kCalls);
    worked_each.push_back((processor_time() - worked) / kCalls);
  }
  std::sort(calls.begin(), calls.end());
  std::sort(worked_each.begin(), worked_each.end());
  f.call = calls[calls.size() / 2];
  f.processor = worked_each[worked_each.size() / 2];
  return f;
}

void print(const char* name, const Figures& f) {
  std::printf(
      R"(, "%s": {"call": %.9g, "processor": %.9g, "program": %.0f, "array": %.0f, "frame": %.0f})",
      name, f.call, f.processor, f.program, f.array, f.frame);
}

}  // namespace

int main() {
  const auto n = static_cast<std::int64_t>(ts::device_count());
  const ts::Mesh mesh({{"i", n}});
  const Array x = ts::device_put(ts::ones({n}), mesh, P("i"));
  const Figures add = measure(
      [](int k) { return ts::jit([k](Array v) { return v + static_cast<float>(k + 1); }); }, x);
  const Figures sum = measure(
      [&](int k) {
        return ts::jit(
            ts::shard_map([k](Array v) { return ts::psum(v * static_cast<float>(k + 2), "i"); },
                          {.mesh = mesh, .in_specs = P("i"), .out_specs = P()}));
      },
      x);
  if (ts::process_index() != 0) return 0;
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  std::printf(R"({"devices": %lld, "processes": %d, "local": %zu, "resident": %lld)",
              static_cast<long long>(n), ts::process_count(), ts::local_devices().size(),
              1024LL * use.ru_maxrss);
  print("add", add);
  print("psum", sum);
  std::printf("}\n");
}

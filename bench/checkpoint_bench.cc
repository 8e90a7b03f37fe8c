// Measures how fast a state is saved and restored, and how long a save in the background stops the
// program:
//
//   checkpoint_bench FOLDER [MIB] [ARRAYS]    1024 MiB in 16 arrays, sharded over the devices
//
// It runs in one process or in several. Restores read from the page cache.
#include <tessera/tessera.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace ts = tessera;
using ts::Array;
using ts::P;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void print(const char* what, std::vector<double> seconds, double mib) {
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  if (ts::process_index() == 0)
    std::printf("%-26s %8.4f s (%.4f to %.4f)  %8.0f MiB/s\n", what, median, seconds.front(),
                seconds.back(), mib / median);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("usage: checkpoint_bench FOLDER [MIB] [ARRAYS]\n", stderr), 2;
  const std::string dir = std::string(argv[1]) + "/checkpoint_bench";
  const double mib = argc > 2 ? std::atof(argv[2]) : 1024;
  const int arrays = argc > 3 ? std::atoi(argv[3]) : 16;
  constexpr int kRounds = 5;
  const auto rows = static_cast<std::int64_t>(mib * (1 << 20) / arrays / 4 / 1024) / 8 * 8;
  const ts::Mesh mesh({{"i", ts::device_count()}});
  std::vector<Array> state;
  for (int i = 0; i < arrays; ++i)
    state.push_back(
        ts::device_put(ts::random::normal(ts::random::key(i), {rows, 1024}), mesh, P("i")));
  ts::block_until_ready(state);
  const auto step = ts::jit([](std::vector<Array> s) {
    for (Array& x : s) x = x * 0.5f;
    return s;
  });
  state = step(std::move(state));
  ts::block_until_ready(state);

  std::vector<double> save, call, whole, restore, exactly, elsewhere;
  for (int i = 0; i < kRounds; ++i) {
    double begin = now();
    ts::checkpoint::save(dir, i, state, {.overwrite = true});
    save.push_back(now() - begin);
  }
  for (int i = 0; i < kRounds; ++i) {
    const double begin = now();
    ts::CheckpointSaving saving = ts::checkpoint::save_async(dir, i, state, {.overwrite = true});
    call.push_back(now() - begin);
    state = ts::block_until_ready(step(std::move(state)));
    saving.wait();
    whole.push_back(now() - begin);
  }
  const ts::Mesh other({{"a", ts::device_count()}});
  for (int i = 0; i < kRounds; ++i) {
    double begin = now();
    (void)ts::block_until_ready(ts::checkpoint::restore(dir, state));
    restore.push_back(now() - begin);
    begin = now();
    (void)ts::block_until_ready(ts::checkpoint::restore(dir, state, {.verify = false}));
    exactly.push_back(now() - begin);
    begin = now();
    (void)ts::block_until_ready(ts::checkpoint::restore(
        dir, state, {.mesh = other, .specs = ts::SpecTree(P(ts::none, "a"))}));
    elsewhere.push_back(now() - begin);
  }
  print("save", save, mib);
  print("save_async, to its return", call, mib);
  print("save_async, with a step", whole, mib);
  print("restore", restore, mib);
  print("restore without checksums", exactly, mib);
  print("restore by other columns", elsewhere, mib);
  if (ts::process_index() == 0) std::filesystem::remove_all(dir);
  return 0;
}

// Deliberate mistakes, one per run. Each must end in a sanitizer's report, which shows that the
// sanitizers see through the workers, the memory pool and compiled kernels, which they know nothing
// about.
#include "codegen/tape/planner.h"
#include "runtime/buffer.h"
#include "runtime/cpu/execute.h"
#include "runtime/host/blocks.h"
#include "runtime/host/pool.h"
#include "runtime/programs.h"

#include <atomic>
#include <climits>
#include <cstdio>

namespace ops = tessera::ops;
using namespace rt;

namespace {

constexpr std::int64_t kCount = 1 << 14;

// Two tasks that certainly run at the same time count without synchronisation. They do so many
// times, because the sanitizer may overlook two accesses at the same instant.
void workers_race() {
  std::atomic<int> begun{0};
  volatile int count = 0;
  parallel_for(2, [&](std::int64_t) {
    begun.fetch_add(1, std::memory_order_relaxed);
    while (begun.load(std::memory_order_relaxed) < 2) {
    }
    for (int k = 0; k < 1000; ++k) count = count + 1;
  });
  std::printf("%d\n", static_cast<int>(count));
}

ts::tape::Tape tape_of_two_devices() {
  Sharded s({{"i"}, {2}}, {ts::Type(ts::f32, {2, kCount})}, {"i"}, {"i"},
            [](ts::Builder&, ts::Values v) { return ts::Values{ops::neg(v[0])}; });
  ts::tape::TapeOptions options;
  options.workers = worker_count();
  ts::tape::Tape tape = *ts::tape::make_tape(*s.whole(), options);
  for (auto& phase : tape.phases) phase.seconds = 1;  // enough to use the workers
  return tape;
}
void run(const ts::tape::Tape& tape, std::vector<std::byte*> arguments, std::byte* result) {
  ScopedBlock memory(static_cast<std::size_t>(tape.frame_bytes));
  Frame frame(tape, memory.data());
  const auto slot = [&](int i) { return tape.slots[static_cast<std::size_t>(i)]; };
  std::byte** in = frame.table + slot(tape.arguments.at(0).slot).offset;
  std::byte** out = frame.table + slot(tape.results.at(0).slot).offset;
  for (std::size_t d = 0; d < 2; ++d) in[d] = arguments[d], out[d] = result + d * kCount * 4;
  execute(tape, frame, true);
}

// The kernels of two devices write to the same memory.
void kernels_race() {
  ts::tape::Tape tape = tape_of_two_devices();
  for (auto& slot : tape.slots)
    if (slot.space == ts::tape::Space::result) slot.instance.clear();
  auto in = Buffer::allocate(kCount * 8), out = Buffer::allocate(kCount * 8);
  for (int k = 0; k < 10000; ++k)  // until both workers take part
    run(tape, {in->host_data(), in->host_data() + kCount * 4}, out->host_data());
}

// Reads memory that was returned to the pool.
void read_after_release() {
  std::byte* p = Buffer::allocate(100)->host_data();
  std::printf("%d\n", static_cast<int>(*static_cast<volatile std::byte*>(p)));
}

// Gives a kernel an argument that was returned to the pool.
void kernel_after_release() {
  ts::tape::Tape tape = tape_of_two_devices();
  auto out = Buffer::allocate(kCount * 8);
  std::byte* in = Buffer::allocate(kCount * 8)->host_data();
  run(tape, {in, in + kCount * 4}, out->host_data());
}

// Gives a kernel a result that is too small.
void kernel_past_the_end() {
  ts::tape::Tape tape = tape_of_two_devices();
  auto in = Buffer::allocate(kCount * 8), out = Buffer::allocate(kCount * 8 - 4);
  run(tape, {in->host_data(), in->host_data() + kCount * 4}, out->host_data());
}

void overflow() {
  volatile int n = INT_MAX;
  n = n + 1;
}

}  // namespace

int main(int, char** argv) {
  const std::string what = argv[1];
  if (what == "workers_race") workers_race();
  if (what == "kernels_race") kernels_race();
  if (what == "read_after_release") read_after_release();
  if (what == "kernel_after_release") kernel_after_release();
  if (what == "kernel_past_the_end") kernel_past_the_end();
  if (what == "overflow") overflow();
}

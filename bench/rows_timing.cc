#include "rows_timing.h"

#include <tessera/distributed.h>

#include <sys/resource.h>

#include <algorithm>

namespace bench {
namespace {

double cpu_seconds() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  auto s = [](timeval t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return s(u.ru_utime) + s(u.ru_stime);
}

double median(std::vector<double> times) {
  auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// The time of an undisturbed call.
double shortest(const Call& call, int calls) {
  double least = 1e30;
  for (int i = 0; i < calls; ++i) {
    auto start = Clock::now();
    call();
    least = std::min(least, seconds_since(start));
  }
  return std::max(least, 1e-7);
}

// Returns process 0's number in all processes.
std::int64_t agreed(std::int64_t n) {
  return ts::process_allgather(ts::full({1}, static_cast<std::int32_t>(n), ts::i32))
      .to_vector<std::int32_t>()
      .front();
}

}  // namespace

Times time_calls(const Call& call, double budget) {
  constexpr std::int64_t kBatches = 8;
  const bool together = ts::process_count() > 1;
  const double once = shortest(call, together ? 3 : 1);
  std::int64_t batch =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(budget / kBatches / once));
  std::int64_t batches = 0;  // 0: until the time is over
  if (together) {
    batch = agreed(batch);
    batches =
        agreed(std::clamp<std::int64_t>(static_cast<std::int64_t>(budget / once), 3, kBatches));
    ts::distributed::barrier();
  }
  std::vector<double> times;
  const auto count = [&] { return static_cast<std::int64_t>(times.size()); };
  double cpu = cpu_seconds();
  const auto begin = Clock::now();
  const auto enough = [&] {
    return batches ? count() == batches : count() && seconds_since(begin) >= budget;
  };
  while (!enough()) {
    auto start = Clock::now();
    for (std::int64_t i = 0; i < batch; ++i) call();
    times.push_back(seconds_since(start) / static_cast<double>(batch));
  }
  cpu = (cpu_seconds() - cpu) / static_cast<double>(batch * count());
  return {median(std::move(times)), cpu};
}

}  // namespace bench

// Times operations of PyTorch that are called from C++, as Tessera's are: the rows of rows_bench
// that measure the cost of a call, under the same names and with the same protocol, in which "time
// ROW SECONDS" lines are answered by "ok WALL_US CPU_US" or "error TEXT".
#include <torch/torch.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using torch::Tensor;
using Call = std::function<void()>;
using Clock = std::chrono::steady_clock;

// A call that records nothing for derivatives.
template <class F>
Call plain(F f) {
  return [=] {
    c10::InferenceMode guard;
    f();
  };
}

std::map<std::string, std::function<Call()>> rows() {
  std::map<std::string, std::function<Call()>> all;
  all["jit_scalar"] = [] {
    Tensor x = torch::zeros({});
    return plain([=] { return x + 1; });
  };
  all["jit_tree_100"] = [] {
    std::vector<Tensor> t(100);
    for (Tensor& x : t) x = torch::zeros({});
    return plain([=] { return torch::_foreach_add(t, 1); });
  };
  all["eager_add"] = [] {
    Tensor x = torch::zeros({4});
    return plain([=] { return x + x; });
  };
  all["eager_update"] = [] {
    Tensor w = torch::ones({8}), g = torch::ones({8});
    return plain([=] { return w - 0.1f * (g + 0.01f * w); });
  };
  all["grad_eager"] = [] {
    Tensor x = torch::ones({8}).requires_grad_();
    return Call([=] { torch::autograd::grad({(torch::sin(x) * x).sum()}, {x}); });
  };
  return all;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
double cpu_seconds() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  auto s = [](timeval t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return s(u.ru_utime) + s(u.ru_stime);
}

// Prints the wall time, which is the median over batches of calls that last about `budget` seconds
// together, and the processor time.
void time_calls(const Call& call, double budget) {
  auto start = Clock::now();
  call();
  double once = std::max(seconds_since(start), 1e-7);
  auto batch = std::max<std::int64_t>(1, static_cast<std::int64_t>(budget / 8 / once));
  std::vector<double> times;
  double cpu = cpu_seconds();
  for (auto begin = Clock::now(); times.empty() || seconds_since(begin) < budget;) {
    start = Clock::now();
    for (std::int64_t i = 0; i < batch; ++i) call();
    times.push_back(seconds_since(start) / double(batch));
  }
  cpu = (cpu_seconds() - cpu) / double(batch) / double(times.size());
  auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::cout << "ok " << *middle * 1e6 << " " << cpu * 1e6 << std::endl;
}

int serve() {
  auto all = rows();
  std::string current, line;
  Call call;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb, name;
    double budget = 0;
    words >> verb >> name >> budget;
    try {
      if (name != current) {
        call = nullptr;
        current.clear();
        call = all.at(name)();
        current = name;
        call();
        call();
      }
      time_calls(call, budget);
    } catch (const std::exception& e) {
      std::string text = e.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
      std::cout << "error " << text << std::endl;
    }
  }
  return 0;
}

}  // namespace

int main() { return serve(); }

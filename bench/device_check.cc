// Makes one measurement of scripts/device_check for this library on the default platform, and
// prints one line of JSON.
//
//   info                      the platform's description of itself
//   step NAME SECONDS         a training step: first call, steady time, host's time a call
//   train NAME STEPS          this many steps with donation, and the memory before and after
//   losses NAME STEPS         the losses of the first steps
//   calls SECONDS             the host's time for calls of small functions
//   eager SECONDS             20 operations outside of jit, whose result is read: times and programs
//   factors N                 factorisations of an N x N matrix: residuals and times
//   sharded NAME SECONDS      a step over 4 devices, partitioned as --partitioner selects
//
// Options before them: --precision fastest, --partitioner platform, --factorisations host,
// --eager at_once or gathered.
#include "rows_training.h"

#include <tessera/platform.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <stdexcept>

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}
double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// This is few enough that no platform makes the host wait for room in its queue.
constexpr int kInFlight = 16;
/// There are fewer calls if they are slow, so that there is more than one burst.
int in_flight(double seconds, double microseconds_a_call) {
  return std::clamp(static_cast<int>(seconds * 1e6 / (2 * microseconds_a_call)), 1, kInFlight);
}

struct Times {
  double steady, host;  // microseconds a call
  std::int64_t calls;
};
/// Times bursts of calls; only the end of a burst is waited for.
Times time_bursts(const bench::Call& call, const bench::Call& wait, double seconds) {
  const auto once = Clock::now();
  call();
  wait();
  const int burst = in_flight(seconds, microseconds_since(once));
  std::vector<double> whole, issued;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    for (int i = 0; i < burst; ++i) call();
    issued.push_back(microseconds_since(start) / burst);
    wait();
    whole.push_back(microseconds_since(start) / burst);
  } while (microseconds_since(begin) < seconds * 1e6);
  return {median(whole), median(issued), std::ssize(whole) * burst};
}

bench::Run run_named(const std::string& name) {
  for (const bench::NamedRun& r : bench::runs())
    if (r.name == name) return r.make();
  throw std::runtime_error("no run of training is called " + name);
}

ts::Device device() { return ts::devices(ts::default_backend())[0]; }
Json memory() {
  const ts::MemoryStats stats = ts::memory_stats(device());
  return {{"live", stats.live}, {"peak", stats.peak}};
}

Json info() {
  const ts::PlatformInfo p = ts::platform_info(ts::default_backend());
  return {{"name", p.name},       {"plugin", p.plugin},      {"reports", p.reports},
          {"version", p.version}, {"device", p.device},      {"devices", ts::device_count()},
          {"memory", memory()},   {"tessera", ts::version()}};
}

// In "steady", the loss of every step is read, as in a training loop that prints it; "queued" is
// the time of a step while others are in flight.
Json step(const std::string& name, double seconds) {
  const bench::Run run = run_named(name);
  auto start = Clock::now();
  run.step();
  const double first_loss = run.loss(), first = microseconds_since(start);
  run.step(), run.loss();
  std::vector<double> times;
  const auto begin = Clock::now();
  do {
    start = Clock::now();
    run.step();
    run.loss();
    times.push_back(microseconds_since(start));
  } while (microseconds_since(begin) < seconds * 5e5);
  const Times bursts = time_bursts(
      run.step, [&] { run.loss(); }, seconds / 2);
  const double last_loss = run.loss();
  // Adam's first steps are too long: the loss rises before it falls.
  const std::int64_t calls = std::ssize(times) + bursts.calls;
  const bool good = std::isfinite(last_loss) && (calls < 20 || last_loss < first_loss);
  return {{"first_us", first},
          {"steady_us", median(times)},
          {"queued_us", bursts.steady},
          {"host_us", bursts.host},
          {"calls", calls},
          {"first_loss", first_loss},
          {"last_loss", last_loss},
          {"good", good}};
}

Json train(const std::string& name, int steps) {
  const bench::Run run = run_named(name);
  for (int i = 0; i < 10; ++i) run.step();
  const double early = run.loss();
  const Json before = memory();
  const auto start = Clock::now();
  for (int i = 10; i < steps; ++i) {
    run.step();
    if (i % kInFlight == 0) run.loss();
  }
  const double late = run.loss(), took = microseconds_since(start);
  const Json after = memory();
  // A step that leaked an array of its state would show in the live bytes.
  const bool level = after["live"] == before["live"];
  return {{"steps", steps},
          {"step_us", took / std::max(1, steps - 10)},
          {"loss_after_10", early},
          {"last_loss", late},
          {"before", before},
          {"after", after},
          {"good", level && std::isfinite(late) && late < early}};
}

Json losses(const std::string& name, int steps) {
  const bench::Run run = run_named(name);
  Json all = Json::array();
  for (int i = 0; i < steps; ++i) {
    run.step();
    all.push_back(run.loss());
  }
  return {{"losses", all}};
}

// The result of each call is the argument of the next.
Json calls(double seconds) {
  Json out;
  const auto measure = [&](const char* name, auto f, auto start) {
    auto x = std::make_shared<decltype(start)>(start);
    const bench::Call call = [=] { *x = f(*x); };
    const bench::Call wait = [=] { ts::block_until_ready(*x); };
    call(), wait();
    const Times t = time_bursts(call, wait, seconds / 2);
    out[std::string(name) + "_host_us"] = t.host;
    out[std::string(name) + "_queued_us"] = t.steady;
  };
  measure("scalar", ts::jit([](Array x) { return x + 1; }), ts::zeros({}));
  std::vector<Array> many;
  for (int i = 0; i < 100; ++i) many.push_back(ts::zeros({}));
  measure("tree_100", ts::jit([](std::vector<Array> t) {
            return ts::tree::map([](Array x) { return x + 1; }, t);
          }),
          many);
  measure(
      "eager", [](Array x) { return x + 1; }, ts::zeros({}));
  return out;
}

Array twenty_operations(Array x, float k) {
  Array y = ts::tanh(x * k) + 1;
  y = ts::sqrt(ts::abs(y - x));
  y = ts::exp(-y) * ts::cos(x);
  y = ts::maximum(y, ts::sin(x) * 0.5);
  y = ts::where(y > 0.25, ts::square(y), ts::log1p(ts::abs(y)));
  return ts::sum(ts::minimum(y, 2));
}
Json eager(double seconds) {
  const Array x = ts::block_until_ready(ts::linspace(-2, 2, 4096));
  const std::int64_t before = ts::cache_stats().entries;
  const auto call = [&](int i) {
    const auto start = Clock::now();
    (void)twenty_operations(x, 0.5f + 0.001f * static_cast<float>(i)).item<float>();
    return microseconds_since(start);
  };
  const double first = call(0);
  const std::int64_t programs = ts::cache_stats().entries - before;
  std::vector<double> times;
  const auto begin = Clock::now();
  do {
    times.push_back(call(static_cast<int>(times.size())));
  } while (microseconds_since(begin) < seconds * 1e6);
  const std::int64_t later = ts::cache_stats().entries - before - programs;
  return {{"first_us", first},
          {"steady_us", median(times)},
          {"programs", programs},
          {"programs_later", later},
          {"calls", std::ssize(times)}};
}

// Residuals in units of eps n, where eps is float32's rounding unit.
Json factors(std::int64_t n) {
  const Array a = ts::random::normal(ts::random::key(1), {n, n});
  const double unit = 1.1920929e-7 * static_cast<double>(n);
  const auto largest = [](Array x) { return ts::max(ts::abs(x)).item<float>(); };
  const auto off = [&](Array product, Array want) {
    const Array p = ts::device_put(product, ts::devices("cpu")[0]),
                w = ts::device_put(want, ts::devices("cpu")[0]);
    return static_cast<double>(largest(p - w)) / static_cast<double>(largest(w)) / unit;
  };
  Json out;
  const auto measure = [&](const char* name, auto f, auto product, Array of) {
    const auto g = ts::jit(f);
    auto start = Clock::now();
    auto made = g(of);
    ts::block_until_ready(made);
    const double first = microseconds_since(start);
    start = Clock::now();
    made = g(of);
    ts::block_until_ready(made);
    out[name] = {{"first_us", first},
                 {"steady_us", microseconds_since(start)},
                 {"residual", off(product(made), of)}};
  };
  namespace L = ts::linalg;
  measure(
      "lu", [](Array x) { return L::lu(x); },
      [](const L::LU& f) { return ts::matmul(f.p.astype(ts::f32), ts::matmul(f.l, f.u)); }, a);
  measure(
      "qr", [](Array x) { return L::qr(x); }, [](const L::QR& f) { return ts::matmul(f.q, f.r); },
      a);
  measure(
      "svd", [](Array x) { return L::svd(x, false); },
      [](const L::SVD& f) { return ts::matmul(f.u * f.s, f.vh); }, a);
  measure(
      "eigh", [](Array x) { return L::eigh(x); },
      [](const L::Eigh& f) {
        return ts::matmul(f.eigenvectors * f.eigenvalues, ts::swapaxes(f.eigenvectors, 0, 1));
      },
      a + ts::swapaxes(a, 0, 1));
  measure(
      "cholesky", [](Array x) { return L::cholesky(x); },
      [](const Array& l) { return ts::matmul(l, ts::swapaxes(l, 0, 1)); },
      ts::matmul(a, ts::swapaxes(a, 0, 1)) + ts::eye(n) * static_cast<float>(n));
  bool good = true;
  for (const auto& [name, row] : out.items()) good = good && row["residual"] < 20;
  out["good"] = good;
  return out;
}

Json sharded(const std::string& name, double seconds) {
  for (const bench::Row& row : bench::rows()) {
    if (row.name != name) continue;
    const bench::Call call = row.make();
    auto start = Clock::now();
    call();
    const double first = microseconds_since(start);
    call();
    std::vector<double> times;
    const auto begin = Clock::now();
    do {
      start = Clock::now();
      call();
      times.push_back(microseconds_since(start));
    } while (microseconds_since(begin) < seconds * 1e6);
    return {{"first_us", first}, {"steady_us", median(times)}, {"calls", std::ssize(times)}};
  }
  throw std::runtime_error("no row is called " + name);
}

Json measured(const std::vector<std::string>& words) {
  const auto number = [&](std::size_t i) { return std::stod(words.at(i)); };
  const std::string what = words.empty() ? "" : words[0];
  if (what == "info") return info();
  if (what == "step") return step(words.at(1), number(2));
  if (what == "train") return train(words.at(1), static_cast<int>(number(2)));
  if (what == "losses") return losses(words.at(1), static_cast<int>(number(2)));
  if (what == "calls") return calls(number(1));
  if (what == "eager") return eager(number(1));
  if (what == "factors") return factors(static_cast<std::int64_t>(number(1)));
  if (what == "sharded") return sharded(words.at(1), number(2));
  throw std::runtime_error("nothing is called '" + what + "'; the head of this file lists them");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  try {
    for (; words.size() > 2 && words[0].starts_with("--");
         words.erase(words.begin(), words.begin() + 2)) {
      if (words[0] == "--precision" && words[1] == "fastest")
        ts::set_matmul_precision(ts::MatmulPrecision::fastest);
      else if (words[0] == "--partitioner" && words[1] == "platform")
        ts::set_partitioner(ts::Partitioner::platform);
      else if (words[0] == "--factorisations" && words[1] == "host")
        ts::set_factorisations(ts::Factorisations::on_host);
      else if (words[0] == "--eager" && words[1] == "at_once")
        ts::set_eager(ts::Eager::at_once);
      else if (words[0] == "--eager" && words[1] == "gathered")
        ts::set_eager(ts::Eager::gathered);
      else
        throw std::runtime_error("there is no option " + words[0] + " " + words[1]);
    }
    bench::add_training_rows();
    bench::add_gpt_rows();
    std::cout << measured(words).dump() << std::endl;
    return 0;
  } catch (const std::exception& e) {
    std::cout << Json{{"error", e.what()}}.dump() << std::endl;
    return 1;
  }
}

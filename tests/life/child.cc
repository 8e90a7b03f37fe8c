// A program that ends in the state, the way and by the thread that its arguments name;
// exits_test.cc and forks_test.cc look at what becomes of it.
//
//   life_child <state> <way> <who> <after>
//
// A state is what another thread does without pause, or what was left under way; `after` is how
// many rounds of it pass first. Output stays in the buffer of stdout, where an end that is cut
// short would lose it.
#include <tessera/tessera.h>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>

namespace ts = tessera;
using ts::Array;

namespace {

constexpr int kCode = 7;

std::atomic<int> rounds{0};
void round_is_over() {
  rounds.fetch_add(1);
  rounds.notify_all();
}

Array product(Array x) { return ts::matmul(x, x) * 0.01f; }
Array reduced(Array x) { return x + ts::psum(ts::sum(x), "i"); }

// An object that lives for the whole process, and whose destructor uses it after main.
struct Keeper {
  Array kept, pending;
  bool armed = false;
  ~Keeper() {
    if (!armed) return;
    const double sum = ts::sum(kept * 2).item<float>();
    const double of_product = ts::sum(product(kept)).item<float>();
    const double late = pending.is_empty() ? 4.0 : ts::max(pending).item<float>() * 0 + 4.0;
    std::printf("static %g %g %g\n", sum, of_product, late);
  }
};
Keeper keeper;

struct Endless {
  std::function<void()> round;
  void start() {
    std::thread([round = round] {
      for (;;) {
        round();
        round_is_over();
      }
    }).detach();
  }
};

// Each state leaves something in progress; the objects that it needs live as long as the process.
void begin(const std::string& state) {
  static auto& f = *new auto(ts::jit(product));
  static auto& p = *new auto(ts::pmap(reduced));
  static Array& x = *new Array(ts::full({400, 400}, 0.01f));
  static Array& rows = *new Array(ts::ones({4, 200000}));
  static Array& small = *new Array(ts::ones({8}));
  auto endless = [](std::function<void()> round) { Endless{std::move(round)}.start(); };

  if (state == "idle") {
    round_is_over();
  } else if (state == "first") {  // the first call of all is in progress
    keeper.pending = f(x);
    round_is_over();
  } else if (state == "queued") {
    for (int i = 0; i < 6; ++i) x = f(x);
    keeper.pending = x;
    round_is_over();
  } else if (state == "loop") {
    static auto& g = *new auto(ts::jit([](Array a) {
      return ts::fori_loop(
          0, 30, [](Array, Array v) { return product(v); }, a);
    }));
    for (int i = 0; i < 3; ++i) x = g(x);
    keeper.pending = x;
    round_is_over();
  } else if (state == "collective") {
    for (int i = 0; i < 6; ++i) rows = p(rows) * 1e-3f;
    keeper.pending = rows;
    round_is_over();
  } else if (state == "tracing") {
    endless([] {
      static std::atomic<int> n{0};
      const int k = n++;
      ts::eval_shape(
          [k](Array v) {
            for (int i = 0; i < 50; ++i) v = ts::sin(v) + static_cast<float>(k);
            return ts::grad([](Array u) { return ts::sum(u * u); })(v);
          },
          small);
    });
  } else if (state == "compiling") {
    endless([] {
      static std::atomic<int> n{1};
      const std::int64_t k = n++;
      ts::block_until_ready(ts::jit([](Array v) {
        return ts::sum(ts::exp(v) * ts::matmul(v, ts::transpose(v)));
      })(ts::ones({k, k})));
    });
  } else if (state == "eager") {
    endless([] { ts::block_until_ready(ts::sin(small) * 2 + small); });
  } else if (state == "calls") {
    endless([] { f(ts::full({16, 16}, 0.1f)); });
  } else if (state == "computing") {
    endless([] { ts::block_until_ready(f(x)); });
  } else if (state == "reading") {
    endless([] { (void)f(x).to_vector<float>(); });
  } else if (state == "queueing") {
    endless([] { x = f(x); });
  } else if (state == "mapping") {
    endless([] { ts::block_until_ready(p(rows)); });
  } else if (state == "prefetching") {
    using Source = ts::data::Prefetch<Array>;
    static auto& source = *new Source([]() -> std::optional<Array> { return f(x); }, 2);
    endless([] { ts::block_until_ready(*source.next()); });
  } else if (state == "profiling") {
    new ts::Profile(std::filesystem::temp_directory_path() /
                    ("tessera_life_" + std::to_string(::getpid()) + ".json"));
    endless([] { ts::block_until_ready(p(rows)); });
  } else if (state == "warning") {
    ts::set_warning_handler([](const std::string&) { f(ts::full({16, 16}, 0.1f)); });
    endless([] {
      static auto& g = *new auto(ts::jit([](Array v, int n) { return v + n; }));
      static int n = 0;
      g(small, n++);
    });
  } else if (state == "sharding") {  // partitioned programs, reshards, a region by hand
    static const ts::Mesh& mesh = *new ts::Mesh({{"a", 2}, {"b", 2}});
    static auto& g = *new auto(ts::jit(
        [](Array v) {
          return ts::with_sharding_constraint(product(v),
                                              ts::Sharding(mesh, ts::P(ts::none, "b"))) +
                 1;
        },
        {.mesh = mesh, .out_shardings = ts::P("b", "a")}));
    static auto& by_hand = *new auto(ts::shard_map(
        [](Array v) { return ts::psum(v, "b"); },
        {.mesh = mesh, .in_specs = {ts::P("b", "a")}, .out_specs = ts::P(ts::none, "a")}));
    static const Array& cut =
        *new Array(ts::device_put(ts::full({64, 64}, 0.1f), ts::Sharding(mesh, ts::P("a", "b"))));
    endless([] { ts::block_until_ready(by_hand(g(cut))); });
  } else if (state == "checking") {  // host code in the middle of a program
    static auto& g = *new auto(ts::jit([](Array v) {
      ts::debug::check(v);
      return product(v);
    }));
    endless([] { ts::block_until_ready(g(ts::full({16, 16}, 0.1f))); });
  } else if (state == "clearing") {
    endless([] { ts::block_until_ready(f(ts::full({16, 16}, 0.1f)) + ts::sin(small)[0]); });
    endless([] { ts::clear_caches(); });
  } else {
    std::fprintf(stderr, "no state %s\n", state.c_str());
    std::_Exit(90);
  }
}

void end(const std::string& way) {
  if (way == "exit") std::exit(kCode);
  if (way == "quick_exit") {
    std::fflush(stdout);
    std::quick_exit(kCode);
  }
  if (way == "_exit") {
    std::fflush(stdout);
    ::_exit(kCode);
  }
  if (way == "throw") throw std::runtime_error("nobody catches it");
  std::fprintf(stderr, "no way %s\n", way.c_str());
  std::_Exit(91);
}

// Children of fork do everything that the parent did, from the beginning to the end.
int as_a_child() {
  const Array y = ts::jit([](Array v) { return ts::sum(product(v)); })(ts::full({20, 20}, 0.5f));
  const Array z = ts::pmap(reduced)(ts::ones({4, 3}));
  const Array new_shape = ts::sum(ts::cos(ts::zeros({3, 7})));
  // 20^3 * 0.25 * 0.01, 1 + 12, 21
  return y.item<float>() == 20.0f && z.to_vector<float>()[5] == 13.0f &&
                 new_shape.item<float>() == 21.0f
             ? 0
             : 1;
}

int fork_and_wait(const std::string& how) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (how == "fork_idle") std::exit(0);
    const int code = as_a_child();
    if (how == "fork_exit") std::exit(code);
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

}  // namespace

// The result of the environment's settings: the errors of the first and of the second computation.
int use_settings() {
  ts::set_warning_handler(
      [](const std::string& text) { std::printf("warning: %s\n", text.c_str()); });
  for (int i = 0; i < 2; ++i) try {
      ts::block_until_ready(ts::sum(ts::ones({3})));
      std::printf("%d devices\n", ts::device_count());
    } catch (const ts::Error& e) {
      std::printf("%s\n", e.what());
    }
  return kCode;
}

// Compiles `n` programs that differ in shape and value, and prints how much the memory grew during
// the second half, in kilobytes.
int compile_many(int n) {
  auto resident = [] {
    std::FILE* f = std::fopen("/proc/self/statm", "r");
    long pages = 0, all = 0;
    if (std::fscanf(f, "%ld %ld", &all, &pages) != 2) pages = -1;
    std::fclose(f);
    return pages * (::sysconf(_SC_PAGESIZE) / 1024);
  };
  ts::set_warning_handler([](const std::string&) {});
  ts::set_cache_limit(std::int64_t{4} << 20);
  auto f = ts::jit([](Array x, int k) { return x * x + k; });
  long half = 0;
  for (int i = 1; i <= n; ++i) {
    const Array x = ts::full({i}, 2.0);
    const Array y = f(x, i);
    if (y[i - 1].item<float>() != 4.0f + static_cast<float>(i)) return 95;
    if (i == n / 2) half = resident();
  }
  if (f(ts::full({1}, 2.0), 1).item<float>() != 5.0f) return 96;  // dropped long ago, made again
  std::printf("%ld %ld\n", half, resident() - half);
  return ts::cache_stats().bytes <= ts::cache_limit() && ts::cache_stats().evicted > 0 ? kCode : 97;
}

// Restarts the program with an address space of this many megabytes, which limits everything that
// is loaded.
int begin_under_a_limit(char** argv) {
  const rlim_t bytes = static_cast<rlim_t>(std::atoi(argv[2])) << 20;
  const rlimit limit{bytes, bytes};
  char began[] = "began";
  char* words[] = {argv[0], began, nullptr};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) return 98;
  ::execv("/proc/self/exe", words);
  return 99;
}

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "limited") == 0) return begin_under_a_limit(argv);
  if (argc == 2 && std::strcmp(argv[1], "began") == 0) return std::puts("began"), kCode;
  if (argc == 2 && std::strcmp(argv[1], "settings") == 0) return use_settings();
  if (argc == 3 && std::strcmp(argv[1], "many") == 0) return compile_many(std::atoi(argv[2]));
  if (argc != 5) return 92;
  const std::string state = argv[1], way = argv[2], who = argv[3];
  const int after = std::atoi(argv[4]);
  ts::set_device_count(4);
  keeper.kept = ts::full({2, 2}, 1.5f);
  keeper.armed = true;
  for (int i = 0; i < 40; ++i) std::printf("line %d\n", i);

  begin(state);
  for (int seen = rounds.load(); seen <= after && state != "idle" && state != "first" &&
                                 state != "queued" && state != "loop" && state != "collective";
       seen = rounds.load())
    rounds.wait(seen);

  if (way.starts_with("fork")) {
    for (int i = 0; i < 5; ++i)
      if (int code = fork_and_wait(way)) {
        std::fprintf(stderr, "the child of fork %d ended with %d\n", i, code);
        std::_Exit(93);
      }
    return kCode;
  }
  if (way == "pthread_exit") {
    std::thread([main = pthread_self()] {
      (void)ts::ones({2});
      pthread_join(main, nullptr);
      std::exit(kCode);
    }).detach();
    pthread_exit(nullptr);
  }
  if (way == "return" && who == "main") return kCode;
  if (who == "main") end(way);
  std::thread([&] {
    (void)ts::ones({2});  // a thread that uses the library, like all threads here
    end(way);
  }).join();
  return 94;
}

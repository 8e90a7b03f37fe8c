// Lesson 3: compiled functions, and what tracing is.
#include "lessons/lesson.h"

//: wave
Array wave(Array x) {
  std::cout << "wave runs with " << x.dtype() << ts::to_string(x.shape()) << "\n";
  return ts::exp(-x * x) * ts::cos(5 * x);
}
//:

int main() {
  part("traced once");
  auto fast = ts::jit(wave);
  Array x = ts::linspace(-2, 2, 5);
  std::cout << fast(x) << "\n";
  std::cout << fast(x + 0.5) << "\n";

  part("another shape");
  std::cout << ts::to_string(fast(ts::linspace(-2, 2, 1000)).shape()) << "\n";

  part("program");
  std::cout << fast.lower(x).ir();

  part("schedule");
  std::cout << fast.lower(x).schedule();

  part("mistake");
  auto absolute = [](Array v) {
    if (bool(v < 0)) return -v;
    return v;
  };
  std::cout << "without jit: " << absolute(-3.0) << "\n";
  try {
    ts::jit(absolute)(-3.0);
  } catch (const ts::TraceError& error) {
    std::cout << error.what() << "\n";
  }

  part("mended");
  auto by_where = ts::jit([](Array v) { return ts::where(v < 0, -v, v); });
  auto by_cond = ts::jit([](Array v) {
    return ts::cond(
        v < 0, [](Array u) { return -u; }, [](Array u) { return u; }, v);
  });
  std::cout << by_where(-3.0) << " " << by_cond(-3.0) << "\n";

  part("frozen");
  float factor = 2;
  auto scaled = ts::jit([&](Array v) { return v * factor; });
  std::cout << scaled(10.0) << " ";
  factor = 3;
  std::cout << scaled(10.0) << "\n";

  part("loop");
  auto population = ts::jit([](Array growth) {
    Array start = ts::full_like(growth, 0.5);
    Array settled = ts::fori_loop(
        0, 500, [&](Array, Array p) { return growth * p * (1 - p); }, start);
    auto [last, visited] = ts::scan(
        [&](Array p) {
          Array next = growth * p * (1 - p);
          return std::pair(next, next);
        },
        settled, {.length = 60});
    return visited;  // (60, number of growth rates)
  });
  Array growth = ts::linspace(2.8, 4.0, 160);
  Array visited = population(growth);
  std::cout << ts::to_string(visited.shape()) << "\n";
  std::cout << "growth 2.8: " << visited[ts::range(0, 4)](ts::all, 0) << "\n";

  part("picture");
  Array rows = (99 * (1 - visited)).astype(ts::int32);  // row 0 is a population of 1
  Array columns = ts::broadcast_to(ts::arange(160), {60, 160});
  Array counts = ts::zeros({100, 160}).at(rows, columns).add(1.0);
  save_heatmap("population.svg", ts::minimum(counts, 6),
               "populations (up) that each growth rate (right) visits");

  part("answer static");
  auto power = ts::jit([](Array v, int n) {
    std::cout << "traced for n = " << n << "\n";
    Array result = ts::ones_like(v);
    for (int k = 0; k < n; ++k) result = result * v;
    return result;
  });
  std::cout << power(2.0, 3) << "\n" << power(3.0, 3) << "\n" << power(2.0, 4) << "\n";

  part("answer sums");
  auto running = ts::jit([](Array v) {
    auto [total, sums] =
        ts::scan([](Array sum, Array element) { return std::pair(sum + element, sum + element); },
                 ts::zeros({}), v);
    return sums;
  });
  std::cout << running(ts::array({1.0, 2.0, 3.0, 4.0})) << "\n";
}

// Lesson 7: one program on several devices.
#include "lessons/lesson.h"

//: model
struct Linear {
  Array w, b;
};

Array loss(const Linear& m, Array x, Array y) {
  return ts::mean(ts::square(ts::dot(x, m.w) + m.b - y));
}

Linear moved(const Linear& m, const Linear& g) {
  return ts::tree::map([](Array p, Array d) { return p - 0.2 * d; }, m, g);
}
//:

int main() {
  part("devices");
  ts::set_device_count(4);
  std::cout << ts::devices() << "\n";

  part("rows");
  auto square = ts::pmap([](Array x) { return x * x; });
  Array result = square(ts::arange(8).reshape(4, 2));
  std::cout << result << "\n" << result.sharding() << "\n";

  part("picture");
  Array batch = ts::pmap([](Array x) { return x + 1; })(ts::zeros({4, 6}));
  save_shardings("rows.svg", {{"the result of pmap", batch}});

  part("sum");
  auto share = ts::pmap([](Array x) { return x / ts::psum(x, "i"); }, {.axis_name = "i"});
  std::cout << share(ts::array({1.0, 2.0, 3.0, 4.0})) << "\n";

  part("step");
  auto step = ts::pmap(
      [](Linear m, Array x, Array y) {
        auto [l, g] = ts::value_and_grad(loss)(m, x, y);
        g = ts::pmean(g, "devices");
        return std::pair(moved(m, g), ts::pmean(l, "devices"));
      },
      {.axis_name = "devices",
       .in_axes = {ts::replicated, 0, 0},
       .out_axes = {ts::replicated, ts::replicated}});

  part("train");
  auto [kx, kw] = ts::random::split(ts::random::key(0));
  Array x = ts::random::normal(kx, {64, 3}), w = ts::random::normal(kw, {3});
  Array y = ts::dot(x, w) + 1;
  Array parts_x = ts::data::shard_batch(x, 4), parts_y = ts::data::shard_batch(y, 4);
  std::cout << ts::to_string(x.shape()) << " -> " << ts::to_string(parts_x.shape()) << "\n";
  Linear model{ts::zeros(3), ts::zeros({})};
  for (int k = 0; k < 30; ++k) {
    auto [next, l] = step(model, parts_x, parts_y);
    model = next;
    if (k % 10 == 0) std::cout << "loss " << l << "\n";
  }
  std::cout << "found  " << model.w << " " << model.b << "\n";
  std::cout << "wanted " << w << " 1\n";

  part("mistake");
  try {
    auto forgot = ts::pmap(
        [](Linear m, Array x, Array y) { return ts::grad(loss)(m, x, y); },
        {.axis_name = "devices", .in_axes = {ts::replicated, 0, 0}, .out_axes = ts::replicated});
    forgot(model, parts_x, parts_y);
  } catch (const ts::Error& error) {
    std::cout << error.what() << "\n";
  }

  part("answer rows");
  try {
    square(ts::arange(12).reshape(6, 2));
  } catch (const ts::Error& error) {
    std::cout << error.what() << "\n";
  }

  part("answer neighbours");
  auto pass_on = ts::pmap(
      [](Array v) {
        return ts::ppermute(v, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
      },
      {.axis_name = "i"});
  std::cout << pass_on(ts::array({10, 20, 30, 40})) << "\n";

  part("answer same");
  auto [l, g] = ts::value_and_grad(loss)(Linear{ts::zeros(3), ts::zeros({})}, x, y);
  auto [once, l4] = step(Linear{ts::zeros(3), ts::zeros({})}, parts_x, parts_y);
  Linear alone = moved(Linear{ts::zeros(3), ts::zeros({})}, g);
  std::cout << ts::allclose(once.w, alone.w) << " " << ts::allclose(l4, l) << "\n";
}

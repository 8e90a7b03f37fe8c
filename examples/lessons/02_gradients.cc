// Lesson 2: gradients of functions and of models.
#include "lessons/lesson.h"

//: model
struct Line {
  Array slope, offset;
};

Array loss(const Line& line, Array x, Array y) {
  Array predicted = line.slope * x + line.offset;
  return ts::mean(ts::square(predicted - y));
}
//:

int main() {
  part("slope");
  auto f = [](Array x) { return x * x * x; };
  auto df = ts::grad(f);
  auto ddf = ts::grad(df);
  std::cout << f(2.0) << " " << df(2.0) << " " << ddf(2.0) << "\n";

  part("data");
  Array x = ts::linspace(-1, 1, 40);
  Array noise = ts::random::normal(ts::random::key(0), {40});
  Array y = 2 * x + 0.5 + 0.2 * noise;

  part("value and gradient");
  Line line{ts::zeros({}), ts::zeros({})};
  auto [value, gradient] = ts::value_and_grad(loss)(line, x, y);
  std::cout << "loss " << value << "\n";
  std::cout << "d loss / d slope  " << gradient.slope << "\n";
  std::cout << "d loss / d offset " << gradient.offset << "\n";

  part("descend");
  std::vector<double> losses;
  for (int step = 0; step < 60; ++step) {
    auto [l, g] = ts::value_and_grad(loss)(line, x, y);
    line = ts::tree::map([](Array p, Array d) { return p - 0.1 * d; }, line, g);
    losses.push_back(l.item<float>());
  }
  std::cout << "loss " << losses.front() << " -> " << losses.back() << "\n";
  std::cout << "slope " << line.slope << ", offset " << line.offset << "\n";

  part("picture");
  const auto doubles = [](Array v) { return v.astype(ts::f64).to_vector<double>(); };
  Array fit = line.slope * x + line.offset;
  save_chart("line.svg",
             {{"data", doubles(x), doubles(y), true}, {"fitted line", doubles(x), doubles(fit)}},
             {.title = "Fitted by gradient descent", .x = "x", .y = "y"});

  part("mistake");
  auto squares = [](Array v) { return v * v; };
  try {
    Array wrong = ts::grad(squares)(x);
  } catch (const ts::Error& error) {
    std::cout << error.what() << "\n";
  }

  part("mended");
  Array slopes = ts::grad([&](Array v) { return ts::sum(squares(v)); })(x);
  Array jacobian = ts::jacrev(squares)(ts::array({1.0, 2.0, 3.0}));
  std::cout << slopes[0] << "\n" << jacobian << "\n";

  part("answer two");
  auto area = [](Array width, Array height) { return width * height; };
  auto [by_width, by_height] = ts::grad<0, 1>(area)(3.0, 5.0);
  std::cout << by_width << " " << by_height << "\n";

  part("answer exact");
  Array columns = ts::stack({x, ts::ones_like(x)}, 1);
  Array exact = ts::linalg::lstsq(columns, y).x;
  std::cout << "slope " << exact[0] << ", offset " << exact[1] << "\n";

  part("answer stop");
  auto g = [](Array v) { return v * ts::stop_gradient(v); };
  std::cout << ts::grad(g)(3.0) << "\n";
}

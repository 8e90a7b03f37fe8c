// Lesson 1: arrays, shapes and broadcasting.
#include "lessons/lesson.h"

int main() {
  part("first");
  Array x = ts::array({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  Array y = 10 * x + 1;
  std::cout << y << "\n";
  std::cout << "shape " << ts::to_string(y.shape()) << ", dtype " << y.dtype() << "\n";

  part("immutable");
  Array before = x;
  x = x.at(0, 1).set(-1.0);
  std::cout << "x[0] is      " << x[0] << "\n";
  std::cout << "before[0] is " << before[0] << "\n";

  part("read");
  float one = y(1, 2).item<float>();
  std::vector<float> row = y[0].to_vector<float>();
  std::cout << one << " and " << row.size() << " numbers, the last " << row.back() << "\n";

  part("index");
  Array a = ts::arange(12).reshape(3, 4);
  std::cout << "a(1, 2)             = " << a(1, 2) << "\n";
  std::cout << "a[1]                = " << a[1] << "\n";
  std::cout << "a(ts::all, -1)      = " << a(ts::all, -1) << "\n";
  std::cout << "a[ts::range(0, 2)]  =\n" << a[ts::range(0, 2)] << "\n";

  part("broadcast");
  Array column = ts::array({0, 10, 20})(ts::all, ts::newaxis);
  Array table = column + ts::arange(4);
  std::cout << ts::to_string(column.shape()) << " + " << ts::to_string(ts::arange(4).shape())
            << " is " << ts::to_string(table.shape()) << "\n"
            << table << "\n";

  part("mistake");
  try {
    Array wrong = ts::ones({3, 4}) + ts::ones(3);
  } catch (const ts::ShapeError& error) {
    std::cout << error.what() << "\n";
  }

  part("mended");
  Array right = ts::ones({3, 4}) + ts::ones(3)(ts::all, ts::newaxis);
  std::cout << ts::to_string(right.shape()) << "\n";

  part("mandelbrot");
  Array real = ts::linspace(-2.1, 0.6, 108);                              // (108,)
  Array imaginary = ts::linspace(-1.15, 1.15, 92)(ts::all, ts::newaxis);  // (92, 1)
  Array u = ts::zeros({92, 108}), v = u, steps = u;
  for (int k = 0; k < 24; ++k) {
    Array next_u = u * u - v * v + real;
    v = ts::clip(2 * u * v + imaginary, -10, 10);
    u = ts::clip(next_u, -10, 10);
    steps = steps + (u * u + v * v < 4);
  }
  save_heatmap("mandelbrot.svg", steps, "steps before a point leaves");
  std::cout << "shape " << ts::to_string(steps.shape()) << ", at most " << ts::max(steps)
            << " steps\n";

  part("answer standardise");
  Array data = ts::array({{1.0, 50.0}, {2.0, 60.0}, {3.0, 100.0}});
  Array scaled = (data - ts::mean(data, 0)) / ts::std(data, 0);
  std::cout << ts::mean(scaled, 0) << " " << ts::std(scaled, 0) << "\n";

  part("answer distances");
  Array points = ts::array({{0.0, 0.0}, {3.0, 4.0}, {6.0, 8.0}});
  Array differences = points(ts::all, ts::newaxis, ts::all) - points;  // (3, 3, 2)
  std::cout << ts::sqrt(ts::sum(ts::square(differences), -1)) << "\n";

  part("answer threshold");
  Array clipped = x.at(x < 0).set(0);
  std::cout << clipped[0] << "\n";
}

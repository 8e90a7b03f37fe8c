// The program of the project's README: a line, fitted by four devices.
//: program
#include <tessera/tessera.h>

#include <iostream>
namespace ts = tessera;
using ts::Array;

struct Line {  // a model is a plain struct
  Array slope, offset;
};

Array loss(Line m, Array x, Array y) { return ts::mean(ts::square(m.slope * x + m.offset - y)); }

int main() {
  ts::set_device_count(4);
  auto step = ts::pmap(
      [](Line m, Array x, Array y) {                             // one program, run by every device
        Line g = ts::pmean(ts::grad(loss)(m, x, y), "devices");  // the average of all gradients
        return ts::tree::map([](Array p, Array d) { return p - 0.5 * d; }, m, g);
      },
      {.axis_name = "devices", .in_axes = {ts::replicated, 0, 0}, .out_axes = ts::replicated});

  Array x = ts::linspace(-1, 1, 64).reshape(4, 16);  // a row for each device
  Line line{ts::zeros({}), ts::zeros({})};
  for (int k = 0; k < 50; ++k) line = step(line, x, 2 * x + 1);
  std::cout << ts::around(line.slope, 3) << " " << ts::around(line.offset, 3) << "\n";
}
//:

// A first program: a gradient, and a sum over two devices.
#include <tessera/tessera.h>

#include <iostream>

namespace ts = tessera;
using ts::Array;

int main() {
  ts::set_device_count(2);
  auto total = ts::pmap([](Array x) { return ts::psum(ts::sum(x), "i"); },
                        {.axis_name = "i", .out_axes = ts::replicated});
  Array g = ts::grad([](Array x) { return ts::sum(x * x); })(ts::array({1.0, 2.0}));
  std::cout << total(ts::array({{1.0, 2.0}, {3.0, 4.0}})) << " " << g << "\n";
}

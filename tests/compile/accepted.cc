// expect nothing: callables of all kinds are taken.
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

struct Scale {
  Array by;
  Array operator()(Array x) { return x * by; }
};
struct Shift {
  Array by;
  Array operator()(const Array& x) const noexcept { return x + by; }
};
Array square(Array x) { return x * x; }

void f(Array x, std::size_t n) {
  int calls = 0;
  ts::jit([calls](Array y) mutable { return y * ++calls; })(x);
  ts::jit([](auto y) { return y * 2; })(x);
  ts::jit([](auto&& y) { return y * 2; })(x);
  ts::jit([](Array& y) { return y += 1; })(x);
  ts::jit([](const Array&) { return 2.0; })(x);
  ts::jit(Scale{x})(x);
  ts::pmap(Shift{x})(x);
  ts::vmap (&square)(x);
  ts::grad(ts::jit(square))(2.0f);
  ts::jit([](Array y, int times = 2) { return y * times; })(x);
  (void)(x(0, ts::all, -1)[n].reshape(2, -1) && x > 0 && true);
  (void)x(0, 1, 2, 3, ts::all, ts::newaxis, n).reshape(1, 2, 3, 4, 5, 6);
  ts::hessian([](std::pair<Array, Array> p) { return ts::sum(p.first * p.second); })(
      std::pair(x, x))
      .at("0")
      .second.shape();
  ts::vjp([](Array a, Array b, Array c, Array d) { return a * b * c * d; }, x, x, x, x);
}

// Derivatives that do not exist, and tangents that do not fit.
#include "errors/misuse.h"

#include <functional>

namespace {
struct Model {
  Array w, b;
};
Model model() { return {ts::ones({3, 2}), ts::zeros({2})}; }
Array predict(const Model& m, Array x) { return ts::dot(x, m.w) + m.b; }
Array x() { return ts::ones({4, 3}); }
}  // namespace

MISUSE(loss_of_many_values) { ts::grad(predict)(model(), x()); }
MISUSE(loss_of_one_value_in_a_vector) {
  ts::value_and_grad([](Array w) { return ts::sum(w, 0, true); })(ts::ones({3}));
}
MISUSE(integer_loss) {
  ts::grad([](Array w) { return ts::sum(w > 0); })(ts::ones({3}));
}
MISUSE(gradient_for_integers) {
  ts::grad([](Array n) { return ts::sum(n * n * 0.5); })(ts::arange(3));
}
MISUSE(empty_loss) {
  ts::grad([](Array) { return Array(); })(ts::ones({3}));
}
MISUSE(cotangent_of_another_shape) {
  auto [y, back] = ts::vjp(predict, model(), x());
  back(ts::ones({2, 4}));
}
MISUSE(tangent_of_another_dtype) {
  ts::jvp([](Array a) { return a * a; }, ts::ones({3}), ts::arange(3));
}
MISUSE(tangents_of_another_tree) {
  ts::jvp([](std::vector<Array> v) { return v[0] * v[1]; }, std::vector<Array>{1.0, 2.0},
          std::vector<Array>{1.0});
}
MISUSE(linearize_with_another_shape) {
  auto [y, forward] = ts::linearize([](Array a) { return ts::sin(a); }, ts::ones({3}));
  forward(ts::ones({4}));
}
MISUSE(vjp_of_shapes_that_do_not_fit) { ts::vjp(predict, model(), ts::ones({4, 5})); }
MISUSE(pullback_at_a_donated_array) {
  Array a = ts::ones({64, 64});
  ts::jit([](Array v) { return v * 2; }, {.donate = {0}})(a);
  ts::vjp([](Array p, Array q, Array r, Array s) { return p * q * r * s; }, a, 1.0, 2.0, 3.0);
}
MISUSE(linear_map_at_a_donated_array) {
  Array a = ts::ones({64, 64});
  ts::jit([](Array v) { return v * 2; }, {.donate = {0}})(a);
  ts::linearize([](Array p, Array q, Array r, Array s) { return p * q * r * s; }, a, 1.0, 2.0, 3.0);
}
MISUSE(gradient_through_a_while_loop) {
  ts::grad([](Array w) {
    return ts::while_loop([](Array c) { return c < 10.0; }, [&](Array c) { return c * w; }, w);
  })(Array(2.0));
}
MISUSE(forward_mode_of_a_backward_rule) {
  auto clipped = ts::custom_vjp([](Array a) { return a; },
                                [](Array a) { return std::pair(a, std::tuple<>()); },
                                [](std::tuple<>, Array ct) { return ts::clip(ct, -1, 1); });
  ts::jacfwd(clipped)(ts::ones({3}));
}
MISUSE(backward_rule_of_another_shape) {
  auto f = ts::custom_vjp([](Array a) { return a; },
                          [](Array a) { return std::pair(a, std::tuple<>()); },
                          [](std::tuple<>, Array ct) { return ts::sum(ct); });
  ts::grad([&](Array a) { return ts::sum(f(a)); })(ts::ones({3}));
}
MISUSE(forward_rule_of_another_shape) {
  auto f = ts::custom_jvp([](Array a) { return a * a; },
                          [](Array a, Array da) { return std::pair(a * a, ts::sum(da)); });
  ts::grad([&](Array a) { return ts::sum(f(a)); })(ts::ones({3}));
}

static Array square_of_the_tangent(const Array& x) {
  return ts::custom_jvp([](Array y) { return y; },
                        [](Array y, Array t) { return std::pair(y, t * t); })(x);
}
MISUSE(rule_with_the_square_of_the_tangent) {
  ts::grad([](Array x) { return ts::sum(square_of_the_tangent(x)); })(ts::ones({3}));
}
MISUSE(rule_with_the_sine_of_the_tangent) {
  auto f = ts::custom_jvp([](Array y) { return y; },
                          [](Array y, Array t) { return std::pair(y, ts::sin(t)); });
  ts::grad([&](Array x) { return ts::sum(f(x)); })(ts::ones({3}));
}
MISUSE(gradient_that_calls_itself) {
  std::function<Array(Array)> f = [&](Array x) {
    return ts::grad([&](Array y) { return f(y); })(x);
  };
  f(ts::ones({}));
}

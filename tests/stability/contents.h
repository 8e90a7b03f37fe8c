// The contents of the files that each version leaves in tests/stability: write.cc writes them, and
// files_test.cc expects them from the files of earlier versions. Values of a version that has been
// released do not change; a new version may add some.
#pragma once

#include <tessera/tessera.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stability {

namespace ts = tessera;
using ts::Array;

/// An array of each dtype, by the dtype's name; a scalar, and an array without elements.
inline std::map<std::string, Array> arrays() {
  std::map<std::string, Array> all;
  const Array numbers = ts::arange(6).reshape(2, 3);
  for (ts::DType d : {ts::i8, ts::i16, ts::i32, ts::i64, ts::u8, ts::u16, ts::u32, ts::u64})
    all[ts::to_string(d)] = (20 * numbers).astype(d);
  for (ts::DType d : {ts::f16, ts::bf16, ts::f32, ts::f64})
    all[ts::to_string(d)] = numbers.astype(d) / 4 - 1;
  all["complex64"] = ts::array({std::complex<float>(1, -2), std::complex<float>(0.5f, 3)});
  all["complex128"] = ts::array({std::complex<double>(0.1, -1e300), std::complex<double>(0, 1)});
  all["bool"] = ts::array({true, false, true});
  all["scalar"] = Array(0.1).astype(ts::f64);
  all["empty"] = ts::zeros({0, 4});
  return all;
}

struct Layer {
  Array weight, bias;
};
/// The state of a run, as a checkpoint holds it.
struct State {
  std::vector<Layer> layers;
  std::map<std::string, Array> arrays;
  Array step;
};

constexpr int kDevices = 4;
constexpr std::int64_t kStep = 7;

inline State state() {
  ts::set_device_count(kDevices);
  const ts::Mesh mesh({{"data", 2}, {"model", 2}});
  const Array weight = ts::arange(32).reshape(8, 4).astype(ts::f32) / 8;
  State s{{{ts::device_put(weight, mesh, ts::P("data", "model")), ts::arange(4).astype(ts::f32)},
           {ts::device_put(weight + 1, mesh, ts::P(ts::none, "data")), {}}},
          arrays(),
          Array(kStep).astype(ts::i64)};
  return s;
}
/// The same dtypes and shapes without values or places.
inline State like() {
  return ts::tree::map(
      [](const Array& x) { return x.is_empty() ? x : ts::abstract(x.dtype(), x.shape()); },
      state());
}
inline const std::map<std::string, double> kMetrics = {{"loss", 0.25}};
inline const std::map<std::string, std::string> kMetadata = {{"who", "stability"}};

/// An exported module, the arguments for it, and the results that it must have. Where the relative
/// `tolerance` is 0, the results have the expected bits.
struct Module {
  std::string name;
  std::function<void(const std::string& path)> write;
  std::vector<Array> arguments, expected;
  double tolerance = 0;
  std::vector<bool> donated = {};
};

template <class F, class... A>
std::function<void(const std::string&)> writing(ts::StableHloOptions options, F f, A... arguments) {
  return
      [=](const std::string& path) mutable { ts::save_stablehlo(options, f, arguments..., path); };
}

/// Modules with the forms that depend on this library: composites named after our ops, shardings,
/// manual computations over devices, calls of libraries, and donation.
inline std::vector<Module> modules() {
  ts::set_device_count(kDevices);
  std::vector<Module> all;
  const Array x = ts::array({{3.0, 1.0, 2.0}, {0.5, 4.0, 0.25}});

  all.push_back({"running",
                 writing(
                     {},
                     [](Array v) {
                       return std::tuple(ts::cumsum(v, {.axis = 1}), ts::cumprod(v, {.axis = 1}),
                                         ts::cummax(v, {.axis = 1}), ts::cummin(v, {.axis = 1}));
                     },
                     x),
                 {x},
                 {ts::array({{3.0, 4.0, 6.0}, {0.5, 4.5, 4.75}}),
                  ts::array({{3.0, 3.0, 6.0}, {0.5, 2.0, 0.5}}),
                  ts::array({{3.0, 3.0, 3.0}, {0.5, 4.0, 4.0}}),
                  ts::array({{3.0, 1.0, 1.0}, {0.5, 0.5, 0.25}})}});

  all.push_back({"sorted",
                 writing(
                     {},
                     [](Array v) {
                       return std::tuple(ts::sort(v), ts::argsort(v), ts::argmax(v, 1),
                                         ts::argmin(v, 1));
                     },
                     x),
                 {x},
                 {ts::array({{1.0, 2.0, 3.0}, {0.25, 0.5, 4.0}}), ts::array({{1, 2, 0}, {2, 0, 1}}),
                  ts::array({0, 1}), ts::array({1, 2})}});

  const Array rows = ts::array({1, 0, 1});
  all.push_back(
      {"indexed",
       writing(
           {},
           [](Array v, Array i) {
             return std::tuple(v(ts::all, i), ts::zeros({3, 3}).at(i).add(ts::ones({3, 3})));
           },
           x, rows),
       {x, rows},
       {ts::array({{1.0, 3.0, 1.0}, {4.0, 0.5, 4.0}}),
        ts::array({{1.0, 1.0, 1.0}, {2.0, 2.0, 2.0}, {0.0, 0.0, 0.0}})}});

  // The functions of the C library, in a wider type.
  const std::vector<double> points = {-1.5, 0.25, 2};
  std::vector<std::vector<float>> values(5);
  for (double p : points) {
    values[0].push_back(static_cast<float>(std::exp2(p)));
    values[1].push_back(static_cast<float>(std::sinh(p)));
    values[2].push_back(static_cast<float>(std::cosh(p)));
    values[3].push_back(static_cast<float>(std::hypot(p, 1)));
    values[4].push_back(static_cast<float>(std::log(std::exp(p) + std::exp(1.0))));
  }
  const Array p = ts::array(points).astype(ts::f32);
  Module functions{"functions",
                   writing(
                       {},
                       [](Array v) {
                         return std::tuple(ts::exp2(v), ts::sinh(v), ts::cosh(v),
                                           ts::hypot(v, ts::ones_like(v)),
                                           ts::logaddexp(v, ts::ones_like(v)));
                       },
                       p),
                   {p},
                   {},
                   1e-6};
  for (const auto& v : values) functions.expected.push_back(ts::array(v));
  all.push_back(std::move(functions));

  all.push_back({"loop",
                 writing(
                     {},
                     [](Array v) {
                       auto [total, sums] = ts::scan(
                           [](Array sum, Array row) { return std::pair(sum + row, 2 * sum); },
                           ts::zeros(3), v);
                       return std::pair(total, sums);
                     },
                     x),
                 {x},
                 {ts::array({3.5, 5.0, 2.25}), ts::array({{0.0, 0.0, 0.0}, {6.0, 2.0, 4.0}})}});

  const Array positive = ts::array({{4.0, 2.0}, {2.0, 5.0}});
  all.push_back({"factors",
                 writing(
                     {}, [](Array v) { return ts::linalg::cholesky(v); }, positive),
                 {positive},
                 {ts::array({{2.0, 0.0}, {1.0, 2.0}})},
                 1e-6});

  const ts::Mesh mesh({{"i", kDevices}});
  const Array long_rows = ts::arange(16).reshape(8, 2).astype(ts::f32);
  all.push_back(
      {"sharded",
       writing({.shardings = true},
               ts::jit([](Array v) { return 2 * v; },
                       {.mesh = mesh, .in_shardings = {ts::P("i")}, .out_shardings = ts::P("i")}),
               long_rows),
       {long_rows},
       {(2 * ts::arange(16)).reshape(8, 2).astype(ts::f32)}});
  all.push_back(
      {"mapped",
       writing({}, ts::pmap([](Array v) { return ts::psum(v, "i") - v; }, {.axis_name = "i"}),
               long_rows.reshape(4, 4)),
       {long_rows.reshape(4, 4)},
       {ts::array({{24.0, 27.0, 30.0, 33.0},
                   {20.0, 23.0, 26.0, 29.0},
                   {16.0, 19.0, 22.0, 25.0},
                   {12.0, 15.0, 18.0, 21.0}})}});

  all.push_back({"donating",
                 writing({.donation = true},
                         ts::jit([](Array a, Array b) { return a + b; }, {.donate = {0}}), x, x),
                 {x, x},
                 {2 * x},
                 0,
                 {true, false}});
  return all;
}

}  // namespace stability

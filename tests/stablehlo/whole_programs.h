// Programs as users write them, written as StableHLO, with inputs and our results.
#pragma once

#include "ir/host_array.h"

#include <tessera/tessera.h>

#include <string>
#include <vector>

namespace whole {

namespace ts = tessera;
using ts::Array;

struct Case {
  std::string name, text;
  std::vector<Array> arguments, results;
  std::vector<ts::HostArray> in, out;  // their bytes
};

inline ts::HostArray bytes_of(const Array& a) {
  ts::HostArray out(a.dtype(), a.shape());
  ts::dispatch(a.dtype(), [&](auto tag) {
    const auto from = a.host<decltype(tag)>();
    std::copy(from.begin(), from.end(), out.data<decltype(tag)>());
  });
  return out;
}

template <class F, class... A>
Case made_for(const ts::StableHloOptions& options, const std::string& name, F f,
              const A&... arguments) {
  Case c{name, ts::stablehlo_text(options, f, arguments...), {arguments...}, {}, {}, {}};
  const auto results = ts::jit(f)(arguments...);
  if constexpr (std::is_same_v<std::decay_t<decltype(results)>, Array>)
    c.results = {results};
  else
    c.results = results;
  for (const Array& a : c.arguments) c.in.push_back(bytes_of(a));
  for (const Array& a : c.results) c.out.push_back(bytes_of(a));
  return c;
}

using Arrays = std::vector<Array>;
using Pair = std::pair<Array, Array>;

inline Array normal(int seed, const ts::Shape& shape) {
  return ts::random::normal(ts::random::key(static_cast<std::uint64_t>(seed)), shape);
}

inline Array drawn(ts::DType d, int seed, const ts::Shape& shape) {
  const Array re = normal(seed, shape), im = normal(seed + 100, shape);
  return ts::is_complex(d) ? ts::complex(re, im).astype(d) : re.astype(d);
}

inline Array cnn_loss(const Array& k, const Array& w, const Array& x, const Array& y) {
  const ts::nn::Conv conv{k, {}, {1, 1}, {1, 1}, "SAME", 1, {}};
  const Array h = ts::max_pool(ts::nn::relu(conv(x)), {2, 2}, {2, 2});
  const Array logits = ts::matmul(ts::reshape(h, {x.shape(0), -1}), w);
  return ts::mean(ts::nn::softmax_cross_entropy_with_integer_labels(logits, y));
}

inline Array attention_loss(const Array& x, const Array& w, const Array& v) {
  const Array q = ts::matmul(x, w), k = ts::matmul(x, v);
  const Array scores = ts::matmul(q, ts::swapaxes(k, -1, -2)) / 2.0;
  const Array mask = ts::tril(ts::ones(scores.shape()));
  const Array p = ts::nn::softmax(ts::where(mask > 0.0, scores, -1e9));
  const Array y = ts::nn::gelu(ts::matmul(p, x));
  const Array m = ts::mean(y, {.axis = -1, .keepdims = true});
  return ts::mean(ts::square(y - m) * ts::rsqrt(ts::var(y, {.axis = -1, .keepdims = true}) + 1e-5));
}

inline Array rnn_loss(const Array& w, const Array& xs) {
  auto [h, sums] = ts::scan(
      [&](Array h, Array x) {
        const Array next = ts::tanh(ts::matmul(h, w) + x);
        return std::pair(next, ts::sum(next));
      },
      ts::zeros({xs.shape(1), xs.shape(2)}), xs);
  return ts::sum(h) + ts::sum(sums);
}

// The products of the factors are compared, because a routine may choose signs and phases.
inline Arrays factorised(const Array& a) {
  const ts::linalg::SVD f = ts::linalg::svd(a, false);
  const ts::linalg::QR g = ts::linalg::qr(a);
  const Array gram = ts::matmul(a, ts::conj(ts::swapaxes(a, -1, -2)));
  const ts::linalg::LU e = ts::linalg::lu(a);
  const ts::linalg::Eigh h = ts::linalg::eigh(gram);
  return {f.s,
          ts::matmul(f.u * f.s.astype(a.dtype()), f.vh),
          ts::matmul(g.q, g.r),
          h.eigenvalues,
          ts::matmul(h.eigenvectors * h.eigenvalues.astype(a.dtype()),
                     ts::conj(ts::swapaxes(h.eigenvectors, -1, -2))),
          ts::matmul(e.p.astype(a.dtype()), ts::matmul(e.l, e.u))};
}
inline Arrays solved(const Array& a, const Array& b) {
  const Array spd =
      ts::matmul(a, ts::conj(ts::swapaxes(a, -1, -2))) + ts::eye(a.shape(-1)).astype(a.dtype());
  return {ts::linalg::cholesky(spd), ts::linalg::solve(spd, b), ts::linalg::det(spd)};
}

inline std::vector<Case> cases(const ts::StableHloOptions& options = {}) {
  std::vector<Case> out;
  const auto made = [&](const std::string& name, auto f, const auto&... arguments) {
    return made_for(options, name, f, arguments...);
  };
  const Array x = normal(1, {2, 8, 8, 3}), k = normal(2, {3, 3, 3, 4}) * 0.1,
              w = normal(3, {64, 5}) * 0.1, y = Array(std::vector<std::int32_t>{1, 3});
  out.push_back(made(
      "cnn_step",
      [](Array k, Array w, Array x, Array y) {
        auto [loss, g] = ts::value_and_grad(
            [&](Pair p) { return cnn_loss(p.first, p.second, x, y); })(std::pair(k, w));
        return Arrays{loss, k - 0.1 * g.first, w - 0.1 * g.second};
      },
      k, w, x, y));
  out.push_back(made(
      "attention_step",
      [](Array x, Array w, Array v) {
        auto [loss, g] = ts::value_and_grad(
            [&](Pair p) { return attention_loss(x, p.first, p.second); })(std::pair(w, v));
        return Arrays{loss, g.first, g.second};
      },
      normal(4, {2, 6, 4}), normal(5, {4, 4}), normal(6, {4, 4})));
  out.push_back(made(
      "recurrent_gradient",
      [](Array w, Array xs) { return ts::grad([&](Array w) { return rnn_loss(w, xs); })(w); },
      normal(7, {4, 4}) * 0.5, normal(8, {6, 3, 4})));
  out.push_back(made(
      "sort_gradient",
      [](Array x) {
        return Arrays{ts::grad([](Array x) {
                        return ts::sum(ts::sort(x) * ts::arange(7).astype(ts::f32));
                      })(x),
                      ts::argsort(x), ts::argmax(x), ts::cumsum(x)};
      },
      normal(9, {7})));
  out.push_back(made(
      "index_gradient",
      [](Array x, Array i) {
        return ts::grad([&](Array x) {
          return ts::sum(ts::square(ts::take(x, i, 0))) + ts::sum(x.at(i).add(1.0) * x);
        })(x);
      },
      normal(10, {5, 3}), Array(std::vector<std::int32_t>{1, 4, 1, 0})));
  out.push_back(made(
      "loops",
      [](Array x) {
        const auto root = ts::while_loop(
            [](Pair s) { return s.second < 20; },
            [&](Pair s) { return Pair((s.first + x / s.first) / 2.0, s.second + 1); },
            Pair(x, Array(0).astype(ts::i32)));
        return Arrays{root.first, ts::cond(
                                      x > 2.0, [](Array a) { return ts::sin(a); },
                                      [](Array a) { return ts::cos(a); }, x)};
      },
      Array(7.0f).astype(ts::f32)));
  out.push_back(made(
      "random",
      [](Array key) {
        return Arrays{ts::random::normal(key, {4}), ts::random::uniform(key, {3, 2}),
                      ts::random::permutation(key, 9)};
      },
      ts::random::key(3)));
  out.push_back(made(
      "checkpointed",
      [](Array x) {
        return ts::grad([](Array x) {
          return ts::sum(ts::remat([](Array a) { return ts::sin(ts::sin(a)) * ts::exp(a); })(x));
        })(x);
      },
      normal(11, {5})));
  out.push_back(made(
      "second_derivative",
      [](Array x) {
        return ts::vmap([](Array a) {
          return ts::grad([](Array b) {
            return ts::grad([](Array c) { return ts::sin(c) * ts::logaddexp(c, 1.0); })(b);
          })(a);
        })(x);
      },
      normal(12, {4})));
  for (const ts::DType d : {ts::f32, ts::f64, ts::c64})
    for (const ts::Shape& shape : {ts::Shape{6, 4}, ts::Shape{4, 6}, ts::Shape{40, 34}}) {
      const std::string type = ts::to_string(d) + "_" + std::to_string(shape[0]);
      out.push_back(made("factorised_" + type, factorised, drawn(d, 13, shape)));
      if (shape[0] == 4)
        out.push_back(made("solved_" + type, solved, drawn(d, 14, {4, 4}), drawn(d, 15, {4, 2})));
    }
  // Programs over devices, if there are enough.
  if (ts::device_count() < 4) return out;
  const ts::Mesh mesh = ts::make_mesh({2, 2}, {"x", "y"});
  const auto each = [](Array a, Array b) {
    const Array c = ts::psum(ts::matmul(a, b), "y");
    const Array i = ts::axis_index("x").astype(ts::f32);
    return Arrays{c + i, ts::all_gather(c, "x", {.tiled = true}),
                  ts::ppermute(c, "x", {{0, 1}, {1, 0}}),
                  ts::psum(ts::sum(a), std::vector<std::string>{"x", "y"})};
  };
  using ts::P;
  out.push_back(made("shard_map",
                     ts::shard_map(each, {.mesh = mesh,
                                          .in_specs = {P("x", "y"), P("y")},
                                          .out_specs = {P("x"), P(), P("x"), P()},
                                          .check_vma = false}),
                     normal(20, {4, 6}), normal(21, {6, 3})));
  // Manual along one axis, which leaves the other to the partitioner; and along that one inside.
  out.push_back(made("shard_map_along_one_axis",
                     ts::shard_map(
                         [](Array a, Array b) {
                           const auto loss = [&](Array b) {
                             return ts::psum(ts::sum(ts::sin(ts::matmul(a, b))), "x");
                           };
                           return Arrays{ts::grad(loss)(b), a + ts::axis_index("x")};
                         },
                         {.mesh = mesh,
                          .in_specs = {P("x"), P()},
                          .out_specs = {P(), P("x")},
                          .axis_names = {"x"}}),
                     normal(24, {4, 6}), normal(25, {6, 3})));
  const auto nested = [](Array a) {
    return ts::shard_map(
        [](Array b) {
          return ts::psum(b, {"x", "y"}) + b * ts::axis_index("y");
        },
        {.in_specs = {P(ts::none, "y")}, .out_specs = {P(ts::none, "y")}, .axis_names = {"y"}})(a);
  };
  out.push_back(made(
      "shard_map_nested",
      ts::shard_map(
          nested, {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}, .axis_names = {"x"}}),
      normal(26, {4, 6})));
  out.push_back(made("pmap_step",
                     ts::pmap(
                         [](Array w, Array x) {
                           const Array g = ts::grad(
                               [&](Array w) { return ts::mean(ts::square(ts::matmul(x, w))); })(w);
                           return w - 0.1 * ts::pmean(g, "i");
                         },
                         {.axis_name = "i"}),
                     normal(22, {4, 3, 2}), normal(23, {4, 5, 3})));
  return out;
}

}  // namespace whole

// Array programs, from small ones to those limited by memory or by arithmetic, and a recurrent
// network's loop.
#include "rows.h"

namespace bench {

namespace {

constexpr std::int64_t kLarge = 16 * 1024 * 1024;

Array energy(Array x) { return ts::sum(x * x + ts::sin(x) * ts::cos(x)); }

// Applies the same function to each row, one call after the other: the sequential side of a
// comparison.
template <class F>
Call one_by_one(F f, std::int64_t n) {
  std::vector<Array> data;
  for (std::uint64_t i = 0; i < 4; ++i) data.push_back(normal(i, {n}));
  return waited([=] {
    std::vector<Array> out;
    for (const Array& row : data) out.push_back(f(row));
    return out;
  });
}

struct Rnn {
  Array w, xs, start;
  Array final_state(Array weight) const {
    return ts::scan(
               [&](Array h, Array x) {
                 h = ts::tanh(ts::dot(h, weight) + x);
                 return std::pair(h, h);
               },
               start, xs)
        .first;
  }
};
Rnn make_rnn() {
  Rnn r{normal(0, {64, 64}) * 0.1f, normal(1, {1000, 64}), ts::zeros({64})};
  r.w.block_until_ready();
  return r;
}

}  // namespace

void add_array_rows() {
  auto add = [](const std::string& name, std::function<Call()> make) {
    rows().push_back({name, make});
  };
  for (std::int64_t n : {1000, 10000, 100000, 1000000}) {
    std::string size = "/" + std::to_string(n);
    add("pmap_energy" + size, [n] { return bound(ts::pmap(energy), normal(0, {4, n})); });
    add("jit_energy" + size, [n] { return one_by_one(ts::jit(energy), n); });
    add("eager_energy" + size, [n] { return one_by_one(energy, n); });
  }
  add("multiply_add", [] {
    return bound(ts::jit([](Array v, Array w) { return v * 3 + w; }), normal(0, {kLarge}),
                 normal(1, {kLarge}));
  });
  add("chain", [] {
    return bound(ts::jit([](Array v) { return ts::log1p(ts::exp(ts::tanh(v))); }),
                 normal(0, {kLarge}));
  });
  add("sum",
      [] { return bound(ts::jit([](Array v) { return ts::sum(v); }), normal(0, {kLarge})); });
  add("softmax", [] {
    return bound(ts::jit([](Array x) { return ts::nn::softmax(x); }), normal(0, {4096, 4096}));
  });
  add("transpose", [] {
    return bound(ts::jit([](Array x) { return ts::transpose(x); }), normal(0, {4096, 4096}));
  });
  add("normals", [] {
    return bound(ts::jit([](Array key) { return ts::random::normal(key, {4 * 1024 * 1024}); }),
                 ts::random::key(0));
  });
  auto dot = [](Array a, Array b) { return ts::dot(a, b); };
  for (std::int64_t n : {256, 512, 1024, 2048})
    add("matmul/" + std::to_string(n), [=] {
      return bound(ts::jit(dot), normal(0, {n, n}), normal(1, {n, n}));
    });
  // A product sharded by rows and by columns over four devices.
  add("matmul_by_rows/512", [=] {
    return bound(ts::pmap(dot, {.in_axes = {0, ts::replicated}}), normal(0, {4, 128, 512}),
                 normal(1, {512, 512}));
  });
  add("matmul_by_columns/512", [=] {
    return bound(ts::pmap(dot, {.in_axes = {ts::replicated, 1}, .out_axes = 1}),
                 normal(0, {512, 512}), normal(1, {512, 4, 128}));
  });
  add("rnn", [] {
    Rnn r = make_rnn();
    return bound(ts::jit([r](Array w) { return r.final_state(w); }), r.w);
  });
  add("rnn_grad", [] {
    Rnn r = make_rnn();
    return bound(ts::jit(ts::grad([r](Array w) { return ts::sum(r.final_state(w)); })), r.w);
  });
  // Subnormal numbers are flushed to zero, as JAX's CPU backend always does.
  add("rnn_grad_flushed", [] {
    Rnn r = make_rnn();
    Call call = bound(ts::jit(ts::grad([r](Array w) { return ts::sum(r.final_state(w)); })), r.w);
    return Call([call] {
      ts::set_flush_denormal(true);
      call();
      ts::set_flush_denormal(false);
    });
  });
}

}  // namespace bench

#include "cells.h"

namespace pjit_and_sharding {

namespace {

Array sum_of_squares(Array x) { return ts::sum(ts::square(x)); }

}  // namespace

AdaptiveSum::AdaptiveSum(const Mesh& line, std::int64_t threshold)
    : devices_(line.size()),
      threshold_(threshold),
      cut_(
          ts::pjit(sum_of_squares, {.mesh = line, .in_shardings = {P("x")}, .out_shardings = P()})),
      whole_(
          ts::pjit(sum_of_squares, {.mesh = line, .in_shardings = {P()}, .out_shardings = P()})) {}

bool AdaptiveSum::cuts(const Array& x) const {
  return x.size() > threshold_ && x.length() % devices_ == 0;
}

Array AdaptiveSum::operator()(const Array& x) const { return (cuts(x) ? cut_ : whole_)(x); }

std::string refusal_of_a_small_array(const Mesh& line) {
  auto cut =
      ts::pjit(sum_of_squares, {.mesh = line, .in_shardings = {P("x")}, .out_shardings = P()});
  try {
    cut(ts::ones({100}));
  } catch (const ts::ShardingError& e) {
    return e.what();
  }
  return "nothing: it divides";
}

Array pipeline_stages(const Mesh& line, Array x) {
  auto stage1 = ts::pjit([](Array x) { return ts::nn::relu(x); },
                         {.mesh = line, .in_shardings = {P("x")}, .out_shardings = P("x")});
  auto stage2 = ts::pjit([](Array x) { return ts::mean(x, 0); },
                         {.mesh = line, .in_shardings = {P("x")}, .out_shardings = P()});
  return stage2(stage1(x));
}

Pipeline pipeline(const Mesh& line, Array weights, Array batches) {
  const std::int64_t stages = line.size(), n = batches.length(), rounds = n + stages - 1;
  ts::Permutation onwards;
  for (std::int64_t i = 0; i + 1 < stages; ++i) onwards.emplace_back(i, i + 1);
  auto run = ts::shard_map(
      [=](Array w, Array batches) {  // w: (1, features, features), this device's weights
        Array first = ts::axis_index("x") == 0;
        auto round = [&](Array received, Array t) {
          Array x = ts::where(first, batches[ts::minimum(t, n - 1)], received);
          Array y = ts::nn::relu(ts::dot(x, w[0]));
          return std::pair(ts::ppermute(y, "x", onwards), y);
        };
        auto [rest, made] = ts::scan(round, ts::zeros_like(batches[0]), ts::arange(rounds));
        return made[ts::newaxis];
      },
      {.mesh = line, .in_specs = {P("x"), P()}, .out_specs = P("x")});
  // Returns the last device's results, without the rounds before the first batch reached it.
  return {run(weights, batches)(-1, ts::from(stages - 1)), rounds};
}

}  // namespace pjit_and_sharding

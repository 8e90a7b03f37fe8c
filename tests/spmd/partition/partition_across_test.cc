// Random programs of operations across shards: windows, shifts, positions, orders and running
// totals along sharded dimensions, in sequence, and their gradients.
#include "spmd/partition_draw.h"

using namespace partitioning;
using walk::Dice;

namespace {

// Extents that axes of 2, 3 and 4 devices divide, and others.
std::int64_t even(Dice& dice) { return 12 * (1 + dice.below(3)); }
std::int64_t any(Dice& dice) { return dice.toss() ? even(dice) : 1 + dice.below(30); }

Value along(Value x, int dim, const std::function<ops::WindowDims(std::int64_t n)>& windows,
            const char* op) {
  ops::WindowDims d = windows(x.shape()[dim]), all;
  for (int k = 0; k < x.rank(); ++k) {
    const auto one = [&](const Ints& v, std::int64_t none) { return k == dim ? v[0] : none; };
    all.window.push_back(one(d.window, 1));
    all.strides.push_back(one(d.strides, 1));
    all.pad_low.push_back(one(d.pad_low, 0));
    all.pad_high.push_back(one(d.pad_high, 0));
    all.base_dilation.push_back(one(d.base_dilation, 1));
    all.window_dilation.push_back(one(d.window_dilation, 1));
  }
  return ops::reduce_window(op, x, all);
}

// Windows of an array of n elements.
ops::WindowDims draw_windows(Dice& dice, std::int64_t n, bool dilates) {
  const std::int64_t window = 1 + dice.below(5), stride = 1 + dice.below(3),
                     base = dilates ? 1 + dice.below(3) : 1,
                     apart = dilates ? 1 + dice.below(2) : 1, low = dice.below(6) - 2,
                     count = any(dice);
  const std::int64_t reach = (count - 1) * stride + (window - 1) * apart + 1,
                     high = reach - ((n - 1) * base + 1) - low;
  return {{window}, {stride}, {low}, {high}, {base}, {apart}};
}

Ints around(int rank, int dim, std::int64_t n, std::int64_t others = 0) {
  Ints v(static_cast<std::size_t>(rank), others);
  v[static_cast<std::size_t>(dim)] = n;
  return v;
}

Value slice_along(Value x, int dim, std::int64_t start, std::int64_t limit, std::int64_t stride) {
  Ints limits = x.shape().to_vector();
  limits[static_cast<std::size_t>(dim)] = limit;
  return ops::slice(x, around(x.rank(), dim, start), limits, around(x.rank(), dim, stride, 1));
}

Value draw_step(Dice& dice, Builder& b, Value x, Value position) {
  const int dim = static_cast<int>(dice.below(x.rank()));
  const std::int64_t n = x.shape()[dim];
  const bool number = is_floating(x.dtype());
  const Value zero = ops::scalar(b, DType::int32, 0);
  Values starts(static_cast<std::size_t>(x.rank()), zero);
  starts[static_cast<std::size_t>(dim)] = position;
  switch (dice.below(13)) {
    case 0: {
      const std::int64_t m = n >= 12 && dice.toss() ? 12 * (1 + dice.below(n / 12))
                                                    : 1 + dice.below(n),
                         most = m > 1 ? (n - 1) / (m - 1) : 1,
                         stride = 1 + dice.below(std::min<std::int64_t>(most, 3)),
                         reach = (m - 1) * stride + 1, start = dice.below(n - reach + 1);
      return slice_along(x, dim, start, start + reach, stride);
    }
    case 1: {
      const std::int64_t interior = dice.below(3), low = dice.below(30) - 14,
                         high = any(dice) - low - (n + (n - 1) * interior);
      return ops::pad(x, ops::scalar(b, x.dtype(), static_cast<double>(dice.below(3))),
                      around(x.rank(), dim, low), around(x.rank(), dim, high),
                      around(x.rank(), dim, interior));
    }
    case 2: return ops::reverse(x, {dim});
    case 3: return ops::concatenate(Values{x, ops::reverse(x, {dim})}, dim);
    case 4: {  // a roll
      if (n < 2) return x;
      const std::int64_t k = 1 + dice.below(n - 1);
      return ops::concatenate(
          Values{slice_along(x, dim, n - k, n, 1), slice_along(x, dim, 0, n - k, 1)}, dim);
    }
    case 5:
    case 6: {
      const char* op = dice.of(
          std::vector<const char*>{"reduce_window_sum", "reduce_window_max", "reduce_window_min"});
      const bool dilates = dice.toss();
      return along(
          x, dim, [&](std::int64_t m) { return draw_windows(dice, m, dilates); }, op);
    }
    case 7: {
      const bool reverse = dice.toss();
      return dice.toss() ? ops::cumsum(x, dim, reverse) : ops::cummax(x, dim, reverse);
    }
    case 8: {
      Value i = dice.toss() ? ops::argmax(x, dim) : ops::argmin(x, dim);
      Ints kept;
      for (int k = 0; k < x.rank(); ++k)
        if (k != dim) kept.push_back(k);
      i = ops::broadcast_in_dim(i, x.shape(), kept);
      return ops::select(ops::eq(i, ops::iota(b, DType::int32, x.shape(), dim)), x,
                         ops::zeros_like(x));
    }
    case 9: return ops::top_k(x, std::min<std::int64_t>(12, x.shape()[x.rank() - 1]))[0];
    case 10: return ops::sort(Values{x}, dim)[0];
    case 11: {
      const std::int64_t m = n % 12 == 0 && dice.toss() ? n : 1 + dice.below(n);
      Ints sizes = x.shape().to_vector();
      sizes[static_cast<std::size_t>(dim)] = m;
      Value box = ops::dynamic_slice(x, starts, sizes);
      return dice.toss() ? box : ops::dynamic_update_slice(x, ops::reverse(box, {dim}), starts);
    }
    default: {  // a convolution of the dimension alone
      if (!number) return x;
      const ops::WindowDims d = draw_windows(dice, n, dice.toss());
      Ints shape;
      std::int64_t rest = 1;
      for (int k = 0; k < x.rank(); ++k)
        if (k != dim) shape.push_back(x.shape()[k]), rest *= x.shape()[k];
      Ints order{};
      for (int k = 0; k < x.rank(); ++k)
        if (k != dim) order.push_back(k);
      order.push_back(dim);
      Value rows = ops::reshape(ops::transpose(x, order), {rest, n, 1});
      Value kernel = ops::reshape(ops::sub(ops::iota(b, x.dtype(), {d.window[0]}, 0),
                                           ops::full(b, x.dtype(), {d.window[0]}, 1)),
                                  {d.window[0], 1, 1});
      Value y = ops::convolution(rows, kernel,
                                 {.strides = d.strides,
                                  .pad_low = d.pad_low,
                                  .pad_high = d.pad_high,
                                  .lhs_dilation = d.base_dilation,
                                  .rhs_dilation = d.window_dilation,
                                  .lhs_spec = {0, 2, 1},
                                  .rhs_spec = {2, 1, 0},
                                  .out_spec = {0, 2, 1}});
      Shape out(shape.begin(), shape.end());
      out.push_back(y.shape()[1]);
      return ops::reshape(y, out);
    }
  }
}

ProgramPtr across_cuts(Dice& dice) {
  Builder b("across");
  Shape shape;
  for (std::int64_t r = 1 + dice.below(2); r > 0; --r) shape.push_back(any(dice));
  const DType dtype = dice.once_in(3) ? DType::int32 : DType::float32;
  Value x = b.input(Type(dtype, shape));
  const Value position = b.input(Type(DType::int32, {}));
  for (std::int64_t steps = 1 + dice.below(3); steps > 0; --steps) {
    x = draw_step(dice, b, x, position);
    if (x.shape().count() > 4096) break;
  }
  const ProgramPtr p = b.finish(Values{x});
  if (!is_floating(dtype) || dice.toss()) return p;
  return vjp_program(*p, {true, false});
}

// A convolution and its gradients, sharded along space, features and batch.
ProgramPtr convolutions(Dice& dice) {
  Builder b("convolutions");
  const std::int64_t n = any(dice), groups = dice.once_in(3) ? 4 : 1,
                     in = groups * (1 + dice.below(2)), out = 4 * (1 + dice.below(2));
  const ops::WindowDims d = draw_windows(dice, n, dice.toss());
  Value x = b.input(Type(DType::float32, {2, n, in})),
        w = b.input(Type(DType::float32, {d.window[0], in / groups, out}));
  Value y = ops::convolution(x, w,
                             {.strides = d.strides,
                              .pad_low = d.pad_low,
                              .pad_high = d.pad_high,
                              .lhs_dilation = d.base_dilation,
                              .rhs_dilation = d.window_dilation,
                              .lhs_spec = {0, 2, 1},
                              .rhs_spec = {2, 1, 0},
                              .out_spec = {0, 2, 1},
                              .feature_groups = groups});
  const ProgramPtr p = b.finish(Values{y});
  return dice.toss() ? p : vjp_program(*p, {true, true});
}

}  // namespace

TEST(PartitionAcross, WhatGoesAcrossCutsIsThatOfOneDevice) {
  const Tally tally = check_drawn(2000, 400, across_cuts);
  EXPECT_GT(4 * tally.exact, tally.programs);
  EXPECT_GT(4 * tally.permutations, tally.programs);
}

TEST(PartitionAcross, ConvolutionsAreThoseOfOneDevice) {
  const Tally tally = check_drawn(500, 200, convolutions);
  EXPECT_GT(5 * tally.exact, tally.programs);
  EXPECT_GT(5 * tally.permutations, tally.programs);
}

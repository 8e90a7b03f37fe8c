// Convolutions whose lanes are pixels agree with a plain loop: random shapes, layouts and paddings,
// in one call and in several, between guards that must stay unchanged.
#include "codegen/calls/conv_pixels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace ts = tessera;
using ts::codegen::ConvPixels;
using ts::codegen::onednn::ConvKind;
using ts::codegen::onednn::ConvSpec;
using ts::codegen::onednn::Dims;
using ts::codegen::onednn::Layout;

namespace {

// A dense layout with its dimensions in this order in memory.
Layout dense(const Dims& dims, const std::vector<std::size_t>& order) {
  Layout l{dims, Dims(dims.size())};
  std::int64_t stride = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    l.strides[order[k]] = stride;
    stride *= dims[order[k]];
  }
  return l;
}
std::int64_t elements(const Layout& l) {
  std::int64_t n = 1;
  for (const std::int64_t d : l.dims) n *= d;
  return n;
}

// Memory between two guards that nothing may write to; they hold NaN, which shows in the result if
// it is read.
struct Guarded {
  static constexpr std::size_t kGuard = 64;
  std::vector<float> memory;
  explicit Guarded(std::int64_t n)
      : memory(static_cast<std::size_t>(n) + 2 * kGuard, std::numeric_limits<float>::quiet_NaN()) {}
  float* data() { return memory.data() + kGuard; }
  bool whole() const {
    const auto nan = [](float x) { return std::isnan(x); };
    return std::all_of(memory.begin(), memory.begin() + kGuard, nan) &&
           std::all_of(memory.end() - kGuard, memory.end(), nan);
  }
};

struct Drawn {
  std::mt19937 random;
  std::int64_t operator()(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  }
};

ConvSpec drawn(Drawn& draw) {
  for (;;) {
    const std::size_t space = draw(0, 3) ? 2 : 1;
    const bool last = draw(0, 3);  // channels
    ConvSpec s;
    s.kind = ConvKind::forward;
    Dims source{draw(1, 3), draw(1, 9)}, weights{1, draw(1, 20), source[1]},
        destination{source[0], weights[1]};
    for (std::size_t i = 0; i < space; ++i) {
      const std::int64_t in = draw(1, i + 1 == space ? 40 : 12),
                         window = draw(1, draw(0, 4) ? 3 : 7);
      s.strides.push_back(draw(1, 3));
      s.dilations.push_back(draw(1, 2));
      const std::int64_t reach = (window - 1) * s.dilations[i] + 1;
      s.pad_low.push_back(draw(0, reach));
      const std::int64_t high = draw(0, reach), room = in + s.pad_low[i] + high - reach;
      destination.push_back(room < 0 ? 0 : room / s.strides[i] + 1);
      // Elements that no window reaches are not padding; the operand may be cropped.
      s.pad_high.push_back((destination.back() - 1) * s.strides[i] + reach - in - s.pad_low[i]);
      source.push_back(in);
      weights.push_back(window);
    }
    if (elements({destination, {}}) == 0) continue;
    const std::vector<std::size_t> channels_last =
        space == 2 ? std::vector<std::size_t>{0, 2, 3, 1} : std::vector<std::size_t>{0, 2, 1};
    const std::vector<std::size_t> as_listed =
        space == 2 ? std::vector<std::size_t>{0, 1, 2, 3} : std::vector<std::size_t>{0, 1, 2};
    s.source = dense(source, last ? channels_last : as_listed);
    s.destination = dense(destination, draw(0, 3) ? channels_last : as_listed);
    s.weights = dense(weights, space == 2 ? std::vector<std::size_t>{0, 3, 4, 2, 1}
                                          : std::vector<std::size_t>{0, 1, 2, 3});
    return s;
  }
}

std::string text_of(const ConvSpec& s) {
  std::string text;
  const auto add = [&](const char* name, const Dims& dims) {
    text += std::string(" ") + name;
    for (const std::int64_t d : dims) text += " " + std::to_string(d);
  };
  add("source", s.source.dims);
  add("at", s.source.strides);
  add("weights", s.weights.dims);
  add("destination", s.destination.dims);
  add("at", s.destination.strides);
  add("strides", s.strides);
  add("dilations", s.dilations);
  add("padding", s.pad_low);
  return text;
}

// Calls f(offset in the destination, sum of products, sum of their magnitudes) for each output;
// padding has no products.
template <class F>
void each_output(const ConvSpec& s, const float* source, const float* weights, F f) {
  const bool two = s.strides.size() == 2;
  // A convolution of one dimension is treated as having a dimension of one in front.
  const auto dim = [&](const Dims& d, std::size_t first, int i) {
    return two ? d[first + static_cast<std::size_t>(i)] : i ? d[first] : 1;
  };
  const auto stride = [&](const Dims& d, std::size_t first, int i) {
    return two ? d[first + static_cast<std::size_t>(i)] : i ? d[first] : 0;
  };
  const Layout &x = s.source, &w = s.weights, &y = s.destination;
  for (std::int64_t n = 0; n < y.dims[0]; ++n)
    for (std::int64_t o = 0; o < y.dims[1]; ++o)
      for (std::int64_t r = 0; r < dim(y.dims, 2, 0); ++r)
        for (std::int64_t c = 0; c < dim(y.dims, 2, 1); ++c) {
          double sum = 0, magnitude = 0;
          for (std::int64_t i = 0; i < x.dims[1]; ++i)
            for (std::int64_t a = 0; a < dim(w.dims, 3, 0); ++a)
              for (std::int64_t b = 0; b < dim(w.dims, 3, 1); ++b) {
                const std::int64_t row = two ? r * s.strides[0] + a * s.dilations[0] - s.pad_low[0]
                                             : 0,
                                   column = c * s.strides.back() + b * s.dilations.back() -
                                            s.pad_low.back();
                if (row < 0 || row >= dim(x.dims, 2, 0) || column < 0 || column >= x.dims.back())
                  continue;
                const double product =
                    static_cast<double>(
                        source[n * x.strides[0] + i * x.strides[1] + row * stride(x.strides, 2, 0) +
                               column * x.strides.back()]) *
                    static_cast<double>(
                        weights[o * w.strides[1] + i * w.strides[2] + a * stride(w.strides, 3, 0) +
                                b * w.strides.back()]);
                sum += product;
                magnitude += std::abs(product);
              }
          f(n * y.strides[0] + o * y.strides[1] + r * stride(y.strides, 2, 0) +
                c * y.strides.back(),
            sum, magnitude);
        }
}

// The result of `calls` calls of about equally many pieces.
Guarded result_of(const ConvSpec& s, const ConvPixels& c, const float* source, const float* weights,
                  std::int64_t calls) {
  Guarded packed(static_cast<std::int64_t>(c.packed_bytes() / sizeof(float))),
      out(elements(s.destination));
  c.pack(weights, packed.data());
  for (std::int64_t k = 0; k < calls; ++k) {
    Guarded scratch(static_cast<std::int64_t>(c.scratch_bytes() / sizeof(float)));
    c.run(source, packed.data(), out.data(), scratch.data(), c.pieces() * k / calls,
          c.pieces() * (k + 1) / calls);
    EXPECT_TRUE(scratch.whole());
  }
  EXPECT_TRUE(packed.whole() && out.whole());
  return out;
}

}  // namespace

TEST(ConvPixels, WholeNumbersAreExact) {
  Drawn draw{std::mt19937(1)};
  for (int i = 0; i < 400; ++i) {
    const ConvSpec s = drawn(draw);
    Guarded source(elements(s.source)), weights(elements(s.weights));
    for (std::int64_t k = 0; k < elements(s.source); ++k)
      source.data()[k] = static_cast<float>(draw(-9, 9));
    for (std::int64_t k = 0; k < elements(s.weights); ++k)
      weights.data()[k] = static_cast<float>(draw(-9, 9));
    const auto c = ConvPixels::make(s, true);
    ASSERT_TRUE(c);
    Guarded whole = result_of(s, *c, source.data(), weights.data(), 1),
            parts = result_of(s, *c, source.data(), weights.data(),
                              std::min<std::int64_t>(3, c->pieces()));
    std::int64_t wrong = 0;
    each_output(s, source.data(), weights.data(), [&](std::int64_t at, double sum, double) {
      wrong += static_cast<double>(whole.data()[at]) != sum || parts.data()[at] != whole.data()[at];
    });
    ASSERT_EQ(wrong, 0) << text_of(s);
  }
}

// Each of n products and sums is rounded by at most half a unit: n units of the sum of magnitudes
// in all.
TEST(ConvPixels, RoundingOfAnyNumbers) {
  Drawn draw{std::mt19937(2)};
  std::normal_distribution<float> normal;
  for (int i = 0; i < 100; ++i) {
    const ConvSpec s = drawn(draw);
    Guarded source(elements(s.source)), weights(elements(s.weights));
    for (std::int64_t k = 0; k < elements(s.source); ++k) source.data()[k] = normal(draw.random);
    for (std::int64_t k = 0; k < elements(s.weights); ++k) weights.data()[k] = normal(draw.random);
    const auto c = ConvPixels::make(s, true);
    Guarded out = result_of(s, *c, source.data(), weights.data(), 1);
    const double n = static_cast<double>(elements(s.weights) / s.weights.dims[1]);
    std::int64_t wrong = 0;
    each_output(s, source.data(), weights.data(),
                [&](std::int64_t at, double sum, double magnitude) {
                  const double bound = n * std::numeric_limits<float>::epsilon() * magnitude;
                  wrong += !(std::abs(static_cast<double>(out.data()[at]) - sum) <= bound);
                });
    ASSERT_EQ(wrong, 0) << text_of(s);
  }
}

// Padding is not a number that a weight is multiplied by: an infinite weight gives no NaN there.
TEST(ConvPixels, WeightsThatAreNotFinite) {
  Drawn draw{std::mt19937(3)};
  for (int i = 0; i < 200; ++i) {
    const ConvSpec s = drawn(draw);
    Guarded source(elements(s.source)), weights(elements(s.weights));
    for (std::int64_t k = 0; k < elements(s.source); ++k)
      source.data()[k] = static_cast<float>(draw(1, 9));
    for (std::int64_t k = 0; k < elements(s.weights); ++k)
      weights.data()[k] = static_cast<float>(draw(1, 9));
    for (int k = 0; k < 2; ++k)
      weights.data()[draw(0, elements(s.weights) - 1)] =
          draw(0, 2) ? std::numeric_limits<float>::infinity()
                     : std::numeric_limits<float>::quiet_NaN();
    const auto c = ConvPixels::make(s, true);
    Guarded out = result_of(s, *c, source.data(), weights.data(), 1);
    std::int64_t wrong = 0;
    each_output(s, source.data(), weights.data(), [&](std::int64_t at, double sum, double) {
      const auto got = static_cast<double>(out.data()[at]);
      wrong += std::isnan(sum) ? !std::isnan(got) : got != sum;
    });
    ASSERT_EQ(wrong, 0) << text_of(s);
  }
}

// Devices that share a batch use the algorithm that one device with the whole batch uses, and
// images have the same bits, whichever device computes which pieces and in which order.
TEST(ConvPixels, ImagesOfABatchAreThoseOfOne) {
  Drawn draw{std::mt19937(4)};
  std::normal_distribution<float> normal;
  int chosen = 0;
  for (int i = 0; i < 200; ++i) {
    ConvSpec s = drawn(draw), one = s;
    s.source.dims[0] = s.destination.dims[0] = 5;
    one.source.dims[0] = one.destination.dims[0] = 1;
    EXPECT_EQ(ConvPixels::make(s) != nullptr, ConvPixels::make(one) != nullptr) << text_of(s);
    chosen += ConvPixels::make(s) != nullptr;
    const auto five = ConvPixels::make(s, true), alone = ConvPixels::make(one, true);
    Guarded source(elements(s.source)), weights(elements(s.weights));
    for (std::int64_t k = 0; k < elements(s.source); ++k) source.data()[k] = normal(draw.random);
    for (std::int64_t k = 0; k < elements(s.weights); ++k) weights.data()[k] = normal(draw.random);
    Guarded packed(static_cast<std::int64_t>(five->packed_bytes() / sizeof(float))),
        scratch(static_cast<std::int64_t>(five->scratch_bytes() / sizeof(float))),
        all(elements(s.destination));
    five->pack(weights.data(), packed.data());
    for (std::int64_t piece = five->pieces(); piece-- > 0;)
      five->run(source.data(), packed.data(), all.data(), scratch.data(), piece, piece + 1);
    std::int64_t wrong = 0;
    for (std::int64_t n = 0; n < 5; ++n) {
      Guarded image =
          result_of(one, *alone, source.data() + n * s.source.strides[0], weights.data(), 1);
      const float* in_batch = all.data() + n * s.destination.strides[0];
      for (std::int64_t k = 0; k < elements(one.destination); ++k)
        wrong += image.data()[k] != in_batch[k];
    }
    ASSERT_EQ(wrong, 0) << text_of(s);
  }
  EXPECT_GE(chosen, 5);  // most drawn convolutions are small
}

TEST(ConvPixels, WhatIsLeftToTheLibrary) {
  Drawn draw{std::mt19937(5)};
  ConvSpec s = drawn(draw);
  ASSERT_TRUE(ConvPixels::make(s, true));
  ConvSpec other = s;
  other.kind = ConvKind::backward_data;
  EXPECT_FALSE(ConvPixels::make(other, true));
  other = s;
  other.dtype = ts::bf16;
  EXPECT_FALSE(ConvPixels::make(other, true));
  other = s;
  other.weights.dims[0] = 2;
  EXPECT_FALSE(ConvPixels::make(other, true));
  other = s;
  other.source.dims[0] = other.destination.dims[0] = 0;
  EXPECT_FALSE(ConvPixels::make(other, true));
}

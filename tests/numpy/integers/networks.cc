// Convolutions and windows of integers, labels and losses.
#include "numpy/integers/cases.h"

namespace integers {

namespace {

Grid small_labels(Dice& dice, const Shape& s, std::int64_t classes) {
  const DType d = draw_dtype(dice, false);
  Grid g = draw_array(dice, d, s);
  for (Wide& v : g.at)
    if (dice.below(3) != 2) v = dice.below(std::min<std::int64_t>(classes, 100));
  return g;
}
Array logits_of(std::int64_t rows, std::int64_t classes) {
  return ts::sin(ts::arange(rows * classes).astype(ts::f32)).reshape(rows, classes);
}

// A label outside the classes gives 0, for any dtype.
Case label_case(Dice& dice) {
  const std::int64_t classes = dice.of(Ints{3, 1, 100, 300});
  const Grid labels = small_labels(dice, {2}, classes);
  Case c;
  c.operands = {labels};
  c.call = "softmax_cross_entropy_with_integer_labels(logits, x) of " + std::to_string(classes);
  const Array logits = logits_of(2, classes);
  c.f = [logits](const Arrays& in) {
    return Arrays{ts::nn::softmax_cross_entropy_with_integer_labels(logits, in[0])};
  };
  Grid narrow = labels;
  narrow.dtype = ts::i64;
  for (Wide& v : narrow.at)
    if (v < 0 || v >= classes) v = -1;
  const Array plain = ts::nn::softmax_cross_entropy_with_integer_labels(logits, array_of(narrow));
  c.expected = {bits_of_array(plain)};
  for (std::size_t i = 0; i < 2; ++i)
    if (narrow.at[i] < 0 && plain[static_cast<std::int64_t>(i)].item<float>() != 0)
      c.expected = {exactly(ts::f32, {2}, {0, 0})};
  return c;
}
Case accuracy_case(Dice& dice) {
  const std::int64_t classes = dice.of(Ints{3, 1, 300});
  const Grid x = draw_array(dice, draw_dtype(dice, false), {2, classes}),
             labels = small_labels(dice, {2}, classes);
  Case c;
  c.operands = {x, labels};
  c.call = "accuracy(x, y)";
  c.f = [](const Arrays& in) { return Arrays{ts::nn::accuracy(in[0], in[1])}; };
  long double right = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto row = x.at.begin() + static_cast<std::ptrdiff_t>(i) * classes;
    right += labels.at[i] == std::max_element(row, row + classes) - row ? 0.5L : 0;
  }
  Expected e;
  e.dtype = ts::f32;
  e.low = e.high = {right};
  c.expected = {e};
  return c;
}

Case embedding_case(Dice& dice) {
  const Grid at = small_labels(dice, {3}, 5);
  Case c;
  c.operands = {at};
  c.call = "embedding of 5 at x";
  const ts::nn::Embedding layer{ts::arange(10).astype(ts::f32).reshape(5, 2)};
  c.f = [layer](const Arrays& in) { return Arrays{layer(in[0])}; };
  const auto same = [&](Wide v) {
    return static_cast<std::int64_t>(std::clamp<Wide>(v, -1000, 1000));
  };
  Grid wide = at;
  wide.dtype = ts::i64;
  for (Wide& v : wide.at) v = same(v);
  c.expected = {bits_of_array(layer(array_of(wide)))};
  return c;
}

// Losses of integers are those of their float values.
Case pairs_case(Dice& dice, const std::string& name, std::function<Array(Array, Array)> f,
                bool labels, DType widest = ts::f32) {
  const DType d = draw_dtype(dice, false);
  Case c;
  c.operands = {draw_array(dice, d, {2, 4}),
                draw_array(dice, labels ? draw_dtype(dice) : d, {2, 4})};
  if (labels)
    for (Wide& v : c.operands[1].at) v = v != 0;
  c.call = name + "(x, y)";
  c.f = [f](const Arrays& in) { return Arrays{f(in[0], in[1])}; };
  const Kind kind = promoted(kind_of(c.operands[0]), kind_of(c.operands[1]));
  const DType to = bits_of(labels ? d : kind.dtype) == 64 ? widest : ts::f32;
  c.expected = {bits_of_array(f(array_of(c.operands[0], to), array_of(c.operands[1], to)))};
  return c;
}
Case in_floats(Dice& dice, const std::string& name, std::function<Array(Array)> f, DType widest) {
  Case c;
  c.operands = {draw_array(dice, draw_dtype(dice, false), {2, 4})};
  c.call = name + "(x)";
  c.f = [f](const Arrays& in) { return Arrays{f(in[0])}; };
  c.expected = {bits_of_array(
      f(array_of(c.operands[0], bits_of(c.operands[0].dtype) == 64 ? widest : ts::f32)))};
  return c;
}

Case conv_case(Dice& dice) {
  const DType d = draw_dtype(dice, false);
  const Grid x = draw_array(dice, d, {1, 5, 2}), kernel = draw_array(dice, d, {3, 2, 2});
  Case c;
  c.operands = {x, kernel};
  c.call = "conv(x, y)";
  c.f = [](const Arrays& in) { return Arrays{ts::conv(in[0], in[1])}; };
  Grid r = zeros(d, {1, 5, 2});
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t o = 0; o < 2; ++o) {
      Wide sum = 0;
      for (std::int64_t k = 0; k < 3; ++k)
        for (std::int64_t ch = 0; ch < 2; ++ch)
          if (i + k - 1 >= 0 && i + k - 1 < 5)
            sum = wrapped(sum + times(element(x, {0, i + k - 1, ch}), element(kernel, {k, ch, o})),
                          d);
      r.at[static_cast<std::size_t>(i * 2 + o)] = sum;
    }
  c.expected = {exactly(r)};
  return c;
}
Case pool_case(Dice& dice, bool average) {
  const Grid x = draw_array(dice, draw_dtype(dice, false), {1, 5, 1});
  const bool same = dice.toss();
  Case c;
  c.operands = {x};
  c.call = std::string(average ? "avg_pool" : "max_pool") + "(x, {2}, {1}, " +
           (same ? "SAME)" : "VALID)");
  const auto f = [average, same](const Array& v) {
    return average ? ts::avg_pool(v, {2}, {1}, same ? "SAME" : "VALID")
                   : ts::max_pool(v, {2}, {1}, same ? "SAME" : "VALID");
  };
  c.f = [f](const Arrays& in) { return Arrays{f(in[0])}; };
  if (average) {
    c.expected = {bits_of_array(f(array_of(x, bits_of(x.dtype) == 64 ? ts::f64 : ts::f32)))};
    return c;
  }
  Grid r = zeros(x.dtype, {1, same ? 5 : 4, 1});
  for (std::size_t i = 0; i < r.at.size(); ++i)
    r.at[i] = i + 1 < 5 ? std::max(x.at[i], x.at[i + 1]) : x.at[i];
  c.expected = {exactly(r)};
  return c;
}

}  // namespace

std::vector<Row> network_rows() {
  namespace nn = ts::nn;
  using A = Array;
  return {
      {"nn::softmax_cross_entropy_with_integer_labels", label_case},
      {"nn::accuracy", accuracy_case},
      {"nn::embedding", embedding_case},
      {"nn::huber_loss",
       [](Dice& d) {
         return pairs_case(
             d, "huber_loss", [](A x, A y) { return nn::huber_loss(x, y); }, false);
       }},
      {"nn::softmax_cross_entropy",
       [](Dice& d) {
         return pairs_case(
             d, "softmax_cross_entropy", [](A x, A y) { return nn::softmax_cross_entropy(x, y); },
             true, ts::f64);
       }},
      {"nn::sigmoid_binary_cross_entropy",
       [](Dice& d) {
         return pairs_case(
             d, "sigmoid_binary_cross_entropy",
             [](A x, A y) { return nn::sigmoid_binary_cross_entropy(x, y); }, true);
       }},
      {"nn::masked_mean",
       [](Dice& d) {
         return pairs_case(
             d, "masked_mean", [](A x, A y) { return nn::masked_mean(x, y); }, true);
       }},
      {"nn::softmax",
       [](Dice& d) {
         return in_floats(
             d, "softmax", [](A x) { return nn::softmax(x); }, ts::f64);
       }},
      {"nn::log_softmax",
       [](Dice& d) {
         return in_floats(
             d, "log_softmax", [](A x) { return nn::log_softmax(x); }, ts::f64);
       }},
      {"nn::leaky_relu",
       [](Dice& d) {
         return in_floats(
             d, "leaky_relu", [](A x) { return nn::leaky_relu(x); }, ts::f32);
       }},
      {"conv", conv_case},
      {"max_pool", [](Dice& d) { return pool_case(d, false); }},
      {"avg_pool", [](Dice& d) { return pool_case(d, true); }},
  };
}

}  // namespace integers

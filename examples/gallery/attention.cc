// Attention learns to read a sequence backwards, and shows where it looks.
#include "lessons/lesson.h"

#include <tuple>

namespace nn = ts::nn;
namespace optim = ts::optim;

constexpr int kLength = 12, kLetters = 8, kWidth = 32;

struct Reader {
  Array letters, places;  // what is known of a letter, and of a place in the sequence
  nn::Linear query, key, value, out;
};

Array weights(const Reader& r, Array x) {  // (batch, length, length): who looks at whom
  Array q = r.query(r.places), k = r.key(x);
  return nn::softmax(ts::matmul(q, ts::swapaxes(k, -1, -2)) / ts::sqrt(kWidth), -1);
}

Array read(const Reader& r, Array sequence) {
  Array x = ts::take(r.letters, sequence, 0) + r.places;
  return r.out(ts::matmul(weights(r, x), r.value(x)));
}

int main() {
  auto [k1, k2, k3, k4, k5, k6, k7] = ts::random::split<7>(ts::random::key(0));
  Reader reader{ts::random::normal(k1, {kLetters, kWidth}),
                ts::random::normal(k2, {kLength, kWidth}),
                nn::linear(k3, kWidth, kWidth),
                nn::linear(k4, kWidth, kWidth),
                nn::linear(k5, kWidth, kWidth),
                nn::linear(k6, kWidth, kLetters)};
  auto optimizer = optim::adam(3e-3);
  auto state = optimizer.init(reader);
  auto loss = [](const Reader& r, Array s) {
    return ts::mean(nn::softmax_cross_entropy_with_integer_labels(read(r, s), ts::flip(s, 1)));
  };
  auto step = ts::jit([&](Reader r, optim::State state, Array key) {
    Array s = ts::random::randint(key, {64, kLength}, 0, kLetters);
    auto [updates, next] = optimizer.update(ts::grad(loss)(r, s), state, r);
    return std::pair(optim::apply_updates(r, updates), next);
  });
  for (int k = 0; k < 300; ++k)
    std::tie(reader, state) = step(reader, state, ts::random::fold_in(k7, k));

  Array test = ts::random::randint(ts::random::key(9), {64, kLength}, 0, kLetters);
  Array x = ts::take(reader.letters, test, 0) + reader.places;
  save_heatmap("attention.svg", ts::mean(weights(reader, x), 0),
               "where each place of the result looks");
  Array right = ts::argmax(read(reader, test), -1) == ts::flip(test, 1);
  std::cout << "letters read correctly: " << ts::around(100 * ts::mean(right)) << " %\n";
}

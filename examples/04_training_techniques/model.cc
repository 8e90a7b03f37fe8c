#include "model.h"

namespace training_techniques {

Array Cnn::operator()(Array x, bool train, Array key) const {
  x = nn::relu(conv1(x));
  x = ts::max_pool(x, {2, 2});
  x = nn::relu(conv2(x));
  x = ts::max_pool(x, {2, 2});
  x = x.reshape(x.shape(0), -1);
  return dense(dropout(x, key, train));
}

Cnn make_cnn(Array key, const CnnOptions& o) {
  auto [k1, k2, k3] = ts::random::split<3>(key);
  return {nn::conv(k1, 3, o.width, {3, 3}, {.dtype = o.dtype}),
          nn::conv(k2, o.width, 2 * o.width, {3, 3}, {.dtype = o.dtype}),
          nn::linear(k3, 2 * o.width * (o.size / 4) * (o.size / 4), o.classes, {.dtype = o.dtype}),
          {.rate = o.dropout}};
}

Batch make_images(Array key, std::int64_t n, std::int64_t size) {
  auto [pattern_key, label_key, noise_key] = ts::random::split<3>(key);
  Array patterns = ts::random::normal(pattern_key, {10, size, size, 3});
  Array label = ts::random::randint(label_key, {n}, 0, 10);
  Array noise = ts::random::normal(noise_key, {n, size, size, 3});
  return {ts::take(patterns, label, 0) + noise, label};
}

std::vector<Batch> load(const Batch& all, std::int64_t batch) {
  std::vector<Batch> out;
  for (std::int64_t at = 0; at < all.label.length(); at += batch)
    out.push_back(ts::tree::map(
        [&](Array x) { return x[ts::range(at, std::min(at + batch, x.length()))]; }, all));
  return out;
}

std::vector<Masked> load_padded(const Batch& all, std::int64_t batch) {
  std::vector<Masked> out;
  for (const auto& b : ts::data::batches(all.label.length(), batch, {}, ts::data::LastBatch::pad)) {
    Array rows = Array(b.indices);
    out.push_back(
        {ts::tree::map([&](Array x) { return ts::take(x, rows, 0); }, all), Array(b.mask)});
  }
  return out;
}

std::pair<Array, Metrics> loss_and_metrics(const Cnn& model, const Batch& batch) {
  Array logits = model(batch.image);
  Array loss = ts::mean(nn::softmax_cross_entropy(logits, ts::one_hot(batch.label, 10)));
  return {loss, {nn::accuracy(logits, batch.label)}};
}

Array loss_of(const Cnn& model, const Batch& batch) { return loss_and_metrics(model, batch).first; }

}  // namespace training_techniques

// The cells of examples/04_training_techniques agree with JAX (training_techniques.py).
#include "04_training_techniques/cells.h"

#include "examples/golden.h"

#include <gtest/gtest.h>

namespace tt = training_techniques;
namespace ts = tessera;
namespace optim = tessera::optim;
using ts::Array;

namespace {

constexpr int kDevices = 8;

// Values are of order 1 to 10, a logit is a sum of 256 products of order 1/16, and a loss is the
// mean of 64: float32 sums in another order stay within 16 units of 2^-20.
constexpr double kRounding = 0x1p-16;

class Techniques : public testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(kDevices); }

  const example_test::Golden golden{"training_techniques"};
  const tt::Cnn model = tt::make_cnn(ts::random::key(0), {.size = 16, .width = 8});
  const tt::Batch all = tt::make_images(ts::random::key(1), 200, 16);
  const optim::Optimizer sgd = optim::sgd(0.01);

  std::vector<tt::Batch> full_batches() const {
    std::vector<tt::Batch> out;
    for (const tt::Batch& b : tt::load(all, 64))
      if (b.label.length() == 64) out.push_back(ts::data::shard_batch(b, kDevices));
    return out;
  }
};

Array norms(const tt::Cnn& model) {
  std::vector<Array> out;
  ts::tree::for_each(
      [&](const std::string&, const Array& p) { out.push_back(ts::sqrt(ts::sum(ts::square(p)))); },
      model);
  return ts::stack(out);
}

TEST_F(Techniques, ModelAndData) {
  EXPECT_EQ(ts::tree::size(tt::make_cnn(ts::random::key(0))), 60362);
  golden.near(norms(model), "initial/norms", kRounding);
  golden.near(model(all.image[ts::until(2)]), "initial/logits", kRounding);
}

TEST_F(Techniques, TrainFlag) {
  auto with_dropout = tt::make_cnn(ts::random::key(0), {.size = 16, .width = 8, .dropout = 0.5});
  Array x = all.image[ts::until(2)];
  EXPECT_TRUE(bool(ts::array_equal(with_dropout(x), model(x))));
  Array a = with_dropout(x, true, ts::random::key(2)),
        b = with_dropout(x, true, ts::random::key(3));
  EXPECT_FALSE(bool(ts::array_equal(a, b)));
  // The flag is static: each of its values has its own program.
  auto forward =
      ts::pmap([](tt::Cnn m, Array x, bool train, Array key) { return m(x, train, key); },
               {.in_axes = {ts::replicated, 0, ts::replicated, ts::replicated}});
  Array rows = ts::data::shard_batch(all.image[ts::until(16)], kDevices);
  forward(with_dropout, rows, false, ts::random::key(2));
  forward(with_dropout, rows, true, ts::random::key(2));
  forward(with_dropout, rows, true, ts::random::key(3));
  EXPECT_EQ(forward.trace_count(), 2u);
}

TEST_F(Techniques, State) {
  auto r = tt::replicated_state(model, 1e-3, kDevices);
  EXPECT_TRUE(ts::tree::equal(r.rows, ts::replicate(r.state, kDevices)));
  EXPECT_EQ(r.rows.step.shape(), (ts::Shape{kDevices}));
  EXPECT_TRUE(ts::tree::equal(ts::unreplicate(r.rows), r.state));
}

TEST_F(Techniques, Loop) {
  auto t = tt::training_loop(model, all, kDevices, 64, 10);
  std::vector<float> losses, accuracies;
  for (auto& e : t.epochs) {
    losses.push_back(float(e.loss));
    accuracies.push_back(float(e.accuracy));
    EXPECT_EQ(e.batches, 3);
  }
  // Adam divides by the size of gradients, so a change in the last bit that flips the gate of one
  // ReLU moves the losses by up to 3e-4, and changes the prediction of at most one of the 192
  // examples.
  golden.near(Array(losses), "loop/losses", 3e-4);
  golden.near(Array(accuracies), "loop/accuracies", 1.01 / 192);
  EXPECT_EQ(t.state.step.item<int>(), 30);
}

TEST_F(Techniques, Collectives) {
  golden.equal(tt::after_pmean(ts::array({{1.0, 2.0, 3.0}, {1.5, 2.5, 3.5}, {0.5, 1.5, 2.5}})),
               "pmean");
  Array x = ts::array({{1.0}, {10.0}, {100.0}, {1000.0}});
  golden.equal(ts::stack(tt::ring_all_reduce(x)), "ring");
  golden.equal(tt::scatter_gather_all_reduce(ts::arange(16.0).reshape(4, 4)), "scatter_gather");
}

// Every gradient, the loss and the accuracy are exchanged once, whatever the batch size.
TEST_F(Techniques, Communication) {
  for (std::int64_t batch : {64, 256}) {
    auto cost = tt::communication({.size = 16, .width = 8}, batch);
    EXPECT_EQ(cost.collectives, 8u);
    EXPECT_EQ(cost.bytes, 4 * (ts::tree::size(model) + 2));
  }
}

TEST_F(Techniques, Accumulation) {
  auto state = optim::train_state(model, sgd);
  auto next = tt::accumulate_step(sgd, state, full_batches());
  golden.near(norms(next.model), "accumulate/norms", kRounding);
  EXPECT_EQ(next.step.item<int>(), 1);
}

TEST_F(Techniques, MixedPrecision) {
  auto half_model = tt::make_cnn(ts::random::key(0), {.size = 16, .width = 8, .dtype = ts::bf16});
  auto full = optim::train_state(model, sgd), half = optim::train_state(half_model, sgd);
  std::vector<float> in_full, in_half;
  for (const auto& b : full_batches()) {
    auto x = tt::plain_step(sgd, full, b), y = tt::mixed_precision_step(sgd, half, b);
    full = x.state;
    half = y.state;
    EXPECT_EQ(half.model.conv1.weight.dtype(), ts::f32);
    EXPECT_EQ(y.loss.dtype(), ts::f32);
    in_full.push_back(x.loss.item<float>());
    in_half.push_back(y.loss.item<float>());
  }
  golden.near(Array(in_full), "precision/float32", kRounding);
  // A pixel or a parameter whose last float32 bits differ may round to the next bfloat16, which is
  // 2^-8 of it away; 4 of the 150,000 pixels do. A loss is a mean over many of them. float32 and
  // bfloat16 differ by 1.3e-3.
  golden.near(Array(in_half), "precision/bfloat16", 5e-4);

  // If all pixels are bfloat16 numbers, equal numbers are rounded in both libraries.
  tt::Batch exact{ts::random::randint(ts::random::key(2), {64, 16, 16, 3}, -64, 64) / 32.0f,
                  all.label[ts::until(64)]};
  Array loss = tt::mixed_precision_step(sgd, optim::train_state(half_model, sgd),
                                        ts::data::shard_batch(exact, kDevices))
                   .loss;
  golden.near(loss, "precision/exact_pixels", 1e-5);
}

TEST_F(Techniques, Masks) {
  auto last = tt::load_padded(all, 64).back();
  auto padded = ts::data::shard_batch(last.batch, kDevices);
  Array mask = ts::data::shard_batch(last.mask, kDevices);
  auto s = tt::masked_step(sgd, optim::train_state(model, sgd), padded, mask);
  golden.near(s.loss, "masked/loss", kRounding);
  golden.near(norms(s.state.model), "masked/norms", kRounding);
  EXPECT_TRUE(std::isnan(tt::document_masked_loss(model, padded, mask).item<float>()));

  auto batch = full_batches()[0];
  Array uneven = tt::uneven_mask(kDevices, 8);
  golden.near(ts::stack({tt::masked_step(sgd, optim::train_state(model, sgd), batch, uneven).loss,
                         tt::document_masked_loss(model, batch, uneven)}),
              "masked/uneven", kRounding);
}

TEST_F(Techniques, RatesAndLog) {
  auto batch = ts::data::shard_batch(tt::make_images(ts::random::key(1), 64, 16), kDevices);
  auto r = tt::try_rates(model, batch, {std::nullopt, 1e-3, 8e-3, 1e-2});
  EXPECT_EQ(r.traces, 2u);
  EXPECT_EQ(r.losses[0].item<float>(), r.losses[1].item<float>());
  golden.near(ts::stack({r.losses[1], r.losses[2], r.losses[3]}), "rates", kRounding);
  std::vector<float> losses;
  for (auto [step, loss] : tt::log_sometimes(model, batch, 21, 10)) losses.push_back(loss);
  golden.near(Array(losses), "log", 3e-4);
}

}  // namespace

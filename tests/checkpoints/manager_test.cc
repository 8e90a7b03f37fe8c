// The checkpoints of a run: which are kept; and a run that is resumed gives the bits of one that
// was not interrupted.
#include <tessera/checkpoint_manager.h>
#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/data.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/random.h>
#include <tessera/reductions.h>

#include "checkpoints/folder.h"
#include "message.h"

#include <cmath>
#include <limits>

namespace ts = tessera;
using checkpoint_test::InFolder;
using checkpoint_test::same;
using test::message;
using ts::Array;

namespace {

class Manager : public InFolder {};
using Steps = std::vector<std::int64_t>;

}  // namespace

TEST_F(Manager, KeepsTheNewest) {
  ts::CheckpointManager m(dir, {.max_to_keep = 3});
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(m.save(i, ts::full({100}, i)));
    m.wait();
    Steps newest;
    for (int k = std::max(0, i - 2); k <= i; ++k) newest.push_back(k);
    EXPECT_EQ(m.all_steps(), newest);
  }
  EXPECT_EQ(names_in(dir), (std::vector<std::string>{"7", "8", "9"}));
  EXPECT_TRUE(same(m.restore(ts::zeros({100}, ts::i32)), ts::full({100}, 9)));
  EXPECT_EQ(m.best_step(), std::nullopt);
}

TEST_F(Manager, KeepsTheBestAndEveryNth) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> loss{0.5, 0.2, 0.9, 0.2, nan, 0.7, 0.1, 0.8, 0.6, 0.95};
  {
    ts::CheckpointManager m(
        dir, {.max_to_keep = 2, .keep_period = 5, .keep_best = 2, .best_metric = "loss"});
    for (std::size_t i = 0; i < 6; ++i)
      m.save(static_cast<std::int64_t>(i), ts::ones({4}), {.metrics = {{"loss", loss[i]}}});
    m.wait();
    EXPECT_EQ(m.all_steps(), (Steps{0, 1, 3, 4, 5}));
  }
  // The next run knows the existing steps.
  ts::CheckpointManager m(
      dir, {.max_to_keep = 2, .keep_period = 5, .keep_best = 2, .best_metric = "loss"});
  EXPECT_EQ(m.best_step(), 3);
  for (std::size_t i = 6; i < loss.size(); ++i)
    m.save(static_cast<std::int64_t>(i), ts::ones({4}), {.metrics = {{"loss", loss[i]}}});
  m.wait();
  EXPECT_EQ(m.all_steps(), (Steps{0, 3, 5, 6, 8, 9}));
  EXPECT_EQ(m.best_step(), 6);
  EXPECT_EQ(ts::CheckpointManager(dir, {.best_metric = "loss", .best_mode = ts::BestMode::max})
                .best_step(),
            9);
}

TEST_F(Manager, SavesWhatItsIntervalSays) {
  ts::CheckpointManager m(dir, {.save_interval_steps = 4, .async = false});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(m.save(i, ts::ones({1})), i % 4 == 0);
  EXPECT_TRUE(m.save(9, ts::ones({1}), {.force = true}));
  EXPECT_EQ(m.all_steps(), (Steps{0, 4, 8, 9}));
  EXPECT_FALSE(m.should_save(9));
}

TEST_F(Manager, HasOneUnderWayUnlessMoreAreAskedFor) {
  for (const int most : {1, 3}) {
    const std::string folder = dir + "/" + std::to_string(most) + "x";
    ts::CheckpointManager m(folder, {.max_in_flight = most});
    for (int i = 0; i < 20; ++i) {
      m.save(i, ts::full({1000}, i));
      // Steps that can no longer be in progress exist.
      const Steps there = m.all_steps();
      EXPECT_GE(static_cast<int>(there.size()), i + 1 - most);
    }
    m.wait();
    EXPECT_EQ(m.all_steps().size(), 20u);
    for (int i = 0; i < 20; ++i)
      EXPECT_TRUE(same(m.restore(ts::zeros({1000}, ts::i32), {.step = i}), ts::full({1000}, i)));
  }
}

TEST_F(Manager, RefusesOptionsWithoutSense) {
  const auto said = [&](ts::CheckpointManagerOptions o) {
    return message([&] { ts::CheckpointManager m(dir, o); });
  };
  EXPECT_EQ(said({.max_to_keep = 0}),
            "CheckpointManager: max_to_keep is 0\n  rule: numbers of steps are 1 or more\n"
            "  try: {.max_to_keep = 3, .keep_best = 1, .best_metric = \"loss\"}");
  EXPECT_EQ(said({.keep_best = 2}),
            "CheckpointManager: keep_best is 2, and no metric is named\n"
            "  rule: the best are told by a metric that is passed to save\n"
            "  try: {.max_to_keep = 3, .keep_best = 1, .best_metric = \"loss\"}");
  EXPECT_NE(said({.save_interval_steps = 0}).find("save_interval_steps is 0"), std::string::npos);
  EXPECT_NE(said({.keep_period = 0}).find("keep_period is 0"), std::string::npos);
}

namespace {

// A run with shuffled data, dropout and momentum, whose complete state is saved.
struct Training {
  struct State {
    Array w, b;
    Array momentum;
    Array key, step;
    ts::data::EpochBatches::Position data;
  };
  Array x, y;
  ts::data::EpochBatches batches;
  State state;

  Training()
      : x(ts::random::normal(ts::random::key(1), {50, 6})),
        y(ts::random::normal(ts::random::key(2), {50, 1})),
        batches(50, 8, ts::random::key(3)) {
    state = {ts::random::normal(ts::random::key(4), {6, 1}),
             ts::zeros({1}),
             ts::zeros({6, 1}),
             ts::random::key(5),
             ts::zeros({}, ts::i64),
             batches.position()};
  }
  double step() {
    const Array rows(batches.next().indices);
    static auto f = ts::jit([](State s, Array x, Array y) {
      const auto keys = ts::random::split<2>(s.key);
      const auto loss = [&](std::pair<Array, Array> p) {
        const Array kept = ts::random::bernoulli(keys[1], 0.5, x.shape()).astype(ts::f32);
        return ts::mean(ts::square(ts::matmul(x * kept * 2.0f, p.first) + p.second - y));
      };
      const auto [value, g] = ts::value_and_grad(loss)(std::pair(s.w, s.b));
      s.momentum = 0.9f * s.momentum + g.first;
      s.w = s.w - 0.05f * s.momentum;
      s.b = s.b - 0.05f * g.second;
      s.key = keys[0];
      s.step = s.step + 1;
      return std::pair(value, s);
    });
    auto [value, next] = f(std::move(state), x[rows], y[rows]);
    state = std::move(next);
    state.data = batches.position();
    return value.item<double>();
  }
  std::int64_t done() const { return state.step.item<std::int64_t>(); }
};

}  // namespace

TEST_F(Manager, ARunThatIsTakenUpAgainGivesTheSameBits) {
  constexpr int kSteps = 40;
  Training whole;
  std::vector<double> losses;
  for (int i = 0; i < kSteps; ++i) losses.push_back(whole.step());
  // The run is interrupted after every third step, and resumed by an object that knows nothing of
  // the one before.
  std::vector<double> again;
  for (int end = 3;; end += 3) {
    Training run;
    ts::CheckpointManager m(dir, {.max_to_keep = 1});
    if (m.latest_step()) {
      run.state = m.restore(run.state);
      run.batches.seek(run.state.data);
    }
    while (run.done() < std::min(end, kSteps)) again.push_back(run.step());
    m.save(run.done(), run.state);
    if (run.done() < kSteps) continue;
    EXPECT_TRUE(same(run.state, whole.state));
    break;
  }
  EXPECT_EQ(again, losses);
}

TEST_F(Manager, EpochsGoOnWhereTheyStood) {
  ts::data::EpochBatches all(10, 4, ts::random::key(0), ts::data::LastBatch::pad);
  for (int i = 0; i < 20; ++i) {
    ts::data::EpochBatches other(10, 4, {}, ts::data::LastBatch::pad);
    other.seek(all.position());
    const auto& next = other.next();
    const auto& want = all.next();
    EXPECT_EQ(next.indices, want.indices) << i;
    EXPECT_EQ(next.mask, want.mask) << i;
  }
  EXPECT_EQ(message<ts::ShapeError>([] { ts::data::EpochBatches(3, 4); }),
            "EpochBatches: 3 examples make no batch of 4\n  rule: an epoch has a batch at least\n"
            "  try: a smaller batch, or LastBatch::pad");
  ts::data::EpochBatches few(8, 4);
  EXPECT_EQ(message<ts::ShapeError>([&] {
              auto p = all.position();
              p.batch = Array(2);
              few.seek(p);
            }).substr(0, 56),
            "EpochBatches::seek: the position is batch 2 of epoch 6\n ");
}

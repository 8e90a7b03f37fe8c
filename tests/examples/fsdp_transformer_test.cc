// The forms of examples/11_fsdp_transformer: their losses agree with JAX (fsdp_transformer.py) and
// with each other; they exchange and hold the expected bytes; and training resumes from a
// checkpoint.
#include "11_fsdp_transformer/corpus.h"
#include "11_fsdp_transformer/generate.h"

#include "examples/golden.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

using namespace fsdp_transformer;

namespace {

constexpr int kSteps = 5;
const Sizes kSizes{.layers = 2};
/// The arrays of a model with two layers: embeddings, 12 per layer, the last norm and the head.
constexpr std::int64_t kArrays = 2 + 12 * 2 + 4;

const std::vector<std::string> kForms = {"one", "data", "fsdp", "tensor", "2d", "sequence", "auto"};

class FsdpTransformer : public testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(8); }

  State start(const Sizes& sizes = kSizes) const {
    return optim::train_state(make_gpt(ts::random::key(0), sizes), opt);
  }
  /// Returns the form with its specs; those of an automatic form are searched once.
  Form form(const std::string& name, std::int64_t devices) const {
    static std::map<std::pair<std::string, std::int64_t>, Form> all;
    const auto [at, is_new] = all.try_emplace({name, devices});
    if (is_new)
      at->second = settled(fsdp_transformer::form(name, devices), start(), batch(0).ids, opt);
    return at->second;
  }
  Batch batch(int step, std::int64_t examples = 16, std::int64_t context = 64) const {
    return draw_batch(corpus, ts::random::fold_in(ts::random::key(1), step), examples, context);
  }
  /// Trains `state` over the steps [from, to).
  std::vector<double> train(const Form& form, State& state, int from, int to,
                            bool recompute = false) const {
    auto step = make_step(form, state, opt, recompute);
    std::vector<double> losses;
    for (int i = from; i < to; ++i) {
      const Batch b = batch(i);
      auto [next, value] = step(std::move(state), b.ids, b.labels);
      state = next;
      losses.push_back(value.item<double>());
    }
    EXPECT_EQ(step.trace_count(), 1u) << form.name;
    return losses;
  }
  /// The collectives of a step: "all_gather data" -> how many, and the bytes that a device
  /// contributes.
  struct Total {
    std::int64_t times = 0, bytes = 0;
  };
  using Totals = std::map<std::string, Total>;
  Totals exchanged(const Form& form, const Sizes& sizes, std::int64_t examples,
                   bool recompute = false) const {
    const State state = ts::abstract_like(start(sizes));
    const Batch b = batch(0, examples, sizes.context);
    Totals totals;
    for (const ts::CollectiveUse& use :
         make_step(form, state, opt, recompute).lower(state, b.ids, b.labels).collectives()) {
      std::string name = use.op;
      for (const std::string& axis : use.axes) name += " " + axis;
      totals[name].times += use.times;
      totals[name].bytes += use.bytes;
    }
    return totals;
  }
  static std::map<std::string, std::int64_t> times(const Totals& totals) {
    std::map<std::string, std::int64_t> t;
    for (const auto& [name, total] : totals) t[name] = total.times;
    return t;
  }
  static std::int64_t bytes(const auto& x) {
    std::int64_t n = 0;
    for (const Array& leaf : ts::tree::leaves(x)) n += leaf.is_empty() ? 0 : leaf.nbytes();
    return n;
  }

  const optim::Optimizer opt = optim::adam(3e-3);
  const Corpus corpus = load_corpus(TESSERA_SOURCE_DIR "/data/psalms.txt", kSizes.vocabulary);
  const example_test::Golden golden{"fsdp_transformer"};
};
using Times = std::map<std::string, std::int64_t>;

TEST_F(FsdpTransformer, TheSameWeightsAndBatchesAsInJax) {
  const Gpt model = start().model;
  // A normal number and one product: an error of two units in the last place.
  const auto some = [](const Array& x, std::int64_t rows, std::int64_t columns) {
    return x(ts::Range{0, std::nullopt, rows}, ts::Range{0, std::nullopt, columns});
  };
  golden.near(some(model.blocks[1].up.weight, 32, 128), "up", 0x1p-22 * 0.1);
  golden.near(some(model.blocks[0].project.weight, 32, 32), "project", 0x1p-22 * 0.1);
  const Batch b = batch(0);
  golden.equal(b.ids(ts::Range{0, 2}), "ids");
  golden.equal(b.labels(ts::Range{0, 2}), "labels");
}

// The loss is a mean of 1024 losses of sums of a few hundred products, so it is exact to 1e-6 of a
// loss near 4 in the first step. Adam divides gradients by their own size, so that a rounding error
// in one near zero moves its parameter by up to 2 * 3e-3. Such a parameter affects the loss little,
// and a step adds about 1e-6.
TEST_F(FsdpTransformer, EveryFormHasTheLossesOfJax) {
  const std::vector<float> want = golden["losses"].to_vector<float>();
  for (const std::string& name : kForms) {
    const Form f = form(name, 8);
    State state = place(f, start());
    const std::vector<double> losses = train(f, state, 0, kSteps);
    for (int i = 0; i < kSteps; ++i)
      EXPECT_NEAR(losses[static_cast<std::size_t>(i)], want[static_cast<std::size_t>(i)], 2e-5)
          << name << ", step " << i;
    EXPECT_LT(losses.back(), losses.front() - 0.5) << name;
  }
}

TEST_F(FsdpTransformer, OtherNumbersOfDevicesAndRecomputationChangeNothing) {
  State one = start();
  const std::vector<double> want = train(form("one", 1), one, 0, 2);
  for (const std::int64_t devices : {1, 2, 4})
    for (const std::string& name : kForms) {
      const Form f = form(name, devices);
      State state = place(f, start());
      const std::vector<double> losses = train(f, state, 0, 2, devices == 4);
      for (std::size_t i = 0; i < losses.size(); ++i)
        EXPECT_NEAR(losses[i], want[i], 1e-5) << name << " on " << devices << ", step " << i;
    }
}

// There is one sum per parameter, and one of the loss.
TEST_F(FsdpTransformer, DataParallelReducesEachGradientOnce) {
  EXPECT_EQ(times(exchanged(form("data", 8), kSizes, 16)), (Times{{"psum data", kArrays + 1}}));
}

// Every parameter is gathered once, and its gradient is reduce-scattered. Nothing else moves, so
// the bytes are those of the parameters.
TEST_F(FsdpTransformer, FullyShardedGathersParametersAndScattersGradients) {
  const Totals totals = exchanged(form("fsdp", 8), kSizes, 16);
  EXPECT_EQ(
      times(totals),
      (Times{{"all_gather data", kArrays}, {"psum_scatter data", kArrays}, {"psum data", 1}}));
  const std::int64_t model = bytes(start().model);
  EXPECT_EQ(totals.at("all_gather data").bytes, model / 8);
  EXPECT_EQ(totals.at("psum_scatter data").bytes, model);
  EXPECT_EQ(totals.at("psum data").bytes, 4);
}

// A block's parameters are gathered again for its backward pass, except for the bias of its last
// sum.
TEST_F(FsdpTransformer, FullyShardedGathersAgainWhereBlocksAreRecomputed) {
  EXPECT_EQ(times(exchanged(form("fsdp", 8), kSizes, 16, true)),
            (Times{{"all_gather data", kArrays + 11 * 2},
                   {"psum_scatter data", kArrays},
                   {"psum data", 1}}));
}

// If weights are large compared with the batch, there are two sums of the residual stream per layer
// in each direction. The bias of a norm in front of a column-parallel product gets its gradient
// before these sums, by a sum of one row.
TEST_F(FsdpTransformer, TensorParallelReducesTwiceALayerInEachDirection) {
  const Sizes sizes{.width = 512, .layers = 2};
  const Totals totals = exchanged(form("tensor", 8), sizes, 4);
  EXPECT_EQ(times(totals), (Times{{"psum model", 4 * 2 + 2 * 2}}));
  EXPECT_EQ(totals.at("psum model").bytes, 4 * 2 * (4 * 64 * 512 * 4) + 2 * 2 * (512 * 4));
}

// Each of those sums is scattered over the positions, and gathered for the next product
// (Korthikanti et al. 2022). The gradients of replicated parameters are summed: embedding, norms,
// biases after row-parallel products, and the head; and so is the loss.
TEST_F(FsdpTransformer, SequenceParallelScattersAndGathersWhereTensorParallelReduces) {
  const Sizes sizes{.width = 512, .layers = 2};
  const Totals totals = exchanged(form("sequence", 8), sizes, 4);
  EXPECT_EQ(times(totals), (Times{{"all_gather model", 4 * 2},
                                  {"psum_scatter model", 4 * 2},
                                  {"psum model", 1 + 6 * 2 + 2 + 2 + 1}}));
  const std::int64_t stream = 4 * 64 * 512 * 4;
  EXPECT_EQ(totals.at("all_gather model").bytes, 4 * 2 * stream / 8);
  EXPECT_EQ(totals.at("psum_scatter model").bytes, 4 * 2 * stream);
}

// One axis has the collectives of full sharding, except for the biases of columns, which only the
// other axis shards; that axis has the collectives of tensor parallelism.
TEST_F(FsdpTransformer, OnAGridBothHappenOnTheirAxes) {
  EXPECT_EQ(times(exchanged(form("2d", 4), kSizes, 16)),
            (Times{{"all_gather data", kArrays - 2 * 2},
                   {"psum_scatter data", kArrays - 2 * 2},
                   {"psum data", 2 * 2 + 1},
                   {"psum model", 4 * 2 + 2 * 2}}));
}

// The found specs are compared by their plans with the forms that consist of specs only, and must
// fit the available memory.
TEST_F(FsdpTransformer, FoundSpecsAreNoWorseThanTheOthersAndFit) {
  const State state = ts::abstract_like(start());
  const Batch b = batch(0);
  const auto planned = [&](const Form& f) {
    return make_step(f, state, opt).lower(state, b.ids, b.labels).plan({.alternatives = 0});
  };
  const Form found = form("auto", 8);
  const double seconds = planned(found).seconds();
  EXPECT_EQ(seconds, found.found->seconds);
  for (const std::string& name : kForms) {
    Form f = form(name, 8);
    if (f.axes.empty() || f.stream) continue;
    // On this mesh, a collective over two axes waits for the links of both.
    const ts::PartitionSpec both = ts::P({"data", "model"});
    if (name == "data" || name == "fsdp") {
      f.axes = found.axes;
      f.batch = both;
      f.parameters = {{"**", name == "data" ? ts::P() : both}};
    }
    EXPECT_LE(seconds, planned(f).seconds()) << name;
  }
  const std::int64_t some = found.found->peak_bytes() - 1;
  const Form fits = settled(fsdp_transformer::form("auto", 8), state, b.ids, opt, false, some);
  EXPECT_LE(planned(fits).peak_bytes(), some);
  EXPECT_GE(planned(fits).seconds(), seconds);
}

TEST_F(FsdpTransformer, FullyShardedStateTakesAnEighthADevice) {
  const Form f = form("fsdp", 8);
  const std::int64_t counters = 2 * 4;  // of Adam and of the state: int32, replicated
  std::vector<std::int64_t> before;
  for (const ts::Device d : ts::devices()) before.push_back(ts::memory_stats(d).live);
  std::int64_t whole = 0;
  std::optional<State> state;
  {
    const State made = start();
    whole = bytes(made) - counters;
    state = place(f, made);
  }
  ASSERT_EQ(whole % 8, 0);
  {  // from the plan, before and after a step
    const Batch b = batch(0);
    const State like = ts::abstract_like(*state);
    const ts::Plan plan = make_step(f, like, opt)
                              .lower(like, b.ids, b.labels)
                              .plan({.memory = false, .alternatives = 0});
    const auto planned = [](const std::vector<ts::PlannedEnd>& ends, const std::string& of) {
      std::int64_t n = 0;
      for (const ts::PlannedEnd& e : ends) n += e.name.starts_with(of) ? e.bytes : 0;
      return n;
    };
    EXPECT_EQ(planned(plan.arguments, "args[0]"), whole / 8 + counters);
    EXPECT_EQ(planned(plan.results, "result[0]"), whole / 8 + counters);
  }
  const auto check = [&](const char* when) {
    for (const ts::Device d : ts::devices())
      EXPECT_EQ(ts::memory_stats(d).live - before[static_cast<std::size_t>(d.id)],
                whole / 8 + counters)
          << when << ", device " << d.id;
    std::int64_t shards = 0;
    for (const Array& leaf : ts::tree::leaves(*state))
      for (const ts::Shard& s : leaf.is_empty() ? std::vector<ts::Shard>() : leaf.shards())
        shards += leaf.ndim() > 0 ? s.data.nbytes() : 0;
    EXPECT_EQ(shards, whole) << when;
  };
  check("placed");
  train(f, *state, 0, 2);
  check("trained");
}

// Results have the requested shardings, and steps overwrite the matrices of the donated state.
TEST_F(FsdpTransformer, StatesStayWhereTheyAreAndInTheirMemory) {
  for (const std::string& name : kForms) {
    const Form f = form(name, 8);
    State state = place(f, start());
    const std::vector<Array> placed = ts::tree::leaves(place(f, start()));
    train(f, state, 0, 1);
    const std::vector<Array> leaves = ts::tree::leaves(state);
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (!leaves[i].is_empty()) {
        EXPECT_TRUE(leaves[i].sharding().is_equivalent_to(placed[i].sharding(), leaves[i].ndim()))
            << name << " " << ts::tree::paths(state)[i] << " " << leaves[i].sharding();
      }
  }
  const Form f = form("fsdp", 8);
  State state = place(f, start());
  const auto matrices = [&] {
    std::set<const void*> all;
    for (const Array& leaf : ts::tree::leaves(state))
      if (!leaf.is_empty() && leaf.ndim() == 2)
        for (const ts::Shard& s : leaf.shards()) all.insert(s.data.host<float>().data());
    return all;
  };
  train(f, state, 0, 1);
  const std::set<const void*> before = matrices();
  EXPECT_EQ(before.size(), 3u * (3 + 4 * 2) * 8);
  train(f, state, 1, 2);
  EXPECT_EQ(matrices(), before);
}

// Resuming gives the same bits in the form that wrote the checkpoint, and the usual differences in
// another form.
TEST_F(FsdpTransformer, ACheckpointGoesOnInAnyForm) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("fsdp_transformer_" + std::to_string(::getpid()));
  const std::string file = folder / "state.safetensors";
  const Form f = form("fsdp", 8);
  State state = place(f, start());
  train(f, state, 0, 2);
  ts::save(file, state);
  const std::vector<double> want = train(f, state, 2, 4);
  State same = place(f, ts::load(file, start()));
  EXPECT_EQ(train(f, same, 2, 4), want);
  EXPECT_TRUE(ts::tree::equal(same, state));
  const Form other = form("tensor", 4);
  State moved = place(other, ts::load(file, start()));
  const std::vector<double> losses = train(other, moved, 2, 4);
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], want[i], 1e-5);
  std::filesystem::remove_all(folder);
}

TEST_F(FsdpTransformer, TextIsTheSameInAllForms) {
  const Gpt model = start().model;
  const std::vector<std::int32_t> prompt = batch(0, 1).ids.to_vector<std::int32_t>();
  std::vector<std::int32_t> want;
  for (const std::string& name : kForms) {
    const Form f = form(name, 8);
    const Gpt placed = place(f, start()).model;
    const auto text = generate(f, placed, prompt, ts::random::key(2), 20, 0.8);
    ASSERT_EQ(text.size(), 20u);
    if (want.empty()) want = text;
    EXPECT_EQ(text, want) << name;
  }
}

TEST_F(FsdpTransformer, UnknownFormsAreRefused) {
  try {
    fsdp_transformer::form("pipeline", 8);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(
        e.what(),
        "there is no form \"pipeline\"; they are one, data, fsdp, tensor, 2d, sequence, auto");
  }
}

}  // namespace

// An optimiser's state on a mesh: each moment is sharded like its parameter.
#include <tessera/creation.h>
#include <tessera/device.h>
#include <tessera/jit.h>
#include <tessera/mesh.h>
#include <tessera/optim.h>
#include <tessera/optim/optimizers.h>
#include <tessera/optim/transformations.h>
#include <tessera/sharding.h>

#include "message.h"

#include <gtest/gtest.h>

namespace ts = tessera;
namespace optim = tessera::optim;
using test::message;
using ts::Array, ts::P;

namespace {

struct Layer {
  Array w, b;
};
struct Model {
  std::vector<Layer> layers;
  Array seen;  // an integer, which has no moments
};

Model model() {
  const auto layer = [] { return Layer{ts::ones({4, 6}), ts::ones({6})}; };
  return {{layer(), layer()}, ts::zeros({}, ts::i32)};
}

const std::vector<ts::PathRule> kRules{
    {"layers/*/w", P(ts::none, "x")}, {"layers/*/b", P("x")}, {"seen", P()}};

// The specs of the existing leaves, by path.
template <class T>
std::vector<std::string> lie(const T& tree) {
  std::vector<std::string> out;
  ts::tree::for_each(
      [&](const std::string& path, const Array& x) {
        out.push_back(path + " " + ts::to_string(x.sharding().spec()));
      },
      tree);
  return out;
}

const std::vector<std::string> kStateOfAdam{
    "stages/0/count P()",          "stages/0/moments/0/0 P(none, 'x')",
    "stages/0/moments/0/1 P('x')", "stages/0/moments/0/2 P(none, 'x')",
    "stages/0/moments/0/3 P('x')", "stages/0/moments/1/0 P(none, 'x')",
    "stages/0/moments/1/1 P('x')", "stages/0/moments/1/2 P(none, 'x')",
    "stages/0/moments/1/3 P('x')"};

class StateOnMesh : public ::testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(2); }
};

}  // namespace

TEST_F(StateOnMesh, MomentsHaveTheSpecsOfTheirParameters) {
  const ts::Mesh mesh({{"x", 2}});
  const Model m = model();
  const ts::SpecTree of_model = ts::specs(m, kRules);
  const optim::State state = optim::scale_by_adam().init(m);
  EXPECT_EQ(lie(ts::device_put(state, mesh, optim::specs(state, m, of_model))), kStateOfAdam);
  // A prefix of the model's tree applies to all leaves below it.
  const optim::State momentum = optim::trace(0.9).init(m);
  const ts::SpecTree prefix{{{P(), P("x")}, P()}, P()};
  EXPECT_EQ(lie(ts::device_put(momentum, mesh, optim::specs(momentum, m, prefix))),
            (std::vector<std::string>{"stages/0/moments/0/0 P()", "stages/0/moments/0/1 P('x')",
                                      "stages/0/moments/0/2 P()", "stages/0/moments/0/3 P()"}));
}

TEST_F(StateOnMesh, AStateIsMadeWhereItBelongs) {
  const ts::Mesh mesh({{"x", 2}});
  const ts::SpecTree of_model = ts::specs(model(), kRules);
  const Model m = ts::device_put(model(), mesh, of_model);
  const auto opt = optim::scale_by_adam();
  const auto init = [&](const Model& params) { return opt.init(params); };
  const optim::State like = ts::eval_shape(init, m);
  const optim::State state =
      ts::jit(init, {.mesh = mesh, .out_shardings = optim::specs(like, m, of_model)})(m);
  EXPECT_EQ(lie(state), kStateOfAdam);
  EXPECT_TRUE(ts::tree::equal(state, opt.init(model())));
}

TEST_F(StateOnMesh, OptimisersWithinOptimisers) {
  const ts::Mesh mesh({{"x", 2}});
  const Model m = model();
  const ts::SpecTree of_model = ts::specs(m, kRules);
  const auto matrices =
      optim::mask_by_path(m, [](const std::string&, const Array& p) { return p.ndim() == 2; });
  const optim::State masked = optim::masked(optim::trace(0.9), matrices).init(m);
  EXPECT_EQ(lie(ts::device_put(masked, mesh, optim::specs(masked, m, of_model))),
            (std::vector<std::string>{"stages/0/inner/0/moments/0/0 P(none, 'x')",
                                      "stages/0/inner/0/moments/0/2 P(none, 'x')"}));
  // Hyperparameters are scalars, any number of them.
  const optim::State rates =
      optim::inject_hyperparams(
          [](const optim::Hyperparams& h) { return optim::sgd(h.at("learning_rate"), 0.9); },
          {{"learning_rate", 0.1}})
          .init(m);
  for (const std::string& at : lie(ts::device_put(rates, mesh, optim::specs(rates, m, of_model))))
    EXPECT_EQ(at.find("P()") == std::string::npos, at.find("inner/0/moments") != std::string::npos)
        << at;
}

TEST_F(StateOnMesh, AllThatTrainingChanges) {
  const ts::Mesh mesh({{"x", 2}});
  const auto opt = optim::adam(0.1);
  const auto state = optim::train_state(model(), opt);
  const auto put = ts::device_put(state, mesh, optim::specs(state, ts::specs(state.model, kRules)));
  EXPECT_EQ(lie(put.model),
            (std::vector<std::string>{"layers/0/w P(none, 'x')", "layers/0/b P('x')",
                                      "layers/1/w P(none, 'x')", "layers/1/b P('x')", "seen P()"}));
  EXPECT_EQ(lie(put.step), std::vector<std::string>{" P()"});
  EXPECT_EQ(put.optimizer.stages[0].moments[1][2].sharding().spec(), P(ts::none, "x"));
}

TEST_F(StateOnMesh, SpecsOfAnotherModelAreRefused) {
  const Model m = model();
  const optim::State state = optim::trace(0.9).init(m);
  const std::string said = message<ts::TreeError>([&] { optim::specs(state, m, {P(), P(), P()}); });
  EXPECT_EQ(said.substr(0, said.find('\n')), "optim::specs: the specs are no prefix of the tree");
}

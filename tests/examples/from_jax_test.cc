// The cells of examples/20_from_jax agree with JAX, whose results export.py writes beside the
// models.
#include "20_from_jax/models.h"

#include <gtest/gtest.h>

using namespace from_jax_example;

namespace {

const std::string folder = FROM_JAX_MODELS;

// Float32 sums are added in another order in about twenty layers. Each keeps the relative error
// near 2^-22, and the results are about as large as their largest number.
constexpr double kRounding = 1e-5;

void near(const Array& got, const Array& want) {
  ASSERT_EQ(got.shape(), want.shape());
  const double size = ts::max(ts::abs(want)).item<float>();
  EXPECT_LE(ts::max(ts::abs(got - want)).item<float>(), kRounding * size);
}

class FromJax : public testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(4); }
  const std::map<std::string, Array> want = expected(folder);
};

TEST_F(FromJax, ResNetClassifies) {
  near(classify(load(folder, "resnet", 0)), want.at("resnet.logits"));
}

TEST_F(FromJax, ResNetIsFineTuned) {
  const Model model = load(folder, "resnet", 0);
  const Array losses = want.at("resnet.losses");
  near(Array(fine_tune(model, 5)), losses);
  for (const int devices : {1, 4}) near(Array(fine_tune_on_devices(model, 5, devices)), losses);
}

TEST_F(FromJax, TransformerGenerates) {
  const Text text = generate(load(folder, "transformer", 3));
  EXPECT_EQ(text.tokens.to_vector<std::int32_t>(),
            want.at("transformer.tokens").to_vector<std::int32_t>());
  near(text.logits, want.at("transformer.logits"));
}

TEST_F(FromJax, DiffusionDenoises) {
  near(denoise(load(folder, "diffusion", 4)), want.at("diffusion.picture"));
}

}  // namespace

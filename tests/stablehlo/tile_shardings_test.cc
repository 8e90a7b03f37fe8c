// Shardings as texts of XLA's older partitioner: each device's shard agrees with the list of
// devices that the text stands for, and whole modules agree with the unsharded run.
#include "stablehlo/text/tile_sharding.h"

#include <tessera/tessera.h>

#include "message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace ts = tessera;
using tessera::v0::stablehlo::DeviceDigit;
using tessera::v0::stablehlo::parse_tile_sharding;
using tessera::v0::stablehlo::TileSharding;
using test::message;
using ts::Array;

namespace {

using Numbers = std::vector<std::int64_t>;

std::string joined(const Numbers& n) {
  std::string s;
  for (std::int64_t x : n) s += (s.empty() ? "" : ",") + std::to_string(x);
  return s;
}

// iota(prod(sizes)).reshape(sizes).transpose(permutation), row-major.
Numbers device_list(const Numbers& sizes, const Numbers& permutation) {
  const std::int64_t n =
      std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  Numbers strides(sizes.size(), 1), list;
  for (std::size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  for (std::int64_t at = 0; at < n; ++at) {
    std::int64_t rest = at, device = 0;
    for (std::size_t k = permutation.size(); k-- > 0;) {
      const auto p = static_cast<std::size_t>(permutation[k]);
      device += rest % sizes[p] * strides[p];
      rest /= sizes[p];
    }
    list.push_back(device);
  }
  return list;
}

// The number of the device's shard, by its digits.
std::int64_t part_of(std::int64_t device, const std::vector<DeviceDigit>& digits) {
  std::int64_t part = 0;
  for (const DeviceDigit& d : digits) part = part * d.size + device / d.stride % d.size;
  return part;
}

void expect_parts(const std::string& text, const Numbers& tile, int rank, const Numbers& devices) {
  std::string problem;
  const TileSharding s = parse_tile_sharding(text, rank, problem);
  ASSERT_EQ(problem, "") << text;
  ASSERT_EQ(s.kind, TileSharding::Kind::tiled);
  ASSERT_EQ(s.devices, static_cast<std::int64_t>(devices.size()));
  ASSERT_EQ(s.dims.size(), static_cast<std::size_t>(rank));
  for (std::size_t at = 0; at < devices.size(); ++at) {
    std::int64_t rest = static_cast<std::int64_t>(at);
    Numbers place(tile.size());
    for (std::size_t d = tile.size(); d-- > 0; rest /= tile[d]) place[d] = rest % tile[d];
    for (int d = 0; d < rank; ++d)
      EXPECT_EQ(part_of(devices[at], s.dims[static_cast<std::size_t>(d)]),
                place[static_cast<std::size_t>(d)])
          << text << ", device " << devices[at] << ", dimension " << d;
  }
}

TEST(TileSharding, DevicesHaveTheirParts) {
  expect_parts("{devices=[2,4]<=[8]}", {2, 4}, 2, device_list({8}, {0}));
  expect_parts("{devices=[4,2]<=[2,4]T(1,0)}", {4, 2}, 2, device_list({2, 4}, {1, 0}));
  expect_parts("{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}", {2, 1, 2}, 2,
               device_list({2, 2}, {1, 0}));
  expect_parts("{devices=[3,2,2]<=[2,3,2]T(1,2,0) last_tile_dims={replicated}}", {3, 2, 2}, 2,
               device_list({2, 3, 2}, {1, 2, 0}));
  expect_parts("{devices=[1,2,3]0,3,1,4,2,5 last_tile_dims={replicated, replicated}}", {1, 2, 3}, 1,
               {0, 3, 1, 4, 2, 5});
  expect_parts("{devices=[2,2]0,2,1,3 metadata={op_name=\"a\"}}", {2, 2}, 2, {0, 2, 1, 3});
}

// Any sizes and orders, as an order and as the list that it stands for.
TEST(TileSharding, DrawnOrdersAndTheirLists) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    Numbers sizes, permutation;
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (int i = 1 + below(4); i > 0; --i) sizes.push_back(1 + below(4));
    permutation.resize(sizes.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random);
    // Sometimes neighbours in the order form one dimension.
    Numbers tile;
    for (std::int64_t p : permutation) {
      const std::int64_t n = sizes[static_cast<std::size_t>(p)];
      if (!tile.empty() && below(3) == 0)
        tile.back() *= n;
      else
        tile.push_back(n);
    }
    const Numbers devices = device_list(sizes, permutation);
    const int rank = static_cast<int>(tile.size()) - below(2);
    const std::string behind =
        rank < static_cast<int>(tile.size()) ? " last_tile_dim_replicate}" : "}";
    expect_parts("{devices=[" + joined(tile) + "]<=[" + joined(sizes) + "]T(" +
                     joined(permutation) + ")" + behind,
                 tile, rank, devices);
    expect_parts("{devices=[" + joined(tile) + "]" + joined(devices) + behind, tile, rank, devices);
  }
}

TEST(TileSharding, WordsAndWhatIsWrong) {
  const auto kind = [](const std::string& text) {
    std::string problem;
    const TileSharding s = parse_tile_sharding(text, 2, problem);
    EXPECT_EQ(problem, "") << text;
    return s.kind;
  };
  EXPECT_EQ(kind("{replicated}"), TileSharding::Kind::replicated);
  EXPECT_EQ(kind("{manual}"), TileSharding::Kind::manual);
  EXPECT_EQ(kind("{unknown}"), TileSharding::Kind::any);
  EXPECT_EQ(kind("{maximal device=0}"), TileSharding::Kind::any);
  EXPECT_EQ(kind("{}"), TileSharding::Kind::any);
  EXPECT_EQ(kind(""), TileSharding::Kind::any);
  const auto problem = [](const std::string& text) {
    std::string problem;
    parse_tile_sharding(text, 2, problem);
    return problem;
  };
  EXPECT_EQ(problem("replicated"), "it does not begin with a brace");
  EXPECT_EQ(problem("{{replicated}, {manual}}"), "it is one of a tuple");
  EXPECT_EQ(problem("{devices=[2,2}"), "its numbers of parts should stand in brackets");
  EXPECT_EQ(problem("{devices=[0,2]<=[0]}"), "it is for no device, or for too many");
  EXPECT_EQ(problem("{devices=[1000000,1000000]<=[4]}"), "it is for no device, or for too many");
  EXPECT_EQ(problem("{devices=[2,2]<=[8]}"), "its sizes behind '<=' should multiply to 4");
  EXPECT_EQ(problem("{devices=[2,2]<=[2,2]T(0,0)}"), "it is no permutation that stands behind T");
  EXPECT_EQ(problem("{devices=[2,2]0,1,2}"), "it should list 4 devices");
  EXPECT_EQ(problem("{devices=[2,2]0,1,3,2}"), "its devices go along no axes of a mesh");
  EXPECT_EQ(problem("{devices=[2,2]1,0,3,2}"), "its devices go along no axes of a mesh");
  EXPECT_EQ(problem("{devices=[2,3]<=[3,2]}"), "its parts go along no axes of a mesh");
  EXPECT_EQ(problem("{devices=[2,2]<=[4]"),
            "something stands behind its devices that is not known");
  EXPECT_EQ(problem("{devices=[4]<=[4]}"), "it has parts for 1 dimensions, and the array 2");
  EXPECT_EQ(problem("{devices=[2,1,2]<=[4] last_tile_dims={unreduced}}"),
            "its last dimensions should be manual or replicated");
  EXPECT_EQ(problem("{mesh['x'=2], [{'x'}, {}]}"),
            "it has neither devices nor a word that stands for them");
}

// Device 4 i + 2 j + k has shard j of the rows, is manual along i, and replicated along k.
TEST(TileSharding, AxesThatAreManual) {
  std::string problem;
  const TileSharding s = parse_tile_sharding(
      "{devices=[2,1,2,2]<=[2,2,2]T(1,0,2) last_tile_dims={manual, replicated}}", 2, problem);
  ASSERT_EQ(problem, "");
  ASSERT_EQ(s.dims.at(0).size(), 1u);
  EXPECT_EQ(s.dims[0][0].stride, 2);
  EXPECT_EQ(s.dims[0][0].size, 2);
  EXPECT_TRUE(s.dims.at(1).empty());
  ASSERT_EQ(s.manual.size(), 1u);
  EXPECT_EQ(s.manual[0].stride, 4);
  EXPECT_EQ(s.manual[0].size, 2);
}

constexpr const char* kModule = R"(
module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"},
      %arg1: tensor<4x8xf32> {mhlo.sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"})
      -> (tensor<8x8xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"},
          tensor<8xf32> {mhlo.sharding = "{replicated}"}) {
    %cst = stablehlo.constant dense<2.0> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<8x8xf32>
    %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    return %3, %4 : tensor<8x8xf32>, tensor<8xf32>
  }
})";

class TileShardings : public testing::Test {
 protected:
  TileShardings() { ts::set_device_count(4); }
  ~TileShardings() override { ts::set_device_count(before_); }
  const int before_ = ts::device_count();
};

TEST_F(TileShardings, ModulesLieAsTheySay) {
  // All sums are of small integers, which float32 adds exactly in any order, so the division of the
  // contraction between devices must not change a bit.
  const Array a = ts::arange(32).astype(ts::f32).reshape({8, 4}), b = a.reshape({4, 8}) - 13.0;
  const std::vector<Array> whole = ts::load_stablehlo_text(kModule, {.shardings = false})(a, b),
                           cut = ts::load_stablehlo_text(kModule)(a, b);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(ts::all(cut[i] == whole[i]).item<bool>()) << i;
    EXPECT_EQ(whole[i].shards().size(), 1u);
    EXPECT_EQ(cut[i].shards().size(), 4u);
  }
  for (const auto& s : cut[0].shards()) EXPECT_EQ(s.data.shape(), (ts::Shape{2, 8}));
  for (const auto& s : cut[1].shards()) EXPECT_EQ(s.data.shape(), (ts::Shape{8}));
}

// A per-device program as JAX wrote it before Shardy: the product of a row block of %x and a column
// block of %y, summed over the devices that share the rows.
constexpr const char* kManual = R"(
module @jit_f {
  func.func public @main(%x: tensor<4x4xf32>, %y: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<4x2xf32>) {
    %c = stablehlo.constant dense<10.0> : tensor<f32>
    %0 = stablehlo.custom_call @Sharding(%x) {backend_config = "", mhlo.sharding = "{devices=[2,2]<=[4]}"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<4x4xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.custom_call @Sharding(%y) {backend_config = "", mhlo.sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<4x2xf32>) -> tensor<2x2xf32>
    %4:2 = call @body(%1, %3, %c) : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<f32>) -> (tensor<2x2xf32>, tensor<1xf32>)
    %5 = stablehlo.custom_call @Sharding(%4#0) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %6 = stablehlo.custom_call @SPMDShardToFullShape(%5) {backend_config = "", mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"} : (tensor<2x2xf32>) -> tensor<4x2xf32>
    %7 = stablehlo.custom_call @Sharding(%4#1) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<1xf32>) -> tensor<1xf32>
    %8 = stablehlo.custom_call @SPMDShardToFullShape(%7) {backend_config = "", mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<1xf32>) -> tensor<2xf32>
    %9 = stablehlo.custom_call @Sharding(%6) {backend_config = "", mhlo.sharding = "{devices=[4,1]<=[4]}"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %10 = stablehlo.custom_call @SPMDFullToShardShape(%9) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<4x2xf32>) -> tensor<1x2xf32>
    %11 = "stablehlo.collective_permute"(%10) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>} : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %12 = stablehlo.custom_call @SPMDShardToFullShape(%11) {backend_config = "", mhlo.sharding = "{devices=[4,1]<=[4]}"} : (tensor<1x2xf32>) -> tensor<4x2xf32>
    return %6, %8, %12 : tensor<4x2xf32>, tensor<2xf32>, tensor<4x2xf32>
  }
  func.func private @body(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>, %c: tensor<f32>) -> (tensor<2x2xf32>, tensor<1xf32>) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = "stablehlo.all_reduce"(%0) ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
    %3 = stablehlo.add %2, %c : tensor<f32>
    %4 = stablehlo.reshape %3 : (tensor<f32>) -> tensor<1xf32>
    return %1, %4 : tensor<2x2xf32>, tensor<1xf32>
  }
})";

TEST_F(TileShardings, PartsForEachDevice) {
  using Floats = std::vector<float>;
  const Array x = ts::arange(16).astype(ts::f32).reshape({4, 4}),
              y = Array(Floats{1, 2, 0, 1, 1, 0, 2, 1}, {4, 2});
  const auto f = ts::load_stablehlo_text(kManual);
  const std::vector<Array> got = f(x, y);
  const Floats product{8, 4, 24, 20, 40, 36, 56, 52};  // of the whole matrices
  EXPECT_EQ(got[0].to_vector<float>(), product);
  EXPECT_EQ(got[1].to_vector<float>(), (Floats{66, 194}));  // its rows in pairs, and 10
  EXPECT_EQ(got[2].to_vector<float>(), (Floats{56, 52, 8, 4, 24, 20, 40, 36}));
  EXPECT_EQ(got[0].shards().size(), 4u);
  const auto loss = [&](Array v) { return ts::sum(f(v, y)[0]); };
  EXPECT_EQ(ts::grad(loss)(x).to_vector<float>(),
            (Floats{3, 1, 1, 3, 3, 1, 1, 3, 3, 1, 1, 3, 3, 1, 1, 3}));
}

TEST_F(TileShardings, PartsThatAreForSomeAxesOrSayNotWhose) {
  const auto with = [](const std::string& before, const std::string& manual) {
    return "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n" + before +
           "%1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = \"" + manual +
           "\"} : (tensor<4xf32>) -> tensor<1xf32>\n"
           "%2 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "
           "\"{devices=[4]<=[4]}\"} : (tensor<1xf32>) -> tensor<4xf32>\n"
           "return %2 : tensor<4xf32>\n}";
  };
  const std::string said =
      "%0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = \"{devices=[4]<=[4]}\"} : "
      "(tensor<4xf32>) -> tensor<4xf32>\n";
  const auto problem = [&](const std::string& text) {
    const std::string whole = message<ts::IoError>([&] { ts::load_stablehlo_text(text); });
    return whole.substr(0, whole.find('\n'));
  };
  EXPECT_EQ(
      problem(with(said, "{replicated}")),
      "load_stablehlo_text: line 3, column 6: this argument of the region is (f32[1]), and gets "
      "(f32[4])");
  EXPECT_EQ(problem(with("%0 = stablehlo.negate %x : tensor<4xf32>\n", "{manual}")),
            "load_stablehlo_text: line 3, column 6: what 'SPMDFullToShardShape' takes is no result "
            "of \"Sharding\"");
}

TEST_F(TileShardings, SayWhatCannotBeRead) {
  const auto with = [](const std::string& sharding) {
    return "func.func @main(%x: tensor<4x4xf32> {mhlo.sharding = \"" + sharding +
           "\"}) -> tensor<4x4xf32> {\n  return %x : tensor<4x4xf32>\n}";
  };
  const std::string text =
      message<ts::IoError>([&] { ts::load_stablehlo_text(with("{devices=[2,2]0,1,3,2}")); });
  EXPECT_NE(
      text.find("the sharding '{devices=[2,2]0,1,3,2}' cannot be read: its devices go along no "
                "axes of a mesh"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("try: load it without shardings, or export it with Shardy"),
            std::string::npos)
      << text;
  // For another number of devices, the function takes whole arrays.
  const Array x = ts::ones({4, 4});
  EXPECT_EQ(ts::load_stablehlo_text(with("{devices=[2,2]0,1,3,2}"), {.shardings = false})(x)[0]
                .to_vector<float>(),
            std::vector<float>(16, 1));
  EXPECT_EQ(ts::load_stablehlo_text(with("{devices=[2,1]<=[2]}"))(x)[0].shards().size(), 1u);
  EXPECT_EQ(ts::load_stablehlo_text(with("{devices=[2,2]<=[4]}"))(x)[0].shards().size(), 4u);
}

}  // namespace

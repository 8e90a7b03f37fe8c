// Steps on disk: what is saved is restored bit for bit, to any mesh and spec.
#include <tessera/checkpoint.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/jit.h>
#include <tessera/random.h>
#include <tessera/remat.h>
#include <tessera/safetensors.h>
#include <tessera/sharding.h>

#include "checkpoints/folder.h"
#include "message.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

namespace fs = std::filesystem;
namespace ts = tessera;
using checkpoint_test::InFolder;
using checkpoint_test::same;
using test::message;
using ts::Array;
using ts::P;

namespace {

class Checkpoints : public InFolder {};

struct Layer {
  Array w, b;
};
struct State {
  std::vector<Layer> layers;
  std::map<std::string, Array> more;
  Array step;
};

State drawn() {
  const Array key = ts::random::key(7);
  const auto draw = [&](int i, const ts::Shape& shape) {
    return ts::random::normal(ts::random::fold_in(key, i), shape);
  };
  State s{{{draw(0, {8, 16}), draw(1, {16})}, {draw(2, {16, 8}), {}}}, {}, Array(3)};
  s.more["scalar"] = draw(3, {});
  s.more["nothing"] = ts::zeros({0, 4});
  s.more["key"] = key;
  return s;
}
State zeros_like(const State& s) {
  return ts::tree::map([](const Array& x) { return ts::abstract(x.dtype(), x.shape()); }, s);
}

using Names = std::vector<std::string>;

}  // namespace

TEST_F(Checkpoints, ComeBackToTheBit) {
  const State s = drawn();
  ts::checkpoint::save(dir, 40, s);
  EXPECT_EQ(names_in(dir), Names{"40"});
  EXPECT_EQ(names_in(dir + "/40"), (Names{"manifest.json", "shards-0-of-1.safetensors"}));
  EXPECT_TRUE(same(ts::checkpoint::restore(dir, s), s));
  EXPECT_TRUE(same(ts::checkpoint::restore(dir, zeros_like(s), {.verify = false}), s));
  EXPECT_EQ(ts::checkpoint::verify(dir, 40), Names{});
  EXPECT_EQ(ts::checkpoint::latest_step(dir), 40);
}

// The object of the same name is unaffected.
TEST_F(Checkpoints, AndTheFunctionOfTheirNameIsThere) {
  const auto f = ts::remat([](Array x) { return ts::sin(x) * x; });
  EXPECT_TRUE(same(f(Array(std::vector<float>{1, 2})),
                   ts::sin(Array(std::vector<float>{1, 2})) * Array(std::vector<float>{1, 2})));
}

TEST_F(Checkpoints, OfEveryDtypeAndOfBareNumbers) {
  std::map<std::string, Array> all;
  for (int i = 0; i < ts::kDTypeCount; ++i) {
    const auto d = static_cast<ts::DType>(i);
    all[std::string(name_of(d))] = ts::array({0, 1, 3, 5, 7}).astype(d);
    all["one " + std::string(name_of(d))] = ts::array(1).astype(d);
  }
  all["weak"] = Array(0.1);
  all["weak int"] = Array(-7);
  all["weak long"] = Array(std::int64_t{1} << 40);
  all["truth"] = Array(true);
  all["nan"] = Array(std::vector<float>{std::numeric_limits<float>::quiet_NaN(), -0.0f});
  ts::checkpoint::save(dir, 0, all);
  const auto back = ts::checkpoint::restore(dir, all);
  EXPECT_TRUE(same(back, all));
  // It keeps all its bits until it meets a dtype.
  EXPECT_EQ(back.at("weak").item<double>(), 0.1);
  EXPECT_TRUE(same(ts::checkpoint::restore_arrays(dir), all));
}

TEST_F(Checkpoints, AreFilesThatOthersRead) {
  const State s = drawn();
  ts::checkpoint::save(dir, 1, s);
  const ts::SafeTensors file = ts::load_safetensors(dir + "/1/shards-0-of-1.safetensors");
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{"step", "1"}}));
  EXPECT_TRUE(same(file.tensors.at("layers.0.w"), s.layers[0].w));
  EXPECT_TRUE(same(file.tensors.at("more.scalar"), s.more.at("scalar")));
  // The name is that of a shard, which is given by its ranges.
  const Array x = ts::arange(16).reshape(4, 4);
  ts::checkpoint::save(dir, 2, ts::device_put(x, ts::Mesh({{"i", 2}}), P(ts::none, "i")));
  const auto parts = ts::load_safetensors(dir + "/2/shards-0-of-1.safetensors").tensors;
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_TRUE(same(parts.at("value[0:4,2:4]"), ts::device_get(x(ts::all, ts::range(2, 4)))));
}

TEST_F(Checkpoints, GoFromAnySpecToAnyOther) {
  const Array x = ts::arange(8 * 8 * 4).reshape(8, 8, 4);
  const ts::Mesh square({{"a", 2}, {"b", 4}}), line({{"a", 8}});
  const std::vector<ts::Sharding> places{{square, P()},
                                         {square, P("a")},
                                         {square, P("b", "a")},
                                         {square, P(ts::none, "b")},
                                         {square, P(ts::none, ts::none, {"a"})},
                                         {square, P({"b", "a"})},
                                         {line, P("a")},
                                         {line, P(ts::none, "a")},
                                         ts::Sharding(ts::Device{3})};
  std::int64_t step = 0;
  for (const ts::Sharding& from : places) {
    ts::checkpoint::save(dir, ++step, ts::device_put(x, from));
    EXPECT_EQ(ts::checkpoint::info(dir, step).bytes, 8 * 8 * 4 * 4u) << from;
    for (const ts::Sharding& to : places)
      for (const bool verify : {true, false}) {
        const Array like = ts::device_put(ts::zeros({8, 8, 4}, ts::i32), to);
        const Array back = ts::checkpoint::restore(dir, like, {.verify = verify});
        EXPECT_TRUE(same(back, x)) << from << " to " << to;
        EXPECT_TRUE(back.sharding() == to) << back.sharding() << " for " << to;
      }
  }
}

TEST_F(Checkpoints, OfDrawnShapesGoFromDrawnSpecsToDrawnSpecs) {
  std::mt19937 draw(5);
  const auto one_of = [&](std::size_t n) { return static_cast<std::size_t>(draw() % n); };
  const std::vector<ts::DType> dtypes{ts::f32, ts::u8, ts::c128, ts::bool_, ts::bf16};
  // Each axis shards a dimension or none.
  const auto drawn_spec = [&](int rank) {
    std::vector<std::vector<std::string>> dims(static_cast<std::size_t>(rank) + 1);
    for (const char* axis : {"c", "a", "b"}) dims[one_of(dims.size())].push_back(axis);
    dims.pop_back();
    return ts::PartitionSpec(std::vector<ts::PartitionSpec::Dim>(dims.begin(), dims.end()));
  };
  std::vector<ts::Device> devices = ts::devices();
  for (int k = 0; k < 40; ++k) {
    ts::Shape shape;
    for (std::size_t d = one_of(5); d > 0; --d)
      shape.push_back(8 * static_cast<std::int64_t>(one_of(4)));
    const ts::DType dtype = dtypes[one_of(dtypes.size())];
    const Array x = (ts::arange(shape.count()) % 251).reshape(shape).astype(dtype);
    std::shuffle(devices.begin(), devices.end(), draw);
    const ts::Sharding from(ts::Mesh({{"a", 2}, {"b", 2}, {"c", 2}}, devices),
                            drawn_spec(shape.rank())),
        to(ts::Mesh({{"c", 2}, {"a", 4}, {"b", 1}}), drawn_spec(shape.rank()));
    ts::checkpoint::save(dir, k, ts::device_put(x, from));
    const Array like = ts::device_put(ts::zeros(shape, dtype), to);
    for (const bool verify : {true, false})
      EXPECT_TRUE(same(ts::checkpoint::restore(dir, like, {.verify = verify}), x))
          << shape << " " << from << " to " << to;
  }
}

TEST_F(Checkpoints, GoWhereMeshAndSpecsSay) {
  const State s = drawn();
  ts::checkpoint::save(dir, 0, s);
  const ts::Mesh mesh({{"data", 4}});
  const ts::SpecTree specs = ts::specs(s, {{"layers/*/w", P(ts::none, "data")}, {"**", P()}});
  const State back = ts::checkpoint::restore(dir, zeros_like(s), {.mesh = mesh, .specs = specs});
  EXPECT_TRUE(same(back, s));
  EXPECT_EQ(back.layers[1].w.sharding(), ts::Sharding(mesh, P(ts::none, "data")));
  // If only a mesh is given, the shardings are the saved ones, on its devices.
  ts::checkpoint::save(dir, 1, back);
  const ts::Mesh fewer({{"data", 2}});
  const State again = ts::checkpoint::restore(dir, zeros_like(s), {.mesh = fewer});
  EXPECT_TRUE(same(again, s));
  EXPECT_EQ(again.layers[1].w.sharding(), ts::Sharding(fewer, P(ts::none, "data")));
  const auto arrays = ts::checkpoint::restore_arrays(dir, {.mesh = fewer, .only = {"layers/**"}});
  EXPECT_EQ(arrays.size(), 3u);
  EXPECT_EQ(arrays.at("layers/0/w").sharding(), ts::Sharding(fewer, P(ts::none, "data")));
}

// Each byte of a step is written once, and of a large sharded array only one device's rows are
// read.
TEST_F(Checkpoints, AreWrittenOnceAndReadInPart) {
  const std::int64_t rows = 4096, columns = 512;  // 8 MiB
  const ts::Mesh mesh({{"i", 8}});
  const Array x = ts::arange(rows * columns).reshape(rows, columns);
  ts::checkpoint::save(dir, 0, std::pair(ts::device_put(x, mesh, P()), Array(std::vector<int>{1})));
  EXPECT_LT(fs::file_size(dir + "/0/shards-0-of-1.safetensors"), 4u * rows * columns + 1000);
  const auto read = [&](const std::vector<std::string>& only, const ts::Sharding& to, bool verify) {
    const std::uint64_t before = ts::detail::checkpoint_bytes_read();
    const auto back =
        ts::checkpoint::restore(dir, std::pair(ts::device_put(x, to), Array(std::vector<int>{1})),
                                {.only = only, .verify = verify});
    EXPECT_TRUE(same(back.first, x));
    return ts::detail::checkpoint_bytes_read() - before;
  };
  EXPECT_EQ(read({"0"}, {mesh, P("i")}, false), 4u * rows * columns);
  EXPECT_EQ(read({"0"}, {mesh, P(ts::none, "i")}, false), 4u * rows * columns);
  EXPECT_LT(read({"0"}, {mesh, P("i")}, true), 4u * rows * columns + 1000);
  EXPECT_EQ(read({"1"}, {mesh, P("i")}, false), 4u);
}

TEST_F(Checkpoints, InPartByPatterns) {
  State s = drawn();
  ts::checkpoint::save(dir, 0, s);
  State other = zeros_like(s);
  other.step = Array(99);
  other.more["new"] = ts::ones({2});
  State back = ts::checkpoint::restore(dir, other,
                                       {.only = {"layers/**", "more/*"}, .may_lack = {"more/new"}});
  EXPECT_EQ(back.step.item<int>(), 99);
  EXPECT_TRUE(same(back.layers[0].w, s.layers[0].w));
  EXPECT_TRUE(same(back.more.at("new"), ts::ones({2})));
  // Parts of the tree may have other names in the checkpoint.
  const Layer first =
      ts::checkpoint::restore(dir, s.layers[0], {.only = {"**"}, .renamed = {{"", "layers/0"}}});
  EXPECT_TRUE(same(first.w, s.layers[0].w));
  struct Wrapped {
    std::vector<Layer> encoder;
  };
  const Wrapped w = ts::checkpoint::restore(dir, Wrapped{s.layers},
                                            {.only = {"**"}, .renamed = {{"encoder", "layers"}}});
  EXPECT_TRUE(same(w.encoder[1].w, s.layers[1].w));
}

TEST_F(Checkpoints, SayWhatTheyAre) {
  const ts::Mesh mesh({{"i", 2}});
  ts::checkpoint::save(
      dir, 5, std::map<std::string, Array>{{"x", ts::device_put(ts::ones({4}), mesh, P("i"))}},
      {.metrics = {{"loss", 0.25}, {"odd", std::numeric_limits<double>::infinity()}},
       .metadata = {{"seed", "7"}}});
  const ts::CheckpointInfo info = ts::checkpoint::info(dir, 5);
  EXPECT_EQ(info.step, 5);
  EXPECT_EQ(info.processes, 1);
  EXPECT_EQ(info.bytes, 16u);
  EXPECT_EQ(info.metrics.at("loss"), 0.25);
  EXPECT_EQ(info.metrics.at("odd"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(info.metadata, (std::map<std::string, std::string>{{"seed", "7"}}));
  ASSERT_EQ(info.leaves.size(), 1u);
  EXPECT_EQ(info.leaves[0].path, "x");
  EXPECT_EQ(info.leaves[0].spec, P("i"));
  EXPECT_EQ(info.leaves[0].blocks, 2u);
  ASSERT_EQ(info.files.size(), 1u);
  EXPECT_EQ(info.files[0].name, "shards-0-of-1.safetensors");
}

// The next calls donate the state, but the saved state is that at the time of the save.
TEST_F(Checkpoints, AreOfTheMomentWhateverIsDonatedThen) {
  const auto step = ts::jit([](Array x) { return x + 1.0f; });
  Array x = ts::device_put(ts::zeros({1 << 20}), ts::Mesh({{"i", 4}}), P("i"));
  for (int i = 0; i < 8; ++i) {
    ts::CheckpointSaving saving = ts::checkpoint::save_async(dir, i, x);
    for (int k = 0; k < 3; ++k) x = step(std::move(x));
    saving.wait();
    EXPECT_TRUE(saving.is_done());
  }
  for (int i = 0; i < 8; ++i)
    EXPECT_TRUE(same(ts::checkpoint::restore(dir, ts::abstract(ts::f32, {1 << 20}), {.step = i}),
                     ts::full({1 << 20}, 3.0f * static_cast<float>(i))))
        << i;
}

TEST_F(Checkpoints, AreReplacedWhereThatIsAskedFor) {
  ts::checkpoint::save(dir, 7, ts::ones({3}));
  EXPECT_EQ(plain(message<ts::IoError>([&] { ts::checkpoint::save(dir, 7, ts::zeros({3})); })),
            "checkpoint::save: DIR has a step 7 already\n"
            "  rule: a step that was made is not written over\n"
            "  try: {.overwrite = true} puts this one in its place");
  EXPECT_TRUE(same(ts::checkpoint::restore(dir, ts::zeros({3})), ts::ones({3})));
  ts::checkpoint::save(dir, 7, ts::zeros({3}), {.overwrite = true});
  EXPECT_TRUE(same(ts::checkpoint::restore(dir, ts::ones({3})), ts::zeros({3})));
  EXPECT_EQ(names_in(dir), Names{"7"});
}

TEST_F(Checkpoints, LeavesWithoutValuesAreNamed) {
  Array given = ts::ones({4});
  ts::jit([](Array x) { return x * 2; }, {.donate = {0}})(given);
  const std::map<std::string, Array> tree{
      {"a", ts::abstract(ts::f32, {2})}, {"b", ts::ones({1})}, {"c", given}};
  const std::string said = message<ts::TraceError>([&] { ts::checkpoint::save(dir, 1, tree); });
  EXPECT_EQ(said.substr(0, said.find("  rule")),
            "checkpoint::save: the tree has leaves without values\n"
            "  - a is " +
                describe(tree.at("a")) +
                ", which has no values\n"
                "  - c is " +
                describe(given) + ", which was given away\n");
  ts::jit([&](Array x) {
    EXPECT_NE(message<ts::TraceError>([&] {
                ts::checkpoint::save(dir, 1, x);
              }).find("which has no values before the function is called"),
              std::string::npos);
    return x;
  })(ts::ones({2}));
  EXPECT_EQ(names_in(dir), Names{});
  const std::map<std::string, Array> twice{{"a.b", ts::ones({1})}, {"a/b", ts::ones({1})}};
  EXPECT_EQ(message<ts::TreeError>([&] { ts::checkpoint::save(dir, 1, twice); }),
            "checkpoint::save: two leaves have the name 'a.b'\n"
            "  rule: a file has one tensor a name, and a leaf's name is its path with dots; "
            "'__metadata__' is the file's own\n"
            "  at: a/b\n"
            "  try: rename a key, and leave dots and slashes out of keys");
  EXPECT_EQ(message<ts::ShapeError>([&] { ts::checkpoint::save(dir, -1, twice); }),
            "checkpoint::save: the step is -1\n  rule: steps are numbers from 0 on\n"
            "  try: the number of steps that were done");
}

TEST_F(Checkpoints, TreesThatDoNotFitAreListed) {
  ts::checkpoint::save(dir, 3,
                       std::map<std::string, Array>{
                           {"a", ts::ones({4})}, {"b", ts::ones({2})}, {"c", ts::ones({2})}});
  const std::map<std::string, Array> like{
      {"a", ts::ones({5})}, {"b", ts::ones({2}, ts::i32)}, {"d", ts::ones({2})}};
  EXPECT_EQ(plain(message<ts::TreeError>([&] { ts::checkpoint::restore(dir, like); })),
            "checkpoint::restore: step 3 of DIR does not fit the tree\n"
            "  - a is float32(4,), and in the tree float32(5,)\n"
            "  - b is float32(2,), and in the tree int32(2,)\n"
            "  - d is missing\n"
            "  - c is not in the tree\n"
            "  rule: an array for each leaf, of its dtype and shape\n"
            "  try: build the tree with the settings that it was saved with, or restore a part: "
            "{.only = {\"model/**\"}}");
  EXPECT_NE(message<ts::TreeError>([&] {
              ts::checkpoint::restore(dir, like, {.only = {"x/*", "d"}, .renamed = {{"d", "e"}}});
            }).find("  - d is missing: there is no e\n  - the pattern 'x/*' fits no leaf\n"),
            std::string::npos);
}

TEST_F(Checkpoints, StepsThatAreNotThere) {
  EXPECT_EQ(ts::checkpoint::latest_step(dir + "/none"), std::nullopt);
  EXPECT_EQ(plain(message<ts::IoError>([&] { ts::checkpoint::restore(dir, ts::ones({1})); })),
            "checkpoint::restore: there is no checkpoint in DIR\n"
            "  rule: checkpoints lie in a folder, each step in one of its own\n"
            "  try: check the path; latest_step(dir) says whether there is one");
  for (int i = 0; i < 12; ++i) ts::checkpoint::save(dir, 10 * i, ts::ones({1}));
  // A name that is not a number from 0 on is not a step.
  for (const char* other : {"007", "-1", "best", "1.5", "99999999999999999999"})
    fs::create_directory(dir + "/" + other);
  std::ofstream(dir + "/1000") << "a file";
  EXPECT_EQ(ts::checkpoint::latest_step(dir), 110);
  EXPECT_EQ(plain(message<ts::IoError>(
                [&] { ts::checkpoint::restore(dir, ts::ones({1}), {.step = 7}); })),
            "checkpoint::restore: there is no step 7 in DIR\n"
            "  rule: the last steps that are there are 20, 30, 40, 50, 60, 70, 80, 90, 100, 110\n"
            "  try: take one of these, or leave the step out for the newest");
  EXPECT_EQ(message<ts::ShardingError>(
                [&] { ts::checkpoint::restore(dir, ts::ones({1}), {.specs = P()}); }),
            "checkpoint::restore: there is no mesh for the specs\n"
            "  rule: a spec names axes of a mesh: one that is passed, or that of the scope\n"
            "  try: {.mesh = mesh, ...}, or const auto scope = use_mesh(mesh)");
}

TEST_F(Checkpoints, LeavesThatDoNotDivideAreListed) {
  const std::map<std::string, Array> tree{
      {"a", ts::ones({6})}, {"b", ts::ones({8})}, {"c", ts::ones({})}};
  ts::checkpoint::save(dir, 1, tree);
  const ts::Mesh mesh({{"i", 4}});
  EXPECT_EQ(
      message<ts::ShardingError>(
          [&] { ts::checkpoint::restore(dir, tree, {.mesh = mesh, .specs = P("i")}); }),
      "checkpoint::restore: arrays do not divide over the mesh\n"
      "  - a: an array of shape (6,) does not divide for NamedSharding(Mesh('i': 4), P('i'))\n"
      "  - c: an array of shape () has no dimension 0 for NamedSharding(Mesh('i': 4), P('i'))\n"
      "  rule: each dimension is a multiple of the devices along the axes that cut it\n"
      "  try: cut another dimension, or leave it whole: {.specs = P()}");
}

// Objects that were moved from and are used anyway: each class that keeps its state behind a
// pointer throws an error that says so, and none crashes.
#include <tessera/tessera.h>

#include "message.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ts = tessera;
using ts::Array;

namespace {

struct Case {
  std::string name;
  std::function<void()> use;
  std::string says;  // the first line
};

// Uses an object that was moved from, and checks that the object with its contents still works.
template <class T, class Use>
std::function<void()> moved(T made, Use use) {
  return [made = std::make_shared<T>(std::move(made)), use] {
    T other = std::move(*made);
    EXPECT_NO_THROW(use(other));
    use(*made);
  };
}

std::string moved_away(const std::string& what) {
  return what +
         ": it is used after it was moved away: std::move, or a move into a container, left "
         "nothing "
         "in it";
}

class Moved : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "tessera-moved-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir); }
  std::string dir;
};

}  // namespace

TEST_F(Moved, ObjectsSayThatTheyWereMovedAway) {
  const Array x = ts::ones({2});
  const auto square = [](Array v) { return v * v; };
  const auto call = [x](const auto& f) { (void)f(x); };
  std::ofstream(dir + "/x-idx1-ubyte", std::ios::binary) << std::string("\0\0\x08\1\0\0\0\2ab", 10);
  const ts::Mesh mesh({{"i", 1}});
  std::vector<Case> all;
  const auto add = [&](const std::string& name, auto made, auto use, const std::string& says = "") {
    all.push_back({name, moved(std::move(made), use), says.empty() ? moved_away(name) : says});
  };

  add("jit", ts::jit(square), call);
  add("pmap", ts::pmap(square, {.axis_name = "i"}), [](const auto& f) {
    (void)f(ts::ones({1, 2}));
  });
  add("shard_map",
      ts::shard_map(square, {.mesh = mesh, .in_specs = ts::P("i"), .out_specs = ts::P("i")}), call);
  add("the program", ts::jit(square).lower(x), [](const auto& l) { (void)l.ir(); });
  add("the program", ts::jit(square).lower(x).compile(), call);
  add("autoshard", ts::autoshard(square, {.mesh = mesh}), call);
  add("custom_jvp",
      ts::custom_jvp(square, [](Array v, Array t) { return std::pair(v * v, 2 * v * t); }), call);
  add("custom_vjp",
      ts::custom_vjp(
          square, [](Array v) { return std::pair(v * v, v); },
          [](Array v, Array ct) { return 2 * v * ct; }),
      call);
  add("the derivative", ts::linearize(square, x).second, call);
  add("the derivative", ts::vjp(square, x).second, call);
  add(
      "load_stablehlo",
      ts::load_stablehlo_text("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                              "  return %x : tensor<2xf32>\n}\n"),
      [x](const auto& f) { (void)f(x); },
      "load_stablehlo: this function holds nothing: it was never loaded, or it was moved away");
  add("Optimizer", ts::optim::sgd(0.1), [x](const auto& o) { (void)o.init(x); });
  add(
      "Optimizer", ts::optim::sgd(0.1),
      [x](const auto& o) { (void)o.update(x, ts::optim::sgd(0.1).init(x), x); },
      moved_away("Optimizer::update"));
  add("Optimizer", ts::optim::sgd(0.1), [](const auto& o) { (void)ts::optim::chain({o}); });
  add("TreeDef", ts::tree::structure(std::vector<Array>{x, x}),
      [](const ts::TreeDef& t) { (void)t.paths(); });
  add("TreeDef", ts::tree::structure(std::vector<Array>{x, x}),
      [](const ts::TreeDef& t) { (void)t.leaf_count(); });
  add("IdxFile", ts::data::IdxFile(dir + "/x-idx1-ubyte"), [](const auto& f) { (void)f.shape(); });
  add(
      "IdxFile", ts::data::IdxFile(dir + "/x-idx1-ubyte"), [](const auto& f) { (void)f.rows({0}); },
      moved_away("IdxFile"));
  add("EpochBatches", ts::data::EpochBatches(4, 2), [](auto& b) { (void)b.next(); });
  add("EpochBatches", ts::data::EpochBatches(4, 2), [](auto& b) { (void)b.position(); });
  add("CheckpointSaving", ts::checkpoint::save_async(dir + "/saving", 1, x),
      [](auto& s) { s.wait(); });
  add("CheckpointSaving", ts::checkpoint::save_async(dir + "/saving", 2, x),
      [](auto& s) { (void)s.is_done(); });
  const auto manager = [&](auto use, const char* who = "CheckpointManager") {
    add("CheckpointManager", ts::CheckpointManager(dir + "/run"), use, moved_away(who));
  };
  using Manager = ts::CheckpointManager;
  manager([x](Manager& m) { m.save(1, x, {.overwrite = true}); }, "CheckpointManager::save");
  manager([](Manager& m) { (void)m.should_save(1); });
  manager([x](Manager& m) { (void)m.restore(x); });
  manager([](Manager& m) { m.wait(); });
  manager([](Manager& m) { (void)m.directory(); });
  manager([](Manager& m) { (void)m.all_steps(); });
  manager([](Manager& m) { (void)m.latest_step(); });
  manager([](Manager& m) { (void)m.best_step(); });

  for (const Case& c : all) {
    const std::string text = test::message([&] { c.use(); });
    EXPECT_EQ(text.substr(0, text.find('\n')), c.says) << c.name;
  }
}

// An index still has its array: moving it copies it.
TEST(MovedIndex, StillChooses) {
  const Array x = ts::array({1, 2, 3});
  ts::AxisIndex index(ts::array({2, 0}));
  ts::AxisIndex other(std::move(index));
  EXPECT_EQ(x[other].to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(x[index].to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 1}));
  other = std::move(index);
  EXPECT_EQ(index.array().shape(), ts::Shape({2}));
}

TEST_F(Moved, TheWholeText) {
  ts::CheckpointManager made(dir);
  const ts::CheckpointManager other(std::move(made));
  EXPECT_EQ(
      test::message([&] { made.save(1, ts::ones({3})); }),
      "CheckpointManager::save: it is used after it was moved away: std::move, or a move into a "
      "container, left nothing in it\n"
      "  rule: what an object holds is in the one that it was moved to\n"
      "  try: use what it was moved to");
}

// An object that is assigned to works again; one without contents stays empty.
TEST_F(Moved, ObjectsMayBeAssignedTo) {
  ts::CheckpointSaving none, saving = ts::checkpoint::save_async(dir, 1, ts::ones({3}));
  none.wait();
  EXPECT_TRUE(none.is_done());
  none = std::move(saving);
  none.wait();
  EXPECT_EQ(test::message([&] { saving.wait(); }).substr(0, 16), "CheckpointSaving");
  saving = ts::checkpoint::save_async(dir, 2, ts::ones({3}));
  saving.wait();
  EXPECT_EQ(ts::checkpoint::all_steps(dir), (std::vector<std::int64_t>{1, 2}));
  ts::CheckpointManager made(dir + "/run"), other(std::move(made));
  made = ts::CheckpointManager(dir + "/more");
  EXPECT_EQ(made.directory(), dir + "/more");
  Array x = ts::ones({2});
  const Array y = std::move(x);
  EXPECT_NE(test::message([&] { (void)(x + y); }).find("moved from"), std::string::npos);
  ts::Mesh mesh({{"i", 1}});
  const ts::Mesh kept = std::move(mesh);
  EXPECT_TRUE(mesh.empty());
  EXPECT_NE(test::message([&] { (void)ts::Sharding(mesh, ts::P("i")); }), "nothing thrown");
}

// Programs for several devices that JAX exported, with Shardy and with its older partitioner:
// shard_map along all axes and along some, nested, with every collective, checked and unchecked.
// The values are JAX's (exported/maps.py).
#include "stablehlo/on_eight.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace ts = tessera;
using ts::Array;

namespace {

struct Golden {
  std::string name, text;
  std::vector<Array> arguments, results;
};

// Reads a line such as "float32[8,4] 0.0 0.125 ...".
Array array_of(const std::string& line) {
  const std::size_t open = line.find('['), close = line.find(']');
  std::stringstream extents(line.substr(open + 1, close - open - 1)),
      elements(line.substr(close + 1));
  std::vector<std::int64_t> shape;
  for (std::string extent; std::getline(extents, extent, ',');) shape.push_back(std::stoll(extent));
  std::vector<double> values;
  for (double x; elements >> x;) values.push_back(x);
  const Array all(values, ts::Shape(shape.begin(), shape.end()));
  return all.astype(line.starts_with("float32") ? ts::f32 : ts::i32);
}

std::vector<Golden> goldens() {
  std::vector<Golden> all;
  std::ifstream file(TESSERA_TEST_DIR "/stablehlo/exported/maps.mlir");
  Golden now;
  for (std::string line; std::getline(file, line);) {
    if (line == "// -----") {
      all.push_back(std::move(now));
      now = {};
    } else if (line.starts_with("// argument: ")) {
      now.arguments.push_back(array_of(line.substr(13)));
    } else if (line.starts_with("// result: ")) {
      now.results.push_back(array_of(line.substr(11)));
    } else if (line.starts_with("// ")) {
      now.name = line.substr(3);
    } else {
      now.text += line + "\n";
    }
  }
  return all;
}

const Golden& golden(const std::string& name) {
  static const std::vector<Golden> all = goldens();
  for (const Golden& g : all)
    if (g.name == name) return g;
  throw std::out_of_range(name);
}

void expect_close(const Array& got, const Array& want, const std::string& name) {
  EXPECT_EQ(got.dtype(), want.dtype()) << name;
  ASSERT_EQ(got.shape(), want.shape()) << name;
  if (ts::is_integer(want.dtype()))
    EXPECT_TRUE(ts::array_equal(got, want).item<bool>()) << name << got << want;
  else
    EXPECT_TRUE(ts::allclose(got, want, 2e-6, 2e-6).item<bool>()) << name << got << want;
}

using Maps = OnEight;

TEST_F(Maps, GiveTheNumbersOfJax) {
  const std::vector<Golden> all = goldens();
  ASSERT_EQ(all.size(), 50u);
  for (const Golden& g : all)
    for (const bool shardings : {true, false}) {
      std::vector<Array> got;
      try {
        got = ts::load_stablehlo_text(g.text, {.shardings = shardings})(g.arguments);
      } catch (const ts::Error& e) {
        ADD_FAILURE() << g.name << "\n" << e.what();
        continue;
      }
      ASSERT_EQ(got.size(), g.results.size()) << g.name;
      for (std::size_t i = 0; i < got.size(); ++i)
        expect_close(got[i], g.results[i], g.name + ", result " + std::to_string(i));
    }
}

// JAX took the gradient of the same program before exporting it.
TEST_F(Maps, HaveDerivatives) {
  for (const std::string partitioner : {"shardy: ", "gspmd: "}) {
    const Golden &forward = golden(partitioner + "loss_along_some_axes"),
                 &backward = golden(partitioner + "grad_of_some_axes");
    const auto f = ts::load_stablehlo_text(forward.text);
    const auto loss = [&](Array b) { return f(forward.arguments[0], b)[0]; };
    expect_close(ts::grad(loss)(forward.arguments[1]), backward.results[0], partitioner);
  }
}

// Along axes that are not manual, the partitioner divides the work.
TEST_F(Maps, AreDividedAlongTheOtherAxes) {
  const Golden& g = golden("shardy: some_axes_constrained");
  const Array y = ts::load_stablehlo_text(g.text)(g.arguments)[0];
  EXPECT_EQ(y.shards().size(), 8u);
}

// The body of a loop is a function of the module, which also knows the devices.
TEST_F(Maps, KeepCollectivesInLoops) {
  using ts::P;
  const ts::Mesh mesh = ts::make_mesh({8}, {"x"});
  const auto f = ts::shard_map(
      [](Array rows) {
        const auto turn = [](Array sum, Array row) {
          const Array all = sum + ts::psum(row, "x") * ts::axis_index("x");
          return std::pair(all, all);
        };
        return ts::scan(turn, rows[0] * 0, rows).second;
      },
      {.mesh = mesh, .in_specs = {P(ts::none, "x")}, .out_specs = {P(ts::none, "x")}});
  const Array x = ts::arange(48.0f).reshape({3, 16}), want = f(x);
  const std::string text = ts::stablehlo_text(f, x);
  EXPECT_NE(text.find("func.func private @tessera.scan.body"), std::string::npos);
  const Array got = ts::load_stablehlo_text(text)(x)[0];
  EXPECT_EQ(got.to_vector<float>(), want.to_vector<float>());
}

}  // namespace

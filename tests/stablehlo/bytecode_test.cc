// Portable artifacts and files of jax.export give the functions that the text gives;
// exported/make.py made them.
#include <tessera/stablehlo.h>
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace {

namespace ts = tessera;
using ts::Array;

std::string file(const std::string& name) {
  return std::string(TESSERA_TEST_DIR) + "/stablehlo/exported/" + name;
}

std::string contents(const std::string& name) {
  std::ifstream in(file(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

constexpr const char* kLoaded = "it was loaded";

// The error for a file, without the line that names this source file.
std::string message(const std::string& path) {
  try {
    ts::load_stablehlo(path);
  } catch (const ts::IoError& e) {
    std::string text = e.what();
    if (const std::size_t line = text.find("\n  from: "); line != text.npos)
      text.erase(line, text.find('\n', line + 1) - line);
    return text;
  }
  return kLoaded;
}

// A file with these bytes, which exists as long as this object.
struct Written {
  std::string path = testing::TempDir() + "bytecode_test.mlirbc";
  explicit Written(const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  ~Written() { std::filesystem::remove(path); }
};

constexpr const char* kFunctions[] = {"dense",     "loop",    "constants", "scattered",
                                      "convolved", "factors", "sharded",   "sharded_by_tiles",
                                      "mapped"};

}  // namespace

TEST(Bytecode, IsTheProgramOfItsText) {
  for (const std::string name : kFunctions) {
    const std::string text = ts::stablehlo_program(file(name + ".mlir"));
    EXPECT_EQ(ts::stablehlo_program(file(name + ".mlirbc")), text) << name;
    EXPECT_EQ(ts::stablehlo_program(file(name + ".jaxexport")), text) << name;
  }
  // Up to version 0.14, lists are the data of a tensor.
  EXPECT_EQ(ts::stablehlo_program(file("convolved_0_9.mlirbc")),
            ts::stablehlo_program(file("convolved.mlir")));
}

// Up to eight booleans are one byte, which is no byte for all of them.
TEST(Bytecode, BooleansArePacked) {
  EXPECT_EQ(ts::stablehlo_program(file("booleans.mlirbc")),
            ts::stablehlo_program(file("booleans.mlir")));
}

TEST(Bytecode, ComputesWhatWasExported) {
  const auto f = ts::load_stablehlo(file("constants.mlirbc"));
  ASSERT_EQ(f.inputs().size(), 1u);
  EXPECT_EQ(f.inputs()[0].name, "x");
  EXPECT_EQ(f.inputs()[0].shape, ts::Shape({6}));
  // x * i + cumsum(x) - 2.5
  EXPECT_EQ(f(ts::ones({6}))[0].to_vector<float>(),
            (std::vector<float>{-1.5f, 0.5f, 2.5f, 4.5f, 6.5f, 8.5f}));
}

// If there are as many devices, the results have the shardings of the exported function; otherwise
// they are whole.
TEST(Exported, ShardingsAreKept) {
  const int before = ts::device_count();
  ts::set_device_count(4);
  const Array a = ts::sin(ts::arange(32.0)).reshape({8, 4}),
              b = ts::cos(ts::arange(32.0)).reshape({4, 8}), c = ts::matmul(a, b);
  const Array want[] = {2 * c, ts::sum(ts::tanh(c), 0)};
  for (const std::string name : {"sharded", "sharded_by_tiles"})
    for (const char* form : {".mlir", ".mlirbc", ".jaxexport"})
      for (const bool kept : {true, false}) {
        const auto y = ts::load_stablehlo(file(name + form), {.shardings = kept})(a, b);
        for (int i = 0; i < 2; ++i) {
          EXPECT_TRUE(ts::allclose(y[i], want[i], 1e-5).item<bool>()) << name << form << i;
          EXPECT_EQ(y[i].shards().size(), kept ? 4u : 1u) << name << form << i;
          for (const auto& s : y[i].shards())
            EXPECT_EQ(s.data.shape(0), want[i].shape(0) / (kept ? 2 : 1)) << name << form << i;
        }
      }
  // The module contains a per-device program that adds rows over "x".
  for (const char* form : {".mlir", ".mlirbc", ".jaxexport"}) {
    const auto y = ts::load_stablehlo(file(std::string("mapped") + form))(a, b);
    const Array sums = want[0](ts::range(0, 4)) + want[0](ts::range(4, 8));
    EXPECT_TRUE(ts::allclose(y[0], sums, 1e-5).item<bool>()) << form;
    EXPECT_TRUE(ts::allclose(y[1], want[1], 1e-5).item<bool>()) << form;
  }
  ts::set_device_count(before);
}

// Groups given by axes of a mesh and by a part of one, and collectives that are started in one
// place and waited for in another.
TEST(Bytecode, GroupsOfAMeshAndWhatBegins) {
  const int before = ts::device_count();
  ts::set_device_count(8);
  using Numbers = std::vector<std::int64_t>;
  const auto of = [](const std::string& name, std::int64_t devices) {
    const Array x = (ts::arange(2 * devices) + 1).astype(ts::i64).reshape({devices, 2});
    return ts::load_stablehlo(file(name))(x)[0];
  };
  {
    const Array grouped = of("grouped.mlirbc", 8);
    for (const int d : {0, 1, 4, 5})
      EXPECT_EQ(grouped(d).to_vector<std::int64_t>(), (Numbers{1, 2, 3, 4, 9, 10, 11, 12})) << d;
    for (const int d : {2, 3, 6, 7})
      EXPECT_EQ(grouped(d).to_vector<std::int64_t>(), (Numbers{5, 6, 7, 8, 13, 14, 15, 16})) << d;
    const Array begun = of("begun.mlirbc", 4);
    for (int d = 0; d < 4; ++d)
      EXPECT_EQ(begun(d).to_vector<std::int64_t>(), (Numbers{1, 2, 3, 4, 5, 6, 7, 8})) << d;
    // Device 2 sends; the first device of each pair gets the pair's sum.
    const Array rooted = of("rooted.mlirbc", 4);
    for (int d = 0; d < 4; ++d)
      EXPECT_EQ(rooted(d).to_vector<std::int64_t>(), (Numbers{14, 18, 0, 0, 22, 26, 0, 0})) << d;
  }
  ts::set_device_count(before);
}

// The product of LAPACK's factors must be the matrix that they were computed from.
TEST(Exported, LinearAlgebraIsOurs) {
  namespace L = ts::linalg;
  const Array a = ts::array({{2.0, 1.0, 0.5, -1.0},
                             {0.25, 3.0, -0.5, 1.0},
                             {-1.0, 0.5, 1.5, 2.0},
                             {1.0, -2.0, 0.75, -1.0}}),
              b = ts::array({{1.0, 0.0, 2.0, 1.0},
                             {3.0, -1.0, 0.5, 0.0},
                             {0.0, 1.0, -2.0, 0.25},
                             {-1.0, 2.0, 1.0, 0.5}});
  const Array definite = ts::matmul(a, ts::transpose(a)) + 4.0 * ts::eye(4), z = ts::complex(a, b);
  const Array want[] = {L::cholesky(definite),
                        a,
                        a(ts::all, ts::range(0, 2)),
                        z[ts::range(0, 3)],
                        a[ts::range(0, 3)],
                        L::svdvals(b),
                        definite,
                        L::eigvalsh(definite),
                        ts::zeros({4, 4}, ts::c64),
                        L::solve(a, b),
                        L::inv(z),
                        L::det(a),
                        L::solve_triangular(definite, b, {.lower = true, .trans = 1}),
                        ts::fft::rfft(b),
                        ts::fft::ifft2(z)};
  const auto expect_near = [&](const std::string& name, const std::vector<Array>& wanted) {
    const std::vector<Array> got = ts::load_stablehlo(file(name))(a, b);
    ASSERT_EQ(got.size(), wanted.size()) << name;
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].dtype(), wanted[i].dtype()) << name << i;
      EXPECT_LE(ts::max(ts::abs(got[i] - wanted[i])).item<double>(), 2e-5) << name << i;
    }
  };
  const std::vector<Array> all(std::begin(want), std::end(want));
  for (const char* name : {"factors.mlir", "factors.jaxexport"}) expect_near(name, all);
  // JAX 0.4 writes these calls differently.
  std::vector<Array> older(all.begin(), all.begin() + 8);
  older.insert(older.end(), all.begin() + 9, all.begin() + 13);
  expect_near("factors_0_4.jaxexport", older);
}

TEST(Bytecode, NamesArgumentsAsItsTextDoes) {
  for (const std::string name : kFunctions)
    EXPECT_EQ(ts::load_stablehlo(file(name + ".mlirbc")).inputs(),
              ts::load_stablehlo(file(name + ".mlir")).inputs())
        << name;
  EXPECT_EQ(ts::load_stablehlo(file("dense.mlir")).inputs()[1].name, "w");
}

TEST(Exported, TakesTheArgumentsThatItDoesNotUse) {
  const auto f = ts::load_stablehlo(file("unused.jaxexport"));
  ASSERT_EQ(f.inputs().size(), 3u);
  EXPECT_EQ(f.inputs()[1].dtype, ts::i32);
  EXPECT_EQ(f.inputs()[1].shape, ts::Shape({4}));
  EXPECT_EQ(f(ts::ones({2, 3}), ts::zeros({4}, ts::i32), 3.0f)[0].to_vector<float>(),
            std::vector<float>(6, 7.0f));
}

TEST(Exported, TakesSeveralArgumentsThatItDoesNotUse) {
  const auto f = ts::load_stablehlo(file("unused_two.jaxexport"));
  ASSERT_EQ(f.inputs().size(), 4u);
  EXPECT_EQ(f.inputs()[0].shape, ts::Shape({2, 3}));
  EXPECT_EQ(f.inputs()[2].dtype, ts::i32);
  EXPECT_EQ(f(ts::ones({2, 3}), ts::ones({3}), ts::zeros({4}, ts::i32), 3.0f)[0].to_vector<float>(),
            std::vector<float>(3, 2.0f));
}

TEST(Exported, ForSeveralPlatformsRunsOnThisOne) {
  const auto f = ts::load_stablehlo(file("platforms.jaxexport"));
  EXPECT_EQ(f.inputs().size(), 1u);
  EXPECT_EQ(f(ts::zeros({3}))[0].to_vector<float>(), std::vector<float>(3, 0.0f));
  const std::string text = message(file("only_tpu.jaxexport"));
  EXPECT_NE(text.find("it is exported for 'tpu', 'cuda', and not for 'cpu'"), std::string::npos)
      << text;
}

TEST(Bytecode, ThatIsCutOffIsAnErrorOrTheModule) {
  const std::string whole = contents("loop.mlirbc");
  ASSERT_GT(whole.size(), 500u);
  for (std::size_t n = 4; n < whole.size(); n += 1 + n % 5) {
    const Written cut(whole.substr(0, n));
    const std::string text = message(cut.path);
    EXPECT_NE(text.find("byte "), std::string::npos) << n << ": " << text;
  }
}

TEST(Bytecode, OfAnyBytesIsAnErrorOrAModule) {
  std::mt19937_64 random(7);
  std::size_t errors = 0;
  constexpr int kFiles = 400;
  for (int i = 0; i < kFiles; ++i) {
    std::string bytes = contents(std::string(kFunctions[random() % std::size(kFunctions)]) +
                                 (i % 2 ? ".mlirbc" : ".jaxexport"));
    for (std::uint64_t k = 1 + random() % 3; k-- > 0;)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const Written damaged(bytes);
    errors += message(damaged.path) != kLoaded;
  }
  EXPECT_GT(errors, kFiles / 4u);
}

TEST(Bytecode, SaysWhatItDoesNotRead) {
  {
    std::string bytes = contents("loop.mlirbc");
    bytes[4] = static_cast<char>(7 << 1 | 1);  // the version
    const Written newer(bytes);
    EXPECT_EQ(message(newer.path),
              "load_stablehlo: " + newer.path +
                  ", byte 5: bytecode of version 7\n  rule: versions 0 to 6 are read\n"
                  "  try: Write it for an older version: jax.export does so for every file.");
  }
  // In a later release, operations may mean something else; 1.22 is the newest known one.
  const std::string of_1_17 = contents("begun.mlirbc");
  const std::size_t release = of_1_17.find("StableHLO_v1.17.0");
  ASSERT_NE(release, std::string::npos);
  for (const auto& [number, shown] : {std::pair("1.23.0", "1.23"), std::pair("2.10.0", "2.10")}) {
    std::string bytes = of_1_17;
    bytes.replace(release + std::string("StableHLO_v").size(), 6, number);
    const Written newer(bytes);
    EXPECT_EQ(message(newer.path),
              "load_stablehlo: " + newer.path + ", byte 23: an artifact of StableHLO " + shown +
                  ", and the newest that is known is 1.22\n"
                  "  rule: artifacts of StableHLO 0.9 to 1.22 are read\n"
                  "  try: Write it for that version: "
                  "jaxlib.mlir.dialects.stablehlo.serialize_portable_artifact(module, '1.22.0').");
  }
  {
    std::string bytes = of_1_17;
    bytes.replace(release + std::string("StableHLO_v").size(), 6, "1.22.0");
    const Written newest(bytes);
    EXPECT_EQ(message(newest.path), kLoaded);
  }
  const Written empty("ML\xefR");
  EXPECT_EQ(message(empty.path), "load_stablehlo: " + empty.path +
                                     ", byte 4: the file ends here, and a number is expected");
}

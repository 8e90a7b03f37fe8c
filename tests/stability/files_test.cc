// The files of earlier versions are read, with the values that were written; and this version writes
// the same bytes as they did. docs/stability.md promises both.
#include "stability/contents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace fs = std::filesystem;
namespace ts = tessera;
using ts::Array;

namespace {

// A folder for each version, named as the first two numbers of the version.
std::vector<std::string> versions() {
  std::vector<std::string> all;
  for (const auto& e : fs::directory_iterator(TESSERA_TEST_DIR "/stability"))
    if (const std::string name = e.path().filename();
        e.is_directory() && name.find_first_not_of("0123456789.") == std::string::npos)
      all.push_back(name);
  std::sort(all.begin(), all.end());
  return all;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// Compares dtypes and all bytes, so that a zero of the other sign is a difference, too.
testing::AssertionResult same(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape())
    return testing::AssertionFailure() << a.dtype() << ts::to_string(a.shape()) << " and "
                                       << b.dtype() << ts::to_string(b.shape());
  const auto bytes = [](const Array& x) {
    const Array whole = ts::device_get(x);
    return ts::dispatch(x.dtype(), [&](auto tag) {
      const auto values = whole.host<decltype(tag)>();
      return std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    });
  };
  if (bytes(a) != bytes(b)) return testing::AssertionFailure() << a << " and " << b;
  return testing::AssertionSuccess();
}

class Files : public testing::TestWithParam<std::string> {
 protected:
  std::string file(const std::string& name) const {
    return std::string(TESSERA_TEST_DIR "/stability/") + GetParam() + "/" + name;
  }
};

class Written : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "tessera-stability-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }
  fs::path folder;
};

}  // namespace

TEST_P(Files, OfNumPyAreRead) {
  const std::map<std::string, Array> zipped = ts::load_npz(file("arrays.npz"));
  int read = 0;
  for (const auto& [name, x] : stability::arrays()) {
    if (x.dtype() == ts::bf16) continue;
    ++read;
    EXPECT_TRUE(same(ts::load_npy(file(name + ".npy")), x)) << name;
    ASSERT_TRUE(zipped.count(name)) << name;
    EXPECT_TRUE(same(zipped.at(name), x)) << name;
  }
  EXPECT_EQ(read, 16);
  EXPECT_EQ(zipped.size(), 16u);
}

TEST_P(Files, OfSafetensorsAreRead) {
  const ts::SafeTensors found = ts::load_safetensors(file("arrays.safetensors"));
  EXPECT_EQ(found.metadata, stability::kMetadata);
  const std::map<std::string, Array> wanted = stability::arrays();
  EXPECT_EQ(found.tensors.size(), wanted.size());
  for (const auto& [name, x] : wanted) {
    ASSERT_TRUE(found.tensors.count(name)) << name;
    EXPECT_TRUE(same(found.tensors.at(name), x)) << name;
  }
}

TEST_P(Files, OfACheckpointAreRead) {
  const std::string dir = file("checkpoint");
  EXPECT_EQ(ts::checkpoint::latest_step(dir), stability::kStep);
  EXPECT_EQ(ts::checkpoint::verify(dir, stability::kStep), std::vector<std::string>());
  const ts::CheckpointInfo info = ts::checkpoint::info(dir, stability::kStep);
  EXPECT_EQ(info.metrics, stability::kMetrics);
  EXPECT_EQ(info.metadata, stability::kMetadata);
  EXPECT_EQ(info.processes, 1);

  const stability::State saved = stability::state(), like = stability::like();
  EXPECT_EQ(info.leaves.size(), ts::tree::leaves(saved).size() - 1);  // an empty leaf is skipped
  const std::vector<std::string> paths = ts::tree::paths(saved);
  // As it was saved, and onto a mesh of other axes.
  for (const ts::Mesh& mesh :
       {ts::Mesh(), ts::Mesh({{"data", 1}, {"model", stability::kDevices}})}) {
    const stability::State found = ts::checkpoint::restore(dir, like, {.mesh = mesh});
    const std::vector<Array> got = ts::tree::leaves(found), wanted = ts::tree::leaves(saved);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].is_empty(), wanted[i].is_empty()) << paths[i];
      if (got[i].is_empty()) continue;
      EXPECT_TRUE(same(got[i], wanted[i])) << paths[i];
    }
    if (mesh.size() > 1) {
      EXPECT_EQ(found.layers[0].weight.sharding().spec(), ts::P("data", "model"));
    }
  }
}

TEST_P(Files, OfExportedFunctionsAreRead) {
  for (const stability::Module& module : stability::modules()) {
    SCOPED_TRACE(module.name);
    const ts::LoadedFunction f = ts::load_stablehlo(file(module.name + ".mlir"));
    const std::vector<Array> got = f(module.arguments);
    ASSERT_EQ(got.size(), module.expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (module.tolerance == 0)
        EXPECT_TRUE(same(got[i], module.expected[i])) << "result " << i;
      else
        EXPECT_TRUE(ts::allclose(got[i], module.expected[i], module.tolerance, 0).item<bool>())
            << "result " << i << ": " << got[i] << " and " << module.expected[i];
    }
    for (std::size_t i = 0; i < module.donated.size(); ++i)
      EXPECT_EQ(f.inputs()[i].donated, module.donated[i]) << "argument " << i;
  }
}

// Kernels belong to one build of the library. Those of another build are neither used nor removed.
TEST_P(Files, OfTheCacheOfKernelsAreLeftAlone) {
  std::string name = fs::temp_directory_path() / "tessera-stability-XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  fs::copy(file("kernels"), name, fs::copy_options::recursive);
  const auto kernels = [&] {
    std::map<std::string, std::string> all;
    for (const auto& e : fs::recursive_directory_iterator(name))
      if (e.path().extension() == ".tsk") all[e.path().filename()] = bytes_of(e.path());
    return all;
  };
  const auto before = kernels();
  ASSERT_EQ(before.size(), 1u);
  const auto variable = [](const char* v) {
    const char* old = std::getenv(v);
    return old ? std::optional<std::string>(old) : std::nullopt;
  };
  const std::optional<std::string> mode = variable("TESSERA_CACHE"),
                                   place = variable("TESSERA_CACHE_DIR");
  ::setenv("TESSERA_CACHE", "on", 1);
  ::setenv("TESSERA_CACHE_DIR", name.c_str(), 1);
  // The function whose kernel the file has, with a constant that no other kernel of a process has.
  const Array got = ts::jit([](Array x) { return 3 * x * x + 987654; })(ts::array({1.0, 2.0}));
  EXPECT_TRUE(same(got, ts::array({987657.0, 987666.0})));
  mode ? ::setenv("TESSERA_CACHE", mode->c_str(), 1) : ::unsetenv("TESSERA_CACHE");
  place ? ::setenv("TESSERA_CACHE_DIR", place->c_str(), 1) : ::unsetenv("TESSERA_CACHE_DIR");
  const auto after = kernels();
  EXPECT_EQ(after.size(), 2u);
  for (const auto& [file, bytes] : before) EXPECT_EQ(after.at(file), bytes);
  fs::remove_all(name);
}

INSTANTIATE_TEST_SUITE_P(OfVersion, Files, testing::ValuesIn(versions()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

// The library says what its headers say; tests/check_recipes.py compares the packages with them, and
// tests/command.py what the command prints.
TEST(Version, IsThatOfTheHeaders) {
  EXPECT_EQ(ts::version(), std::to_string(TESSERA_VERSION_MAJOR) + "." +
                               std::to_string(TESSERA_VERSION_MINOR) + "." +
                               std::to_string(TESSERA_VERSION_PATCH));
}

// Within a minor version, files are written in the same format: these, to the byte.
TEST_F(Written, FilesHaveTheBytesOfThisMinorVersion) {
  const std::string version(ts::version());
  const fs::path golden =
      fs::path(TESSERA_TEST_DIR "/stability") / version.substr(0, version.rfind('.'));
  ASSERT_TRUE(fs::exists(golden))
      << "tests/stability/README.md says how a version's files are made";
  for (const auto& [name, x] : stability::arrays()) {
    if (x.dtype() == ts::bf16) continue;
    ts::save_npy(folder / (name + ".npy"), x);
    EXPECT_EQ(bytes_of(folder / (name + ".npy")), bytes_of(golden / (name + ".npy"))) << name;
  }
  ts::save_safetensors(folder / "arrays.safetensors", {stability::arrays(), stability::kMetadata});
  EXPECT_EQ(bytes_of(folder / "arrays.safetensors"), bytes_of(golden / "arrays.safetensors"));
  ts::checkpoint::save(folder / "checkpoint", stability::kStep, stability::state(),
                       {.metrics = stability::kMetrics, .metadata = stability::kMetadata});
  const std::string shards = "checkpoint/7/shards-0-of-1.safetensors";
  EXPECT_EQ(bytes_of(folder / shards), bytes_of(golden / shards));
}

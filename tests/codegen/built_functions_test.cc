// Inner loops that were compiled when the library was built: all that are listed are there for this
// processor's level, compute the same bits as those that the library's compiler makes now, and leave
// nothing to compile for products of float32. What is not there is compiled when it is asked for.
#include "codegen/kernel/isa.h"
#include "codegen/kernel/jit.h"
#include "codegen/kernel/machine.h"
#include "codegen/kernel/shared_code.h"
#include "codegen/matrix/common.h"
#include "codegen/matrix/micro_kernel.h"
#include "codegen/matrix/packing.h"
#include "codegen/matrix/product.h"

#include <gtest/gtest.h>

#include <stdlib.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

namespace matrix = codegen::matrix;

bool expected_here() {
#ifdef TESSERA_BUILT_FUNCTIONS
  return codegen::host_isa().level.has_value() && !codegen::unoptimized();
#else
  return false;
#endif
}

// A cache on disk that is empty at first.
class EmptyCache {
 public:
  EmptyCache() : mode_(set("TESSERA_CACHE", "on")) {
    char name[] = "/tmp/tessera_built_XXXXXX";
    folder_ = ::mkdtemp(name);
    directory_ = set("TESSERA_CACHE_DIR", folder_.c_str());
  }
  ~EmptyCache() {
    restore("TESSERA_CACHE", mode_);
    restore("TESSERA_CACHE_DIR", directory_);
    std::filesystem::remove_all(folder_);
  }
  std::int64_t files() const {
    std::int64_t n = 0;
    for (const auto& e : std::filesystem::recursive_directory_iterator(folder_))
      n += e.is_regular_file();
    return n;
  }

 private:
  static std::optional<std::string> set(const char* name, const char* value) {
    std::optional<std::string> old;
    if (const char* v = std::getenv(name)) old = v;
    ::setenv(name, value, 1);
    return old;
  }
  static void restore(const char* name, const std::optional<std::string>& value) {
    if (value)
      ::setenv(name, value->c_str(), 1);
    else
      ::unsetenv(name);
  }
  std::string folder_;
  std::optional<std::string> mode_, directory_;
};

// The functions as the library's compiler makes them now, in one module.
std::shared_ptr<const codegen::Machine> compiled_now(
    const std::vector<codegen::SharedFunction>& functions) {
  codegen::MachineRequest request;
  request.key = "functions that are also built";
  request.plan = [&](codegen::Machine&) { return functions.size(); };
  request.emit = [&](const codegen::Machine&, llvm::Module& module, codegen::SymbolNames names) {
    for (std::size_t i = 0; i < functions.size(); ++i) functions[i].emit(module, names[i]);
  };
  return codegen::make_machines({request}).at(0);
}

std::vector<float> numbers(std::size_t n) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<float> x(n);
  for (float& v : x) v = number(random);
  return x;
}

// The result of a tile, with room around it that must not be written.
std::vector<float> result_of(matrix::TileKernel kernel, matrix::Begin begin, matrix::End end,
                             std::int64_t k, std::int64_t lanes) {
  constexpr std::int64_t kTiles = 2, kLine = 300, kRows = 16;
  static const std::vector<float> a = numbers(64 * 64), b = numbers(64 * kLine),
                                  c = numbers(kLine * kRows);
  std::vector<float> result = c;
  matrix::TileArgs args{};
  args.a = a.data();
  args.b = b.data();
  args.c = result.data();
  args.a_step = 64 * sizeof(float);
  args.b_step = kLine * sizeof(float);
  args.c_row = kLine * sizeof(float);
  args.k = k;
  args.tiles = lanes ? 1 : kTiles;
  args.begin = begin;
  args.end = end;
  args.lanes = lanes;
  kernel(&args);
  return result;
}

bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

}  // namespace

TEST(BuiltFunctions, AllThatAreListedAreBuiltForThisLevelAndHaveTheSameBits) {
  std::vector<codegen::SharedFunction> functions;
  std::vector<matrix::Tile> tiles;
  for (int rows = 1; rows <= matrix::most_rows(); ++rows)
    for (int vectors = 1; vectors <= matrix::most_vectors(rows); ++vectors)
      for (bool partial : {false, true})
        for (matrix::ReadA read_a : {matrix::ReadA::by_rows, matrix::ReadA::by_steps}) {
          tiles.push_back({{DType::float32}, rows, vectors, partial, read_a});
          functions.push_back(matrix::tile_function(tiles.back()));
        }
  std::size_t listed = 0;
  for (const codegen::SharedFunction& f : matrix::common_functions()) {
    EXPECT_EQ(codegen::built_function(f.key) != nullptr, expected_here()) << f.key;
    listed += std::any_of(functions.begin(), functions.end(),
                          [&](const codegen::SharedFunction& g) { return g.key == f.key; });
  }
  EXPECT_EQ(listed, functions.size());
  if (!expected_here()) return;
  const auto now = compiled_now(functions);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    void* built = codegen::built_function(functions[i].key);
    ASSERT_NE(built, nullptr) << functions[i].key;
    ASSERT_NE(built, now->code->addresses[i]);
    for (std::int64_t k : {1, 4, 11})
      for (matrix::Begin begin : {matrix::Begin::zero, matrix::Begin::result})
        for (matrix::End end : {matrix::End::store, matrix::End::add}) {
          const std::int64_t lanes =
              tiles[i].partial ? 1 + k % (matrix::lanes_of(tiles[i].kind.sum) - 1) : 0;
          EXPECT_TRUE(same_bits(
              result_of(reinterpret_cast<matrix::TileKernel>(built), begin, end, k, lanes),
              result_of(reinterpret_cast<matrix::TileKernel>(now->code->addresses[i]), begin, end,
                        k, lanes)))
              << functions[i].key << ", k " << k;
        }
  }
}

TEST(BuiltFunctions, ProductsOfFloat32CompileNothing) {
  if (!expected_here()) GTEST_SKIP() << "nothing is built for this processor";
  const EmptyCache cache;
  const std::vector<float> operand = numbers(200 * 200);
  std::vector<float> c(200 * 200);
  for (std::int64_t m : {1, 2, 3, 5, 14, 15, 29, 101})
    for (std::int64_t n : {1, 15, 16, 17, 33, 101, 128})
      for (std::int64_t k : {1, 33})
        for (bool a_transposed : {false, true})
          for (int b : {0, 1, 2}) {
            const matrix::Distances of_a =
                a_transposed ? matrix::Distances{m, 1} : matrix::Distances{1, k};
            const matrix::Distances of_b = b == 0   ? matrix::Distances{n, 1}
                                           : b == 1 ? matrix::Distances{1, k}
                                                    : matrix::Distances{2 * n, 2};
            const matrix::Product product(
                {DType::float32, {DType::float32}, m, n, k, of_a, of_b, m, n});
            product.run({operand.data(), operand.data(), c.data(), n, m, n, k, nullptr, 0});
          }
  EXPECT_EQ(cache.files(), 0);
}

TEST(BuiltFunctions, WhatIsNotBuiltIsCompiledOnceAndKeptOnDisk) {
  const EmptyCache cache;
  int emitted = 0;
  const codegen::SharedFunction tile =
      matrix::tile_function({{DType::float64}, 1, 1, true, matrix::ReadA::by_rows});
  const codegen::SharedFunction product{"a function of this test",
                                        [&](llvm::Module& module, const std::string& name) {
                                          ++emitted;
                                          tile.emit(module, name);
                                        }};
  EXPECT_EQ(codegen::built_function(product.key), nullptr);
  void* address = codegen::shared_function(product);
  const double a = 6, b = 7;
  double c[] = {0, 5};
  matrix::TileArgs args{};
  args.a = &a;
  args.b = &b;
  args.c = c;
  args.k = args.tiles = args.lanes = 1;
  reinterpret_cast<matrix::TileKernel>(address)(&args);
  EXPECT_EQ(c[0], 42);
  EXPECT_EQ(c[1], 5);
  EXPECT_EQ(codegen::shared_function(product), address);
  EXPECT_EQ(emitted, 1);
  EXPECT_EQ(cache.files(), 1);
}

}  // namespace tessera::testing

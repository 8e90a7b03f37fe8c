// Derivatives of ops where a convention, a tie or a repeated index decides, by worked examples.
#include "op_check.h"

#include "ir/interpret.h"

using namespace tessera;
using namespace tessera::testing;

namespace {
using F = std::vector<float>;

/// The tangent of the op's first result; float inputs have the given tangents, in order.
F tangent(const std::string& op, const std::vector<HostArray>& inputs, const Attrs& attrs,
          const std::vector<HostArray>& tangents) {
  Builder b;
  Values in;
  std::vector<bool> wrt;
  for (const HostArray& a : inputs) {
    in.push_back(b.input(Type(a.dtype, a.shape)));
    wrt.push_back(is_floating(a.dtype));
  }
  JvpProgram j = jvp_program(*b.finish(b.emit(op, in, attrs)), wrt);
  std::vector<HostArray> all = inputs;
  all.insert(all.end(), tangents.begin(), tangents.end());
  std::vector<HostArray> out = run_program(*j.program, all);
  return values<float>(out[j.nonzero_out.size()]);
}
Attrs along(bool reverse = false) { return {{"axis", std::int64_t{0}}, {"reverse", reverse}}; }
Attrs put(const char* mode, bool unique) {
  return {{"update_window_dims", Ints{}},
          {"inserted_window_dims", Ints{0}},
          {"operand_batching_dims", Ints{}},
          {"scatter_indices_batching_dims", Ints{}},
          {"scatter_dims_to_operand_dims", Ints{0}},
          {"index_vector_dim", std::int64_t{1}},
          {"mode", std::string(mode)},
          {"unique", unique}};
}
}  // namespace

TEST(Derivatives, CumprodIsSafeAtZero) {
  // The tangents are sums of products of the other elements: 1, x0 + x1, ...
  EXPECT_EQ(tangent("cumprod", {host<float>({4}, {2, 0, 3, 0})}, along(),
                    {host<float>({4}, {1, 1, 1, 1})}),
            (F{1, 2, 6, 0}));
  EXPECT_EQ(
      tangent("cumprod", {host<float>({3}, {2, 0, 3})}, along(true), {host<float>({3}, {1, 1, 1})}),
      (F{6, 3, 1}));
}

TEST(Derivatives, CummaxSharesTies) {
  HostArray x = host<float>({4}, {1, 1, 0, 1}), t = host<float>({4}, {8, 16, 100, 32});
  EXPECT_EQ(tangent("cummax", {x}, along(), {t}), (F{8, 12, 12, 22}));
  EXPECT_EQ(tangent("cummin", {x}, along(), {t}), (F{8, 12, 100, 100}));
}

TEST(Derivatives, SortPermutesTangents) {
  HostArray x = host<float>({4}, {3, 1, 3, 2}), t = host<float>({4}, {10, 20, 30, 40});
  EXPECT_EQ(
      tangent("sort", {x}, {{"dimension", std::int64_t{0}}, {"num_keys", std::int64_t{1}}}, {t}),
      (F{20, 40, 10, 30}));
}

TEST(Derivatives, ScatterFollowsTheLastUpdate) {
  HostArray x = host<float>({3}, {1, 2, 3}), rows = host<int>({3, 1}, {1, 1, 7}),
            u = host<float>({3}, {4, 5, 6});
  HostArray tx = host<float>({3}, {10, 20, 30}), tu = host<float>({3}, {40, 50, 60});
  EXPECT_EQ(tangent("scatter", {x, rows, u}, put("drop", false), {tx, tu}), (F{10, 50, 30}));
  EXPECT_EQ(tangent("scatter", {x, rows, u}, put("clip", false), {tx, tu}), (F{10, 50, 60}));
}

TEST(Derivatives, ScatterMaxSharesTies) {
  HostArray x = host<float>({2}, {5, 1}), rows = host<int>({3, 1}, {0, 0, 1}),
            u = host<float>({3}, {5, 2, 4});
  EXPECT_EQ(tangent("scatter_max", {x, rows, u}, put("drop", false),
                    {host<float>({2}, {2, 8}), host<float>({3}, {6, 100, 7})}),
            (F{4, 7}));
}

TEST(Derivatives, ScatterMulTakesTheOtherFactors) {
  HostArray x = host<float>({2}, {5, 3}), rows = host<int>({1, 1}, {1}), u = host<float>({1}, {4});
  for (bool unique : {true, false})
    EXPECT_EQ(tangent("scatter_mul", {x, rows, u}, put("drop", unique),
                      {host<float>({2}, {1, 1}), host<float>({1}, {10})}),
              (F{1, 34}));
  // Element 0 is 5 * 2. Element 1 is 3 * 4 * 0, of whose derivative only the part of the zero is
  // left.
  HostArray repeated = host<int>({3, 1}, {1, 1, 0}), factors = host<float>({3}, {4, 0, 2});
  EXPECT_EQ(tangent("scatter_mul", {x, repeated, factors}, put("drop", false),
                    {host<float>({2}, {1, 1}), host<float>({3}, {10, 7, 3})}),
            (F{17, 84}));
}

TEST(Derivatives, FilledInValuesHaveNone) {
  Attrs take{{"offset_dims", Ints{}},           {"collapsed_slice_dims", Ints{0}},
             {"operand_batching_dims", Ints{}}, {"start_indices_batching_dims", Ints{}},
             {"start_index_map", Ints{0}},      {"index_vector_dim", std::int64_t{1}},
             {"slice_sizes", Ints{1}},          {"mode", std::string("fill")}};
  EXPECT_EQ(tangent("gather", {host<float>({2}, {1, 2}), host<int>({2, 1}, {1, 9})}, take,
                    {host<float>({2}, {10, 20})}),
            (F{20, 0}));
}

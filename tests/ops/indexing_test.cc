// Ops whose data holds indices. Gather and scatter agree with StableHLO's worked examples and their
// definition.
#include "op_check.h"

#include <cmath>
#include <limits>

using namespace tessera;
using namespace tessera::testing;

namespace {

Attrs gather_attrs(const ops::GatherDims& d, Ints sizes, const char* mode) {
  return {{"offset_dims", d.offset_dims},
          {"collapsed_slice_dims", d.collapsed_slice_dims},
          {"operand_batching_dims", d.operand_batching_dims},
          {"start_indices_batching_dims", d.start_indices_batching_dims},
          {"start_index_map", d.start_index_map},
          {"index_vector_dim", d.index_vector_dim},
          {"slice_sizes", std::move(sizes)},
          {"mode", std::string(mode)}};
}
Attrs scatter_attrs(const ops::ScatterDims& d, const char* mode, bool unique = false) {
  return {{"update_window_dims", d.update_window_dims},
          {"inserted_window_dims", d.inserted_window_dims},
          {"operand_batching_dims", d.operand_batching_dims},
          {"scatter_indices_batching_dims", d.scatter_indices_batching_dims},
          {"scatter_dims_to_operand_dims", d.scatter_dims_to_operand_dims},
          {"index_vector_dim", d.index_vector_dim},
          {"mode", std::string(mode)},
          {"unique", unique}};
}
template <class T>
HostArray counting(Shape shape, T first) {
  HostArray a(dtype_of<T>(), std::move(shape));
  for (std::int64_t i = 0; i < a.count(); ++i)
    a.data<T>()[i] = static_cast<T>(first + static_cast<T>(i));
  return a;
}
template <class T>
HostArray filled(Shape shape, T value) {
  std::vector<T> v(static_cast<std::size_t>(shape.count()), value);
  return host<T>(shape, v);
}
const ops::GatherDims kTakeRows{{1}, {0}, {}, {}, {0}, 1};
const ops::ScatterDims kPutRows{{1}, {0}, {}, {}, {0}, 1};

}  // namespace

TEST(DynamicSlice, ClampsStarts) {
  HostArray x = counting<int>({3, 4}, 0);
  auto at = [&](int i, int j) {
    return values<int>(run_op("dynamic_slice", {x, host<int>({}, {i}), host<int>({}, {j})},
                              {{"sizes", Ints{2, 2}}}));
  };
  EXPECT_EQ(at(1, 1), (std::vector<int>{5, 6, 9, 10}));
  EXPECT_EQ(at(-3, 9), (std::vector<int>{2, 3, 6, 7}));
}

TEST(DynamicUpdateSlice, ClampsStarts) {
  HostArray x = counting<int>({5}, 0), u = host<int>({2}, {10, 11});
  EXPECT_EQ(values<int>(run_op("dynamic_update_slice", {x, u, host<int>({}, {1})}, {})),
            (std::vector<int>{0, 10, 11, 3, 4}));
  EXPECT_EQ(values<int>(run_op("dynamic_update_slice", {x, u, host<int>({}, {7})}, {})),
            (std::vector<int>{0, 1, 2, 10, 11}));
}

// The example of StableHLO's specification: windows of 1x2x2 at (row, column), read in the order
// (1, 0).
TEST(Gather, Specification) {
  HostArray x = counting<std::int64_t>({3, 4, 2}, 1);
  HostArray starts = host<std::int64_t>({2, 3, 2}, {0, 0, 1, 0, 2, 1, 0, 1, 1, 0, 0, 9});
  HostArray y = run_op("gather", {x, starts},
                       gather_attrs({{2, 3}, {0}, {}, {}, {1, 0}, 2}, {1, 2, 2}, "clip"));
  EXPECT_EQ(y.shape, (Shape{2, 3, 2, 2}));
  EXPECT_EQ(values<std::int64_t>(y),
            (std::vector<std::int64_t>{1, 2,  3,  4,  3, 4, 5, 6, 13, 14, 15, 16,
                                       9, 10, 11, 12, 3, 4, 5, 6, 17, 18, 19, 20}));
}

TEST(Gather, BatchingDimensions) {
  HostArray x = counting<int>({2, 3}, 0), rows = host<int>({2, 2}, {2, 0, 1, 1});
  HostArray y =
      run_op("gather", {x, rows}, gather_attrs({{}, {1}, {0}, {0}, {1}, 2}, {1, 1}, "clip"));
  EXPECT_EQ(values<int>(y), (std::vector<int>{2, 0, 4, 4}));
}

TEST(Gather, Modes) {
  HostArray x = counting<float>({2, 2}, 1), rows = host<int>({3, 1}, {1, 2, -1});
  EXPECT_EQ(values<float>(run_op("gather", {x, rows}, gather_attrs(kTakeRows, {1, 2}, "clip"))),
            (std::vector<float>{3, 4, 3, 4, 1, 2}));
  EXPECT_EQ(values<float>(run_op("gather", {x, rows}, gather_attrs(kTakeRows, {1, 2}, "zero"))),
            (std::vector<float>{3, 4, 0, 0, 0, 0}));
  std::vector<float> filled =
      values<float>(run_op("gather", {x, rows}, gather_attrs(kTakeRows, {1, 2}, "fill")));
  EXPECT_EQ(filled[0], 3);
  for (int i = 2; i < 6; ++i) EXPECT_TRUE(std::isnan(filled[static_cast<std::size_t>(i)]));
  auto outside = [&](HostArray one) {
    return run_op("gather", {one, host<int>({1}, {5})},
                  gather_attrs({{}, {0}, {}, {}, {0}, 0}, {1}, "fill"));
  };
  EXPECT_EQ(values<int>(outside(host<int>({1}, {7})))[0], std::numeric_limits<int>::min());
  EXPECT_EQ(values<std::int8_t>(outside(host<std::int8_t>({1}, {7})))[0], -128);
  EXPECT_EQ(values<std::uint16_t>(outside(host<std::uint16_t>({1}, {7})))[0], 65535);
  EXPECT_EQ(values<std::uint64_t>(outside(host<std::uint64_t>({1}, {7})))[0],
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(outside(HostArray::from(
                        Literal{DType::boolean, {1}, std::make_shared<std::vector<std::byte>>(1)}))
                .number(0),
            1);
}

// The two examples of StableHLO's conformance file, without windows that are partly outside.
TEST(Scatter, Specification) {
  HostArray x = counting<std::int64_t>({3, 4, 2}, 1);
  HostArray starts = host<std::int64_t>({2, 3, 2}, {0, 2, 1, 0, 2, 1, 0, 1, 1, 0, 0, 9});
  HostArray y = run_op("scatter_add", {x, starts, filled<std::int64_t>({2, 3, 2, 2}, 1)},
                       scatter_attrs({{2, 3}, {0}, {}, {}, {1, 0}, 2}, "drop"));
  EXPECT_EQ(values<std::int64_t>(y),
            (std::vector<std::int64_t>{1,  2,  5,  6,  7,  8,  7,  8,  10, 11, 12, 13,
                                       14, 15, 16, 17, 18, 19, 20, 21, 21, 22, 23, 24}));

  HostArray x4 = counting<std::int64_t>({2, 3, 4, 2}, 1);
  HostArray starts4 = host<std::int64_t>(
      {2, 2, 3, 2}, {0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9, 0, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0});
  HostArray z = run_op("scatter_add", {x4, starts4, filled<std::int64_t>({2, 2, 3, 2, 2}, 1)},
                       scatter_attrs({{3, 4}, {1}, {0}, {1}, {2, 1}, 3}, "drop"));
  EXPECT_EQ(
      values<std::int64_t>(z),
      (std::vector<std::int64_t>{3,  4,  6,  7,  6,  7,  7,  8,  9,  10, 11, 12, 15, 16, 17, 18,
                                 17, 18, 19, 20, 22, 23, 24, 25, 25, 26, 28, 29, 30, 31, 31, 32,
                                 35, 36, 38, 39, 38, 39, 39, 40, 41, 42, 44, 45, 46, 47, 47, 48}));
}

TEST(Scatter, FamilyAndOrder) {
  HostArray x = host<int>({3, 1}, {2, 3, 4}), rows = host<int>({4, 1}, {1, 1, 0, 5}),
            u = host<int>({4, 1}, {7, 5, 1, 9});
  auto drop = scatter_attrs(kPutRows, "drop");
  EXPECT_EQ(values<int>(run_op("scatter", {x, rows, u}, drop)),
            (std::vector<int>{1, 5, 4}));  // the last update stays
  EXPECT_EQ(values<int>(run_op("scatter_add", {x, rows, u}, drop)), (std::vector<int>{3, 15, 4}));
  EXPECT_EQ(values<int>(run_op("scatter_mul", {x, rows, u}, drop)), (std::vector<int>{2, 105, 4}));
  EXPECT_EQ(values<int>(run_op("scatter_min", {x, rows, u}, drop)), (std::vector<int>{1, 3, 4}));
  EXPECT_EQ(values<int>(run_op("scatter_max", {x, rows, u}, drop)), (std::vector<int>{2, 7, 4}));
  EXPECT_EQ(values<int>(run_op("scatter", {x, rows, u}, scatter_attrs(kPutRows, "clip"))),
            (std::vector<int>{1, 5, 9}));
  float nan = std::numeric_limits<float>::quiet_NaN();
  HostArray f = run_op(
      "scatter_max",
      {host<float>({1, 1}, {1}), host<int>({2, 1}, {0, 0}), host<float>({2, 1}, {nan, 3})}, drop);
  EXPECT_TRUE(std::isnan(f.number(0)));
}

TEST(Indexing, TransposesAreAdjoint) {
  HostArray one = host<int>({}, {1}), late = host<int>({}, {9});
  check_transpose("dynamic_slice", {Type(f32, {4, 3}), Type(i32, {}), Type(i32, {})},
                  {true, false, false}, {{"sizes", Ints{2, 2}}}, {one, late});
  check_transpose("dynamic_update_slice",
                  {Type(f32, {4, 3}), Type(f32, {2, 2}), Type(i32, {}), Type(i32, {})},
                  {true, true, false, false}, {}, {one, late});
  HostArray rows = host<int>({5, 1}, {1, 3, 1, -1, 4});
  for (const char* mode : {"clip", "zero"})
    check_transpose("gather", {Type(f32, {4, 3}), Type(i32, {5, 1})}, {true, false},
                    gather_attrs(kTakeRows, {1, 3}, mode), {rows});
  check_transpose("gather", {Type(f32, {3, 4}), Type(i32, {3, 2})}, {true, false},
                  gather_attrs({{}, {1}, {0}, {0}, {1}, 2}, {1, 1}, "clip"),
                  {host<int>({3, 2}, {0, 3, 2, 2, 7, 1})});
  for (const char* mode : {"clip", "drop"}) {
    std::vector<Type> types{Type(f32, {4, 3}), Type(i32, {5, 1}), Type(f32, {5, 3})};
    check_transpose("scatter_add", types, {true, false, true}, scatter_attrs(kPutRows, mode),
                    {rows});
    check_transpose("scatter", types, {true, false, true}, scatter_attrs(kPutRows, mode), {rows});
    check_transpose("scatter", {Type(f32, {6}), Type(i32, {3, 1}), Type(f32, {3, 2})},
                    {true, false, true}, scatter_attrs({{1}, {}, {}, {}, {0}, 1}, mode),
                    {host<int>({3, 1}, {3, 2, 5})});
  }
}

TEST(Indexing, BatchingIsALoop) {
  auto x = [](Shape s) { return integers(Type(f32, std::move(s)), 2); };
  auto with = [](Shape s, int d) {
    s.insert(s.begin() + d, 3);
    return s;
  };
  auto index = [](Shape s) {
    HostArray a(DType::int32, std::move(s));
    for (std::int64_t i = 0; i < a.count(); ++i)
      a.data<int>()[i] = static_cast<int>((i * 5 + 1) % 7) - 1;
    return a;
  };
  for (int d = 0; d <= 2; ++d)
    for (int mask = 1; mask < 4; ++mask) {
      int xd = mask & 1 ? d : kUnbatched, id = mask & 2 ? std::min(d, 2) : kUnbatched;
      HostArray operand = x(xd < 0 ? Shape{4, 5} : with({4, 5}, d)),
                scalars = index(id < 0 ? Shape{} : Shape{3});
      int sd = id < 0 ? kUnbatched : 0;
      check_batch("dynamic_slice", {operand, scalars, index({})}, {xd, sd, kUnbatched},
                  {{"sizes", Ints{2, 3}}});
      check_batch("dynamic_update_slice", {operand, x({2, 3}), scalars, index({})},
                  {xd, kUnbatched, sd, kUnbatched}, {});
      HostArray rows = index(id < 0 ? Shape{6, 1} : with({6, 1}, id));
      for (const char* mode : {"clip", "fill", "zero"}) {
        check_batch("gather", {operand, rows}, {xd, id}, gather_attrs(kTakeRows, {1, 5}, mode));
        check_batch("gather", {operand, rows}, {xd, id},
                    gather_attrs({{0, 2}, {}, {}, {}, {1}, 1}, {2, 4}, mode));
      }
      HostArray vectors = index(id < 0 ? Shape{4, 2} : with({4, 2}, id));
      check_batch("gather", {operand, vectors}, {xd, id},
                  gather_attrs({{}, {1}, {0}, {0}, {1}, 2}, {1, 1}, "clip"));
      for (int ud : {kUnbatched, d})
        for (const char* op : {"scatter", "scatter_add", "scatter_max"}) {
          HostArray updates = x(ud < 0 ? Shape{6, 5} : with({6, 5}, ud));
          check_batch(op, {operand, rows, updates}, {xd, id, ud}, scatter_attrs(kPutRows, "drop"));
          HostArray windows = x(ud < 0 ? Shape{2, 6, 4} : with({2, 6, 4}, ud));
          check_batch(op, {operand, rows, windows}, {xd, id, ud},
                      scatter_attrs({{0, 2}, {}, {}, {}, {1}, 1}, "clip"));
        }
    }
  // Only the updates are stacked.
  check_batch("scatter_add", {x({4, 5}), index({6, 1}), x({6, 5, 3})}, {kUnbatched, kUnbatched, 2},
              scatter_attrs(kPutRows, "drop"));
  check_batch("dynamic_update_slice", {x({4, 5}), x({2, 3, 3}), index({}), index({})},
              {kUnbatched, 1, kUnbatched, kUnbatched}, {});
}

TEST(Indexing, FactorRules) {
  EXPECT_EQ(factor_rule("dynamic_slice", {Type(f32, {8, 16}), Type(i32, {}), Type(i32, {})},
                        {{"sizes", Ints{8, 4}}}),
            "([a,b],[],[])->([a,c]) {a=8,b=16,c=4} indexed={b:+} blocked={b,c} need_repl={c}");
  EXPECT_EQ(factor_rule("dynamic_update_slice",
                        {Type(f32, {8, 16}), Type(f32, {8, 4}), Type(i32, {}), Type(i32, {})}, {}),
            "([a,b],[a,c],[],[])->([a,b]) {a=8,b=16,c=4} need_repl={c}");
  EXPECT_EQ(factor_rule("gather", {Type(f32, {50, 8}), Type(i32, {6, 1})},
                        gather_attrs(kTakeRows, {1, 8}, "clip")),
            "([c,b],[a,d])->([a,b]) {a=6,b=8,c=50,d=1} indexed={c:+} need_repl={d}");
  std::vector<Type> put{Type(f32, {50, 8}), Type(i32, {6, 1}), Type(f32, {6, 8})};
  EXPECT_EQ(factor_rule("scatter_add", put, scatter_attrs(kPutRows, "drop")),
            "([a,b],[c,d],[c,b])->([a,b]) {a=50,b=8,c=6,d=1} reduction={c:+} need_repl={d}");
  EXPECT_EQ(factor_rule("scatter", put, scatter_attrs(kPutRows, "drop")),
            "([a,b],[c,d],[c,b])->([a,b]) {a=50,b=8,c=6,d=1} need_repl={c,d}");
  EXPECT_EQ(factor_rule("gather", {Type(f32, {3, 4}), Type(i32, {3, 2, 1})},
                        gather_attrs({{}, {1}, {0}, {0}, {1}, 2}, {1, 1}, "clip")),
            "([a,c],[a,b,d])->([a,b]) {a=3,b=2,c=4,d=1} indexed={c:+} need_repl={d}");
}

TEST(Indexing, Errors) {
  EXPECT_EQ(infer_error<DTypeError>("gather", {Type(f32, {4, 3}), Type(f32, {5, 1})},
                                    gather_attrs(kTakeRows, {1, 3}, "clip")),
            "gather: the indices are float32\n"
            "  rule: indices are integers\n"
            "  try: convert them to int32");
  EXPECT_EQ(infer_error<ShapeError>("gather", {Type(f32, {4, 3}), Type(i32, {5, 2})},
                                    gather_attrs(kTakeRows, {1, 3}, "clip")),
            "gather: index vectors have 2 components, start_index_map (0,) has 1\n"
            "  rule: each component has its operand dimension\n"
            "  try: fit start_index_map to the indices' shape (5, 2)");
  EXPECT_EQ(infer_error<ShapeError>("scatter_add",
                                    {Type(f32, {4, 3}), Type(i32, {5, 1}), Type(f32, {6, 3})},
                                    scatter_attrs(kPutRows, "drop")),
            "scatter_add: update dimension 0 has extent 6, the indices' dimension 0 has 5\n"
            "  rule: there is a window for each index vector\n"
            "  try: make as many updates as indices");
  EXPECT_EQ(infer_error<ShapeError>("dynamic_slice", {Type(f32, {4}), Type(i32, {})},
                                    {{"sizes", Ints{5}}}),
            "dynamic_slice: sizes (5,) do not fit into shape (4,)\n"
            "  rule: 0 <= size <= extent; dimension 0 has size 5 and extent 4\n"
            "  try: slice no more than there is, or pad first");
}

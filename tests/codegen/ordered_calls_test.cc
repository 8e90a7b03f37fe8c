// Routines for sorts, running totals and scatters give the evaluators' bits, whatever the order of
// their tasks.
#include "codegen/calls/calls.h"
#include "ir/op.h"
#include "ops/build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

using namespace tessera;

namespace {

HostArray random_array(const Type& t, std::mt19937& g, std::int64_t lo, std::int64_t hi) {
  HostArray a(t.dtype, t.shape);
  std::uniform_int_distribution<std::int64_t> draw(lo, hi);
  dispatch(t.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < a.count(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        a.data<T>()[i] = static_cast<T>(draw(g));
      } else {
        // Few different values, so that there are ties, with a NaN or a signed zero now and then.
        auto v = static_cast<float>(static_cast<std::int64_t>(g() % 2001) - 1000) / 8;
        if (g() % 50 == 0) v = -0.0f;
        if (g() % 200 == 0) v = std::numeric_limits<float>::quiet_NaN();
        a.data<T>()[i] = static_cast<T>(v);
      }
    }
  });
  return a;
}

/// Compares bits, except that all NaNs are equal: the processor decides which operand's sign a NaN
/// has.
bool same_bits(const HostArray& a, const HostArray& b) {
  auto n = static_cast<std::size_t>(size_of(a.dtype));
  for (std::int64_t i = 0; i < a.count(); ++i) {
    std::size_t at = static_cast<std::size_t>(i) * n;
    if (std::memcmp(a.bytes + at, b.bytes + at, n) == 0) continue;
    if (!is_floating(a.dtype) || a.number(i) == a.number(i) || b.number(i) == b.number(i))
      return false;
  }
  return true;
}

/// Runs the routine with its tasks in random order, one at a time and several at a time.
void check(const std::string& name, const std::vector<Type>& types, const Attrs& attrs,
           std::int64_t lo, std::int64_t hi, bool expect_routine = true) {
  const Op& op = Registry::get().at(name);
  std::mt19937 g(static_cast<unsigned>(types[0].shape.count()));
  std::vector<HostArray> in, expected, got;
  for (const Type& t : types) in.push_back(random_array(t, g, lo, hi));
  std::vector<Type> outputs = op.infer({op, types, attrs, {}});
  for (const Type& t : outputs) {
    expected.emplace_back(t.dtype, t.shape);
    got.emplace_back(t.dtype, t.shape);
  }
  op.evaluate({attrs, in, expected});
  auto routine = codegen::prepare_call(op, attrs, types, outputs);
  ASSERT_EQ(routine != nullptr, expect_routine) << name;
  if (!routine) return;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const HostArray& a : in) from.push_back(a.bytes);
  for (const HostArray& a : got) to.push_back(a.bytes);
  std::vector<std::byte> scratch(routine->scratch_bytes);
  for (int round = 0; round < 2; ++round) {
    for (const Stage& stage : routine->stages) {
      std::int64_t piece = round == 0 ? 1 : 3;
      std::vector<std::int64_t> starts;
      for (std::int64_t t = 0; t < stage.tasks; t += piece) starts.push_back(t);
      std::shuffle(starts.begin(), starts.end(), g);
      for (std::int64_t t : starts)
        stage.run({from.data(), to.data(), scratch.data()}, t, std::min(stage.tasks, t + piece));
    }
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(same_bits(got[i], expected[i]))
          << name << " " << to_string(types[0]) << " result " << i;
  }
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

constexpr DType kAll[] = {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64};

}  // namespace

TEST(OrderedCalls, Examples) {
  for (const char* name : {"sort", "sort_ends", "top_k", "cumsum", "cumprod", "cummax", "cummin",
                           "scatter", "cholesky", "triangular_solve", "lu", "qr", "svd", "eigh",
                           "scatter_add", "scatter_mul", "scatter_min", "scatter_max"})
    for (const OpExample& e : Registry::get().at(name).examples())
      check(name, e.inputs, e.attrs, e.int_lo, e.int_hi);
}

TEST(OrderedCalls, SortsEveryDType) {
  for (DType d : kAll)
    for (std::int64_t n : {1, 7, 300, 3000}) {
      check("sort", {Type(d, {n})}, {{"dimension", std::int64_t{0}}, {"num_keys", std::int64_t{1}}},
            -100, 100);
      check("sort", {Type(d, {5, n, 2}), Type(i32, {5, n, 2})},
            {{"dimension", std::int64_t{1}}, {"num_keys", std::int64_t{1}}}, -100, 100);
    }
}

TEST(OrderedCalls, TakesTheGreatestOfEveryDType) {
  for (DType d : kAll)
    for (std::int64_t n : {1, 7, 300, 3000, 40000})
      for (std::int64_t k : {std::int64_t{0}, std::int64_t{1}, n / 40, n / 3, n})
        check("top_k", {Type(d, {n > 3000 ? 2 : 70, n})}, {{"k", k}}, -100, 100);
}

TEST(OrderedCalls, SortsBySeveralKeys) {
  for (std::int64_t n : {50, 2000})
    check("sort", {Type(i8, {n}), Type(f64, {n}), Type(bf16, {n}), Type(i32, {n})},
          {{"dimension", std::int64_t{0}}, {"num_keys", std::int64_t{3}}}, 0, 3);
}

TEST(OrderedCalls, SortsTheEndsOfEveryDType) {
  const auto attrs = [](std::int64_t dimension, std::int64_t keys, std::int64_t count, bool last) {
    return Attrs{{"dimension", dimension}, {"num_keys", keys}, {"count", count}, {"last", last}};
  };
  for (bool last : {false, true}) {
    for (DType d : kAll)
      for (std::int64_t n : {1, 7, 300, 3000})
        for (std::int64_t count : {std::int64_t{0}, std::int64_t{1}, n / 3, n}) {
          check("sort_ends", {Type(d, {n})}, attrs(0, 1, count, last), -100, 100);
          check("sort_ends", {Type(d, {5, n, 2}), Type(i32, {5, n, 2})}, attrs(1, 1, count, last),
                -100, 100);
        }
    for (std::int64_t n : {50, 2000})
      check("sort_ends", {Type(i8, {n}), Type(f64, {n}), Type(bf16, {n}), Type(i32, {n})},
            attrs(0, 3, 9, last), 0, 3);
  }
}

TEST(OrderedCalls, RunningTotals) {
  for (DType d : kAll)
    for (bool reverse : {false, true})
      for (std::int64_t axis = 0; axis < 3; ++axis)
        for (const char* name : {"cumsum", "cumprod", "cummax", "cummin"}) {
          if (d == bool_ && (std::string(name) == "cumsum" || std::string(name) == "cumprod"))
            continue;
          check(name, {Type(d, {3, 40, 330})}, {{"axis", axis}, {"reverse", reverse}}, -3, 3);
          // Rows in groups, some of which are not full.
          if (axis == 1)
            check(name, {Type(d, {71, 300})}, {{"axis", axis}, {"reverse", reverse}}, -3, 3);
        }
}

TEST(OrderedCalls, ScattersOfEveryCut) {
  for (DType d : kAll)
    for (const char* name :
         {"scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"}) {
      if (d == bool_ && (std::string(name) == "scatter_add" || std::string(name) == "scatter_mul"))
        continue;
      // Scatters columns of wide windows.
      check(name, {Type(d, {40, 200}), Type(i32, {500, 1}), Type(d, {500, 200})},
            scatter_attrs({{1}, {0}, {}, {}, {0}, 1}, "drop"), -1, 41);
    }
  for (const char* name : {"scatter", "scatter_add"}) {
    // Scatters wide rows by columns although there are many of them.
    check(name, {Type(f32, {300, 1500}), Type(i32, {500, 1}), Type(f32, {500, 1500})},
          scatter_attrs({{1}, {0}, {}, {}, {0}, 1}, "drop"), -1, 301);
    // Scatters slabs, scalars and narrow windows, with several index components.
    check(name, {Type(f32, {30, 30}), Type(i64, {70000, 2}), Type(f32, {70000})},
          scatter_attrs({{}, {0, 1}, {}, {}, {1, 0}, 1}, "drop"), -1, 31);
    check(name, {Type(f32, {3, 30}), Type(u8, {20000}), Type(f32, {3, 20000})},
          scatter_attrs({{0}, {1}, {}, {}, {1}, 1}, "clip"), 0, 40);
    // Scatters with batching dimensions of the indices and updates.
    check(name, {Type(f32, {16, 50}), Type(i32, {4000, 16}), Type(f32, {4000, 16})},
          scatter_attrs({{}, {1}, {0}, {1}, {1}, 2}, "drop"), -1, 50);
    check(name, {Type(f32, {16, 50}), Type(i32, {16, 4000}), Type(f32, {16, 4000})},
          scatter_attrs({{}, {1}, {0}, {0}, {1}, 2}, "drop"), -1, 50);
    // Scatters windows that overlap, whose dimension is after that of the indices or before it.
    check(name, {Type(f32, {300}), Type(i32, {900, 1}), Type(f32, {900, 150})},
          scatter_attrs({{1}, {}, {}, {}, {0}, 1}, "drop"), -5, 160);
    check(name, {Type(f32, {300}), Type(i32, {90, 1}), Type(f32, {150, 90})},
          scatter_attrs({{0}, {}, {}, {}, {0}, 1}, "clip"), -5, 160);
  }
}

// There are so many updates of single elements that several tasks share the operand.
TEST(OrderedCalls, ScattersManyElements) {
  constexpr std::int64_t kUpdates = 300000;
  for (const char* name : {"scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"})
    for (DType index : {i32, i64})
      for (const char* mode : {"drop", "clip"})
        check(name, {Type(f32, {5003}), Type(index, {kUpdates}), Type(f32, {kUpdates})},
              scatter_attrs({{}, {0}, {}, {}, {0}, 1}, mode), -7, 5010);
  for (DType d : {i32, f64, c64})  // with fewer elements than tasks, too
    for (std::int64_t n : {1, 3, 5003})
      check("scatter_add", {Type(d, {n}), Type(i32, {kUpdates}), Type(d, {kUpdates})},
            scatter_attrs({{}, {0}, {}, {}, {0}, 1}, "drop"), -1, 5010);
}

// A body changes an array of each dtype together with an array of integers: for the widest dtypes,
// two values per element.
TEST(OrderedCalls, CombinesEveryDType) {
  for (DType d : {i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128}) {
    Builder b("together");
    Values v;
    for (DType t : {d, i32, d, i32}) v.push_back(b.input(Type(t, {})));
    const ProgramPtr body = b.finish(Values{ops::add(v[0], v[2]), ops::sub(v[3], v[1])});
    for (std::int64_t rows : {1, 40})
      check("combine_at",
            {Type(d, {rows, 9}), Type(i32, {rows, 9}), Type(i16, {rows, 11}), Type(d, {rows, 11}),
             Type(i32, {rows, 11})},
            {{"body", body}}, -1, 9);
  }
}

// The type of an attribute, by the type of the value that it is made from.
#include "ir/attrs.h"
#include "base/function_ref.h"
#include "ir/host_array.h"
#include "ir/program.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ts = tessera;

namespace {

struct NamedHook final : ts::Hook {
  std::string name() const override { return "hook"; }
};

template <class T>
bool holds(const ts::AttrValue& value) {
  return std::holds_alternative<T>(value);
}

TEST(AttrValue, HoldsTheAlternativeOfItsArgument) {
  EXPECT_TRUE(holds<bool>(true));
  EXPECT_TRUE(holds<std::int64_t>(3));
  EXPECT_TRUE(holds<std::int64_t>(std::size_t{3}));
  EXPECT_TRUE(holds<double>(2.5f));
  EXPECT_TRUE(holds<std::string>("text"));  // not a boolean, which a pointer converts to
  EXPECT_TRUE(holds<std::string>(std::string("text")));
  EXPECT_TRUE(holds<ts::DType>(ts::DType::int8));
  EXPECT_TRUE(holds<ts::Ints>(ts::Ints{1, 2}));
  EXPECT_TRUE(holds<ts::Strings>(ts::Strings{"a"}));
  EXPECT_TRUE(holds<ts::ProgramPtr>(std::make_shared<ts::Program>()));
  EXPECT_TRUE(holds<ts::HookPtr>(std::make_shared<NamedHook>()));
  static_assert(!std::is_constructible_v<ts::AttrValue, std::vector<double>>);
}

TEST(AttrValue, CopiesAndMovesWhatItHolds) {
  ts::AttrValue a(ts::Ints{1, 2, 3}), b = a;
  EXPECT_EQ(std::get<ts::Ints>(b), (ts::Ints{1, 2, 3}));
  const ts::AttrValue c = std::move(a);
  EXPECT_EQ(std::get<ts::Ints>(c), (ts::Ints{1, 2, 3}));
  b = ts::AttrValue("other");
  EXPECT_EQ(std::get<std::string>(b), "other");
  EXPECT_EQ(std::get<ts::Ints>(c).size(), 3u);
}

TEST(Attrs, AreEqualByNamesKindsAndValues) {
  const ts::Attrs x{{"axis", 1}, {"name", "a"}};
  ts::Attrs y = x;
  EXPECT_TRUE(x == y);
  y.set("axis", 2);
  EXPECT_FALSE(x == y);
  y.set("axis", 1.0);  // a double is no integer
  EXPECT_FALSE(x == y);
  y.set("axis", 1);
  EXPECT_TRUE(x == y);
}

TEST(ForEachIndex, WalksRowMajorAndNoEmptyShape) {
  std::vector<std::vector<std::int64_t>> walked;
  ts::for_each_index(ts::Shape{2, 3}, [&](const ts::Shape& i) { walked.push_back({i[0], i[1]}); });
  EXPECT_EQ(walked, (std::vector<std::vector<std::int64_t>>{
                        {0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
  int times = 0;
  ts::for_each_index(ts::Shape{2, 0}, [&](const ts::Shape&) { ++times; });
  EXPECT_EQ(times, 0);
  ts::for_each_index(ts::Shape{}, [&](const ts::Shape& i) { times += i.empty() ? 1 : 100; });
  EXPECT_EQ(times, 1);
}

TEST(FunctionRef, CallsWhatItRefersTo) {
  int calls = 0;
  auto add = [&calls](int x) { return calls += x; };
  const ts::FunctionRef<int(int)> f = add;
  EXPECT_EQ(f(2), 2);
  EXPECT_EQ(f(3), 5);
  const auto constant = [](int x) { return x + 1; };
  EXPECT_EQ(ts::FunctionRef<int(int)>(constant)(1), 2);
}

}  // namespace

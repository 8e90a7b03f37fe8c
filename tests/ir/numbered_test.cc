// Equal values have one number.
#include "base/numbered.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace ts = tessera;

namespace {

struct Word {
  std::string text;
  bool operator==(const Word&) const = default;
  friend std::size_t hash_of(const Word& w) { return w.text.empty() ? 0 : w.text.size(); }
};

TEST(Numbered, NumbersValuesInTheOrderInWhichTheyCome) {
  ts::Numbered<Word> words;
  EXPECT_EQ(words.size(), 0u);
  EXPECT_EQ(words.id({"b"}), 0u);
  EXPECT_EQ(words.id({"a"}), 1u);  // of the same hash
  EXPECT_EQ(words.id({""}), 2u);
  const Word b{"b"};
  EXPECT_EQ(words.id(b), 0u);
  EXPECT_EQ(words.id({"a"}), 1u);
  EXPECT_EQ(words.size(), 3u);
  EXPECT_EQ(words[0].text, "b");
  EXPECT_EQ(words[1].text, "a");
  EXPECT_EQ(words[2].text, "");
}

TEST(Numbered, TakesAValueOnlyIfItIsNew) {
  ts::Numbered<Word> words;
  Word first{"a text that is too long to be stored in the string itself"}, again = first;
  words.id(std::move(first));
  EXPECT_EQ(words.id(std::move(again)), 0u);
  EXPECT_EQ(again.text, words[0].text);  // NOLINT: it was not taken
}

// Agrees with a map on numbers and addresses, which stay the same while the table grows. Half the
// values share 3 hashes.
TEST(Numbered, AgreesWithAMap) {
  struct Value {
    int number;
    bool operator==(const Value&) const = default;
  };
  ts::Numbered<Value> values;
  std::map<int, ts::Numbered<Value>::Id> expected;
  std::map<int, const Value*> places;
  std::mt19937 random(1);
  int made = 0;
  for (int i = 0; i < 20000; ++i) {
    const int n = static_cast<int>(random() % 4000);
    const auto hash = static_cast<std::size_t>(n % 2 ? std::int64_t{n} << 40 : n % 3);
    const auto number = static_cast<ts::Numbered<Value>::Id>(expected.size());
    const auto id = values.id(
        hash, [&](const Value& v) { return v.number == n; },
        [&] {
          ++made;
          return Value{n};
        });
    const auto [at, fresh] = expected.emplace(n, number);
    ASSERT_EQ(id, at->second);
    if (fresh) places[n] = &values[id];
  }
  EXPECT_EQ(values.size(), expected.size());
  EXPECT_EQ(static_cast<std::size_t>(made), expected.size());
  for (const auto& [n, id] : expected) {
    EXPECT_EQ(values[id].number, n);
    EXPECT_EQ(&values[id], places.at(n));
  }
}

// A value may be made of others of the same table.
TEST(Numbered, MakesValuesFromOthers) {
  ts::Numbered<std::vector<int>> lists;  // list n holds the number of list n - 1, and n
  const auto list = [&](const auto& self, int n) -> ts::Numbered<std::vector<int>>::Id {
    return lists.id(
        static_cast<std::size_t>(n),
        [&](const std::vector<int>& v) { return static_cast<int>(v.size()) == n; },
        [&] {
          std::vector<int> v = n > 0 ? lists[self(self, n - 1)] : std::vector<int>();
          if (n > 0) v.push_back(n);
          return v;
        });
  };
  EXPECT_EQ(list(list, 40), 40u);
  EXPECT_EQ(lists.size(), 41u);
  EXPECT_EQ(lists[3], (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(list(list, 17), 17u);
  EXPECT_EQ(lists.size(), 41u);
}

}  // namespace

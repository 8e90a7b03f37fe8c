// For damaged text, the parser returns a program or throws a TraceError; a program that it returns
// prints and reads back.
#include "ir/builder.h"
#include "ir/op.h"

#include <gtest/gtest.h>

#include <random>

namespace ts = tessera;

namespace {

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const auto& op : ts::Registry::get().all()) {
    if (!op->examples) continue;
    for (const ts::OpExample& e : op->examples()) {
      ts::Builder b(op->name);
      ts::Values inputs;
      for (const ts::Type& t : e.inputs) inputs.push_back(b.input(t));
      texts.push_back(to_string(*b.finish(b.emit(*op, inputs, e.attrs))));
    }
  }
  return texts;
}

// One small change: a byte, a token or a range is changed, removed, repeated or copied from
// elsewhere.
std::string mutate(std::string s, std::mt19937& random, const std::vector<std::string>& texts) {
  auto below = [&](std::size_t n) { return n ? std::size_t(random() % n) : 0; };
  static const std::vector<std::string> tokens = {"{",
                                                  "}",
                                                  "(",
                                                  ")",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  "=",
                                                  "->",
                                                  "-1",
                                                  "0",
                                                  "7",
                                                  "999999999999",
                                                  "-9223372036854775808",
                                                  "nan",
                                                  "inf",
                                                  "f32",
                                                  "i32[2]",
                                                  "bool",
                                                  "none",
                                                  "\"x\"",
                                                  "\"",
                                                  "*",
                                                  "#",
                                                  "<h>",
                                                  "true",
                                                  "\n",
                                                  "a",
                                                  "b"};
  std::size_t at = below(s.size() + 1), n = below(12);
  switch (random() % 6) {
    case 0: return s.insert(at, tokens[below(tokens.size())]);
    case 1: return s.erase(at, n);
    case 2: return s.insert(at, s.substr(below(s.size()), n));
    case 3: {
      const std::string& other = texts[below(texts.size())];
      return s.substr(0, at) + other.substr(below(other.size()));
    }
    case 4: {
      // Replaces a number by another one.
      std::size_t digit = s.find_first_of("0123456789", at);
      if (digit == std::string::npos) return s;
      std::size_t end = s.find_first_not_of("0123456789", digit);
      return s.replace(digit, end - digit, tokens[10 + below(5)]);
    }
    default:
      if (!s.empty()) s[below(s.size())] = static_cast<char>(random());
      return s;
  }
}

}  // namespace

TEST(TextFuzz, DamagedTextIsRefusedOrSound) {
  std::vector<std::string> texts = corpus();
  std::mt19937 random(20240229);
  std::size_t sound = 0;
  for (const std::string& text : texts) {
    for (int round = 0; round < 60; ++round) {
      std::string s = mutate(text, random, texts);
      if (round % 3 == 0) s = mutate(std::move(s), random, texts);
      ts::ProgramPtr p;
      try {
        p = ts::parse_program(s);
      } catch (const ts::TraceError& e) {
        EXPECT_NE(std::string(e.what()).find("line "), std::string::npos) << s;
        continue;
      } catch (const std::exception& e) {
        FAIL() << e.what() << "\n" << s;
      }
      ++sound;
      try {
        EXPECT_TRUE(same_structure(*p, *ts::parse_program(to_string(*p)))) << s;
      } catch (const std::exception& e) {
        FAIL() << e.what() << "\nfirst read from\n" << s << "printed as\n" << to_string(*p);
      }
    }
  }
  EXPECT_GT(sound, texts.size());
}

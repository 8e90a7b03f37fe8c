// The text of an error as one process passes it to others.
#include <tessera/detail/report.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace {

using tessera::detail::report_text;

TEST(Reports, ThatFitAreTheWholeText) {
  EXPECT_EQ(report_text("f: it fails", 64), "f: it fails");
  EXPECT_EQ(report_text("f: it fails\n  - a\n  rule: no\n  try: again\n", 1000),
            "f: it fails\n      - a\n      rule: no\n      try: again");
  EXPECT_EQ(report_text(std::string(64, 'x'), 64), std::string(64, 'x'));
}

TEST(Reports, ThatAreTooLongEndAfterAWholeLine) {
  // The indented lines end at bytes 40, 65 and 90. 48 bytes are kept for the last line.
  const std::string head(40, 'h'), line(20, 'l');
  EXPECT_EQ(report_text(head + "\n" + line + "\n" + line + "\n" + line, 100),
            head + "\n      (3 more lines)");
  EXPECT_EQ(report_text(head + "\n" + line + "\n" + line + "\n" + line, 113),
            head + "\n    " + line + "\n      (2 more lines)");
  EXPECT_EQ(report_text(head + "\n" + std::string(60, 'l'), 100), head + "\n      (1 more line)");
}

TEST(Reports, WhoseFirstLineIsTooLongAreCutThere) {
  EXPECT_EQ(report_text(std::string(65, 'x'), 64), std::string(16, 'x') + "...");
  EXPECT_EQ(report_text(std::string(65, 'x') + "\nb\nc", 64),
            std::string(16, 'x') + "...\n      (2 more lines)");
  // Characters of two and four bytes stay whole.
  std::string two = "x", four = "xx";
  for (int i = 0; i < 40; ++i) two += "\u00e9", four += "\U0001f600";
  EXPECT_EQ(report_text(two, 64), two.substr(0, 15) + "...");
  EXPECT_EQ(report_text(four, 64), four.substr(0, 14) + "...");
}

TEST(Reports, OfAnythingAreWithinTheirSizeAndSafeToPrint) {
  using namespace std::string_literals;
  EXPECT_EQ(report_text("", 64), "an error without a text");
  EXPECT_EQ(report_text("\n\n", 64), "an error without a text");
  EXPECT_EQ(report_text("\na", 64), "\n    a");
  EXPECT_EQ(report_text("a\0\x1b\xff\u202e"s, 64), "a\\x00\\x1b\\xff\\u{202e}");
  const std::string newlines(1 << 20, '\n');
  EXPECT_EQ(report_text("a" + newlines + "b", 64),
            "a\n    \n    \n    \n      (1048573 more lines)");
  for (const std::size_t most : {64u, 99u, 999u, 4000u})
    for (const std::string& text : {std::string(1 << 20, '\xff'), std::string(1 << 20, '\0'),
                                    std::string(1 << 20, 'x'), "a" + newlines + "b"})
      EXPECT_LE(report_text(text, most).size(), most);
}

}  // namespace

// The error of a process that gives up, as it appears in the errors of those that wait for it.
#include "processes/members.h"
#include "processes/patience.h"
#include "processes/processes.h"
#include "processes/seat.h"

#include <tessera/error.h>
#include <tessera/message.h>

#include <gtest/gtest.h>

#include <regex>
#include <source_location>
#include <string>
#include <vector>

namespace {

using namespace tessera::processes;
using processes_test::Members;

struct Failure {
  std::string problem, rule, advice;
  std::vector<std::string> lines = {};
  tessera::SourceLoc loc = {};
};

// Process 0 waits for process 1, which fails. Returns the error of process 0, with its parts that
// differ from run to run replaced by a letter.
std::string told(const Failure& failure) {
  Members members(true);
  members.join();
  std::string text;
  members.together([&](Group& group, int rank) {
    const Subject subject{7, "step", "psum", failure.loc};
    try {
      if (rank == 1)
        fail(group, subject, failure.problem, failure.rule, failure.advice, {0, failure.lines});
      Traffic traffic;
      traffic.bytes = {4, 4};
      traffic.from = {1};
      Round round(group, subject, traffic);
      (void)round.of(1);
      ADD_FAILURE() << "the other one does not come";
    } catch (const tessera::CollectiveError& e) {
      if (rank == 0) text = e.what();
    }
  });
  members.together([](Group& group, int) { group.leave(); });
  static const std::regex process("\\([^()]*, pid \\d+\\)"), time("\\d+\\.\\d s ago"),
      place("reports_test\\.cc:\\d+");
  text = std::regex_replace(text, process, "(H)");
  text = std::regex_replace(text, time, "T ago");
  return std::regex_replace(text, place, "test.cc:L");
}

// The error of process 0 around the text that process 1 left.
std::string around(const std::string& left, const std::string& place = "") {
  return "psum: process 1 gave up\n"
         "  - process 0 (H): came to psum of 'step'" +
         (place.empty() ? "" : ", " + place) + ", T ago\n  - process 1 (H): " + left +
         "\n  rule: all processes come to the same collectives in the same order, and none is "
         "waited for longer than 60 s\n" +
         (place.empty() ? "" : "  from: " + place + "\n") +
         "  try: look at what process 1 did last";
}

constexpr const char* kHead = "gave up at psum of 'step': ";  // 27 bytes

TEST(Reports, HaveAllPartsOfTheError) {
  EXPECT_EQ(told({"it has 3 rows, and process 0 has 2",
                  "all have as many: 3 is not 2",
                  "give both as many",
                  {"here 3", "there 2"}}),
            around(std::string(kHead) + "it has 3 rows, and process 0 has 2, T ago\n"
                                        "      - here 3\n"
                                        "      - there 2\n"
                                        "      rule: all have as many: 3 is not 2\n"
                                        "      try: give both as many"));
}

// The place is part of the first line.
TEST(Reports, HaveThePlaceOnce) {
  EXPECT_EQ(told({"it fails", "it does not", "again", {}, std::source_location::current()}),
            around("gave up at psum of 'step', test.cc:L: it fails, T ago\n"
                   "      rule: it does not\n"
                   "      try: again",
                   "test.cc:L"));
}

// A seat holds 999 bytes, of which 48 are kept for the last line. The first line has 35 bytes and
// each item 70, so 13 items fit. Left out are three, the line "and 4 more", the rule and the advice.
TEST(Reports, EndAfterAWholeLine) {
  Failure failure{"it fails", "it does not", "again"};
  std::string shown = std::string(kHead) + "it fails, T ago";
  for (int i = 10; i < 30; ++i) {
    failure.lines.push_back(std::to_string(i) + " " + std::string(58, 'x'));
    if (i < 23) shown += "\n      - " + failure.lines.back();
  }
  EXPECT_EQ(told(failure), around(shown + "\n      (6 more lines)"));
}

TEST(Reports, CutALineThatIsTooLong) {
  EXPECT_EQ(told({std::string(1 << 20, 'x'), "it does not", "again"}),
            around(kHead + std::string(951 - 27, 'x') + "..., T ago\n      (2 more lines)"));
  // A character has three bytes, so the 923 bytes that are left hold 307 and a part of one.
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "\u20ac";
  EXPECT_EQ(told({"a" + many, "it does not", "again"}),
            around(std::string(kHead) + "a" + many.substr(0, 3 * 307) +
                   "..., T ago\n      (2 more lines)"));
}

TEST(Reports, AreSafeToPrint) {
  using namespace std::string_literals;
  EXPECT_EQ(told({"a\0b\x1b[31m"s, "\xff\xfe", "c\r\td\nend", {"\x7f"}}),
            around(std::string(kHead) + "a\\x00b\\x1b[31m, T ago\n"
                                        "      - \\x7f\n"
                                        "      rule: \\xff\\xfe\n"
                                        "      try: c\\x0d\td\n"
                                        "    end"));
}

// A second failure, such as that of another thread, does not hide the first one.
TEST(Reports, AreOfTheFirstError) {
  Members members(true);
  members.join();
  members.together([](Group& group, int rank) {
    if (rank == 0) return;
    group.give_up("the first");
    group.give_up("the second");
  });
  EXPECT_EQ(text_of(*members.groups[0].seat(1)), "the first");
  // Both have given up by now, so neither waits for the other.
  members.together([](Group& group, int) {
    group.give_up("the end");
    group.leave();
  });
}

}  // namespace

// An error in one of several processes ends in an error in all of them.
#include "distributed/launch.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

using distributed_test::launcher;
using distributed_test::Outcome;
using distributed_test::run;
using distributed_test::starts;

// Replaces the parts that differ from run to run by a letter.
std::string without_numbers(const std::string& text) {
  static const std::regex stand("\\([^()]*, pid \\d+\\)"), time("\\d+(\\.\\d+)? s ago"),
      place("(arrays|child|collectives|faults|threads|training)\\.cc:\\d+");
  return std::regex_replace(
      std::regex_replace(std::regex_replace(text, stand, "(H)"), time, "T ago"), place,
      "child.cc:L");
}

// The output of the processes in the order of their numbers, without the launcher's.
std::string said(int processes, const std::string& mode) {
  const Outcome o = run(processes, mode);
  EXPECT_NE(o.code, 0);
  std::map<std::string, std::string> by_process;
  std::istringstream lines(o.out);
  std::string line, who;
  static const std::regex start("process (\\d+): .*");
  while (std::getline(lines, line)) {
    if (std::regex_match(line, start))
      who = line.substr(0, line.find(':'));
    else if (line.compare(0, 2, "  ") != 0)
      who.clear();
    if (who.empty()) continue;
    by_process[who] += without_numbers(line) + "\n";
  }
  std::string text;
  for (const auto& [process, words] : by_process) text += words;
  return text;
}

// Checks the output of each process. When one ends with an error, the launcher ends the others
// after a while, and they may have printed their error by then or not.
void expect_said(const std::string& text, const std::vector<std::string>& by_process) {
  std::string expected;
  for (std::size_t p = 0; p < by_process.size(); ++p)
    if (const std::string process = "process " + std::to_string(p) + ": ";
        text.find(process) != std::string::npos)
      expected += process + by_process[p];
  EXPECT_NE(expected, "");
  EXPECT_EQ(text, expected);
}

// One of two processes does not make the call that the other one waits for.
TEST(Faults, AreNamedByThoseWhoWait) {
  NEEDS_A_LAUNCHER();
  const auto waiting = [](const std::string& what, const std::string& stand,
                          const std::string& limit = "60 s") {
    return "process 0: psum: process 1 " + what +
           "\n"
           "  - process 0 (H): came to psum of 'pmap(child.cc:L)', child.cc:L, T ago\n"
           "  - process 1 (H): " +
           stand +
           ", T ago\n"
           "  rule: all processes come to the same collectives in the same order, and none is "
           "waited for longer than " +
           limit +
           "\n"
           "  from: child.cc:L\n"
           "  try: look at what process 1 did last\n";
  };
  EXPECT_EQ(said(2, "leave"), waiting("has ended", "has ended"));
  EXPECT_EQ(said(2, "give_up"), waiting("has ended", "has ended") + "process 1: no such file\n");
  // The launcher ends the others if one is killed. On a busy machine it may do so before they find
  // out.
  std::string text;
  for (int turn = 0; turn < 5 && text.empty(); ++turn) text = said(2, "die");
  // MPICH's launcher kills the others at once, so there may be no output.
  if (!text.empty() || run(launcher() + " --version").out.find("HYDRA") == std::string::npos) {
    EXPECT_EQ(text,
              waiting("has ended", "ended; was last at psum of 'pmap(child.cc:L)', child.cc:L"));
  }
  static const std::regex machine("there are [\\d.]+ \\w+, and what is alive has [\\d.]+ \\w+"),
      file("load: \\S+/tessera_bad_\\d+");
  EXPECT_EQ(
      std::regex_replace(said(2, "exhaust"), machine, "there are M, and what is alive has N"),
      waiting("has ended", "has ended") +
          "process 1: zeros: there is no memory for 4503599627370496 bytes, 4096.0 TiB: there "
          "are M, and what is alive has N\n"
          "  rule: an array's elements lie in one piece of memory, as do all temporaries of a "
          "call\n"
          "  from: child.cc:L\n"
          "  try: make the arrays smaller, or let go of some: memory_table() says what is "
          "held\n");
  EXPECT_EQ(std::regex_replace(said(2, "bad_file"), file, "load: FILE"),
            waiting("has ended", "has ended") +
                "process 1: load: FILE: it claims a header of 64 bytes, but 32 follow\n"
                "  from: child.cc:L\n"
                "  try: save the model again, or check that this is a safetensors file\n");
  EXPECT_EQ(said(2, "hang"),
            waiting("did not come within 1.0 s",
                    "was last at psum of 'pmap(child.cc:L)', child.cc:L", "1.0 s"));
}

// With TESSERA_LOG=progress, the watchdog reports a long wait before it becomes an error.
TEST(WatchDog, SaysWhereEverybodyStands) {
  NEEDS_A_LAUNCHER();
  ::setenv("TESSERA_LOG", "progress", 1);
  const Outcome o = run(2, "hang");
  ::unsetenv("TESSERA_LOG");
  static const std::regex waited("for 0\\.\\d s now");
  const std::string text = std::regex_replace(without_numbers(o.out), waited, "for W now");
  const std::string report =
      "psum: process 0 waits for process 1, for W now\n"
      "  - process 0 (H): came to psum of 'pmap(child.cc:L)', child.cc:L, T ago\n"
      "  - process 1 (H): was last at psum of 'pmap(child.cc:L)', child.cc:L, T ago\n"
      "  rule: a wait ends in an error after 1.0 s\n"
      "  from: child.cc:L\n";
  EXPECT_NE(text.find(report), std::string::npos) << text;
}

// The output of each process, without the positions that the processes were at, which may vary.
std::string said_whatever_stands(int processes, const std::string& mode) {
  static const std::regex stands("\\(H\\): [^\n]*(\n      [^\n]*)*");
  return std::regex_replace(said(processes, mode), stands, "(H): S");
}

// If two processes run different programs, each names both and the first equation that differs,
// whichever of them finds out.
TEST(Faults, ProgramsThatDifferAreNamedByBoth) {
  NEEDS_A_LAUNCHER();
  struct Case {
    std::string mode, call, equations[2];
  };
  const Case cases[] = {
      {"differ",
       "psum of 'pmap(child.cc:L)', child.cc:L",
       {"d: f32[1,4] = reshape c [shape=(1, 4)], behind child.cc:L",
        "d: f32[] = constant [value=f32[] 8.0], child.cc:L"}},
      {"differ_within",
       "psum of 'pmap(child.cc:L)', child.cc:L",
       {"d: f32[4] = cos c, child.cc:L", "d: f32[4] = sin c, child.cc:L"}},
      {"differ_in_shapes",
       "psum of 'pmap(child.cc:L)', child.cc:L",
       {"(a: f32[8,4])", "(a: f32[8,5])"}},
      {"differ_in_loops",
       "psum of 'fori_loop body', child.cc:L",
       {"c: i32[3] = iota [dtype=i32, shape=(3), dimension=0], child.cc:L",
        "c: i32[4] = iota [dtype=i32, shape=(4), dimension=0], child.cc:L"}},
  };
  for (const char* apart : {"0", "1"}) {
    ::setenv("TESSERA_APART", apart, 1);
    for (const Case& c : cases) {
      SCOPED_TRACE(c.mode + (apart[0] == '1' ? " by messages" : ""));
      std::vector<std::string> texts;
      for (const int p : {0, 1}) {
        const std::string other = "process " + std::to_string(1 - p),
                          stand = apart[0] == '1' ? ": on another machine\n" : " (H): S\n",
                          own = " (H): S\n";
        texts.push_back("psum: " + other + " came to " + c.call + ", this one to " + c.call +
                        "\n  - the first equation that differs is here " + c.equations[p] +
                        "\n  - and in " + other + " " + c.equations[1 - p] + "\n  - process 0" +
                        (p == 0 ? own : stand) + "  - process 1" + (p == 1 ? own : stand) +
                        "  rule: all processes make the same calls in the same order\n"
                        "  from: child.cc:L\n"
                        "  try: look for what depends on process_index(), on a clock or on files "
                        "that differ\n");
      }
      const std::string text = said_whatever_stands(2, c.mode);
      // The launcher may already have ended a process on another machine.
      if (apart[0] == '1')
        expect_said(text, texts);
      else
        EXPECT_EQ(text, "process 0: " + texts[0] + "process 1: " + texts[1]);
    }
  }
  ::unsetenv("TESSERA_APART");
}

// A process that only sent has continued meanwhile.
TEST(Faults, ProgramsThatDifferAreNamedByWhoWentOn) {
  NEEDS_A_LAUNCHER();
  const std::string here =
                        "c: f32[4] = ppermute b [axes=(\"i\"), size=8, perm=((7, 0))], child.cc:L",
                    there = "c: i32[] = constant [value=i32[] 3, weak=true], child.cc:L";
  for (const std::string apart : {"0", "1"}) {
    SCOPED_TRACE(apart == "1" ? "by messages" : "by memory");
    ::setenv("TESSERA_APART", apart.c_str(), 1);
    const auto ending = [&](int process) {
      std::string text;
      for (const int p : {0, 1})
        text += "  - process " + std::to_string(p) +
                (apart == "1" && p != process ? ": on another machine\n" : " (H): S\n");
      return text +
             "  rule: all processes make the same calls in the same order\n"
             "  from: child.cc:L\n"
             "  try: look for what depends on process_index(), on a clock or on files that "
             "differ\n";
    };
    EXPECT_EQ(
        said_whatever_stands(2, "differ_one_way"),
        "process 0: ppermute: process 1 came to ppermute of 'pmap(child.cc:L)', child.cc:L, this "
        "one to ppermute of 'pmap(child.cc:L)', child.cc:L\n"
        "  - the first equation that differs is here " +
            here + "\n  - and in process 1 " + there + "\n" + ending(0) +
            "process 1: psum: process 0 came to ppermute of 'pmap(child.cc:L)', child.cc:L, this "
            "one to 'pmap(child.cc:L)'\n"
            "  - the first equation that differs is here " +
            there + "\n  - and in process 0 " + here + "\n" + ending(1));
  }
  ::unsetenv("TESSERA_APART");
}

// A process that only sent and has ended shows its program to the process that finds out, before
// the error of that one ends both.
TEST(Faults, ProgramsThatDifferAreNamedThoughTheOtherOneHasEnded) {
  NEEDS_A_LAUNCHER();
  for (const char* apart : {"0", "1"}) {
    SCOPED_TRACE(apart[0] == '1' ? "by messages" : "by memory");
    ::setenv("TESSERA_APART", apart, 1);
    EXPECT_EQ(
        said_whatever_stands(2, "differ_one_way_and_end"),
        std::string("process 0: ppermute: process 1 came to ppermute of 'pmap(child.cc:L)', "
                    "child.cc:L, this one to ppermute of 'pmap(child.cc:L)', child.cc:L\n"
                    "  - the first equation that differs is here c: f32[4] = ppermute b "
                    "[axes=(\"i\"), size=8, perm=((7, 0))], child.cc:L\n"
                    "  - and in process 1 c: i32[] = constant [value=i32[] 3, weak=true], "
                    "child.cc:L\n"
                    "  - process 0 (H): S\n") +
            (apart[0] == '1' ? "  - process 1: on another machine\n" : "  - process 1 (H): S\n") +
            "  rule: all processes make the same calls in the same order\n"
            "  from: child.cc:L\n"
            "  try: look for what depends on process_index(), on a clock or on files that "
            "differ\n");
  }
  ::unsetenv("TESSERA_APART");
}

// With four processes, those that do not find out themselves are told by the processes that they
// wait for.
TEST(Faults, ProgramsThatDifferAreNamedByAll) {
  NEEDS_A_LAUNCHER();
  const std::string text = said(4, "differ_within");
  for (int p = 0; p < 4; ++p) {
    const std::size_t begin = text.find("process " + std::to_string(p) + ": psum: ");
    ASSERT_NE(begin, std::string::npos) << p << ": " << text;
    const std::string own = text.substr(begin, text.find("\n  try: ", begin) - begin);
    for (const char* part : {"psum of 'pmap(child.cc:L)', child.cc:L",
                             "d: f32[4] = cos c, child.cc:L", "d: f32[4] = sin c, child.cc:L"})
      EXPECT_NE(own.find(part), std::string::npos) << p << " without " << part << ": " << own;
  }
}

TEST(Faults, CallsThatDifferAreFoundAtOnce) {
  NEEDS_A_LAUNCHER();
  const auto text = [](const std::string& problem) {
    return problem +
           "\n"
           "  - process 0 (H): S\n"
           "  - process 1 (H): S\n"
           "  rule: all processes make the same calls in the same order, with arrays of one shape "
           "and dtype\n"
           "  from: child.cc:L\n"
           "  try: look for what depends on process_index(), on a clock or on files that differ\n";
  };
  expect_said(said_whatever_stands(2, "other_shapes"),
              {text("process_allgather: process 1 has 16 bytes for it, this one 12"),
               text("process_allgather: process 0 has 12 bytes for it, this one 16")});
  expect_said(said_whatever_stands(2, "other_calls"),
              {text("barrier: process 1 came to process_allgather"),
               text("process_allgather: process 0 came to barrier")});
}

// If the calls of two threads have no order, there is a warning about the race, and advice in the
// error if the race was lost.
TEST(Threads, ThatNothingOrdersAreNamed) {
  NEEDS_A_LAUNCHER();
  const std::string text = without_numbers(run(2, "race").out);
  const std::string warning =
      "pmap(child.cc:L): a second thread makes calls that all processes make\n"
      "  rule: they come in one order in all processes, and that of two threads is not known\n"
      "  try: distributed::initialize({.several_threads = true}), or make them by one thread\n";
  const std::size_t first = text.find(warning);
  ASSERT_NE(first, std::string::npos) << text;
  const std::string advice =
      "  try: several threads make such calls: distributed::initialize({.several_threads = "
      "true})\n";
  EXPECT_NE(text.find(advice), std::string::npos) << text;
}

// It is not known which of two threads comes first, so they are identified by the program that they
// begin with.
TEST(Threads, ThatBeginAlikeAreRefused) {
  NEEDS_A_LAUNCHER();
  const std::string text =
      "pmap(child.cc:L): two threads call the same program first\n"
      "  rule: several threads of each process make calls in the order in which those of process 0 "
      "do, and a thread is known by the first program that it calls\n"
      "  try: give each thread a program of its own to begin with: a jit with another name\n";
  expect_said(said(2, "like_threads"), {text, text});
}

// A process that takes several branches must have the same devices' coordinates in each, so that all
// processes reach the same collectives.
TEST(Branches, OfStagesThatProcessesShareInPartsAreRefused) {
  NEEDS_A_LAUNCHER();
  const std::string text =
      "cond: devices of several processes go ways of their own, in which they communicate, and one "
      "process has some of one way with others of another\n"
      "  rule: all processes come to the same collectives in the same order\n"
      "  from: child.cc:L\n"
      "  try: a mesh whose axes part the processes' devices into blocks, as one of all devices in "
      "their order does\n";
  expect_said(said(4, "mixed_ways"), {text, text, text, text});
}

// Meshes of different processes in one program, and a value that must be whole in a process that
// has none of it.
TEST(Faults, WhatSomeProcessesHaveIsNotComputedByOthers) {
  NEEDS_A_LAUNCHER();
  const std::string two =
      "jit: it runs on several meshes: one has devices of processes 0, 1, 2, 3, another one of "
      "processes 1, 2\n"
      "  rule: the meshes of one program lie on the same processes\n"
      "  try: a call for each mesh\n";
  expect_said(said(4, "two_meshes"), {two, two, two, two});
  const std::string other =
      "item: the array f32[] lies on 1 devices, of which 0 are this process's\n"
      "  rule: a process reads what its own devices have\n"
      "  from: child.cc:L\n"
      "  try: gather it in all processes with process_allgather(x), or read x.shards()\n";
  EXPECT_EQ(said(2, "first_ones"), "process 1: " + other);
}

TEST(Faults, WhatIsElsewhereIsNeitherReadNorPlaced) {
  NEEDS_A_LAUNCHER();
  const std::string read =
      "to_vector: the array f32[8,2] lies on 8 devices, of which 4 are this process's\n"
      "  rule: a process reads what its own devices have\n"
      "  from: child.cc:L\n"
      "  try: gather it in all processes with process_allgather(x), or read x.shards()\n";
  expect_said(said(2, "read"), {read, read});
  const auto place = [](const char* device, const char* process, const char* own) {
    return std::string("device_put: device ") + device + " is of process " + process +
           "\n  rule: a process places arrays on its own devices, here " + own +
           "\n  from: child.cc:L\n"
           "  try: take one of local_devices(), or a sharding over devices of all processes\n";
  };
  expect_said(said(2, "place"), {place("7", "1", "0 to 3"), place("3", "0", "4 to 7")});
}

// The error of an exchange that overlaps work is the error of the call.
TEST(Exchanges, BesideWorkFailAsOthersDo) {
  NEEDS_A_LAUNCHER();
  const Outcome o = run(2, "leave_beside");
  EXPECT_NE(o.code, 0);
  const std::string text = without_numbers(o.out);
  const std::string report =
      "process 0: in the call of 'jit(child.cc:L)', which ran asynchronously:\n"
      "all_gather: process 1 has ended\n"
      "  - process 0 (H): came to all_gather of 'jit', child.cc:L, T ago\n"
      "  - process 1 (H): has ended, T ago\n"
      "  rule: all processes come to the same collectives in the same order, and none is waited "
      "for "
      "longer than 60 s\n"
      "  from: child.cc:L\n"
      "  try: look at what process 1 did last\n";
  EXPECT_NE(text.find(report), std::string::npos) << text;
}

}  // namespace

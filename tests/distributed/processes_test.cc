// Programs in one process and in several give the same bits; what goes wrong in one of several ends
// in an error in all of them.
#include "distributed/launch.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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

Outcome run(int processes, const std::string& mode) {
  const std::string child = std::string(DISTRIBUTED_CHILD) + " " + mode;
  if (processes == 0) return run(child);
  return run(launcher() + " -n " + std::to_string(processes) + " " + child);
}

std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t line = 0;
  while (true) {
    const std::size_t x = a.find('\n', line), y = b.find('\n', line);
    const std::string s = a.substr(line, x - line), t = b.substr(line, y - line);
    if (s != t) return s.substr(0, 300) + "\nfor\n" + t.substr(0, 300);
    if (x == std::string::npos) return "none";
    line = x + 1;
  }
}

class Processes : public testing::TestWithParam<std::string> {};

TEST_P(Processes, GiveTheBitsOfOne) {
  NEEDS_A_LAUNCHER();
  ::setenv("SET_NUMBER", std::to_string(::getpid()).c_str(), 1);  // of a file of this test's own
  const Outcome one = run(0, GetParam());
  ASSERT_EQ(one.code, 0) << one.out;
  ASSERT_GT(std::count(one.out.begin(), one.out.end(), '\n'), 3);
  for (const int n : {1, 2, 4, 8}) {
    const Outcome several = run(n, GetParam());
    EXPECT_EQ(several.code, 0) << n << " processes: " << several.out;
    EXPECT_TRUE(several.out == one.out)
        << n << " processes: " << first_difference(several.out, one.out);
  }
  ::setenv("TESSERA_APART", "1", 1);
  const Outcome apart = run(4, GetParam());
  ::unsetenv("TESSERA_APART");
  EXPECT_EQ(apart.code, 0) << apart.out;
  EXPECT_TRUE(apart.out == one.out)
      << "on machines of their own: " << first_difference(apart.out, one.out);
}

INSTANTIATE_TEST_SUITE_P(Programs, Processes,
                         testing::Values("maps", "steps", "arrays", "meshes", "large", "sums",
                                         "beside", "scans", "odd_ones", "local_data", "data_set", "ways",
                                         "some"),
                         [](const auto& info) { return info.param; });

// The others end, and wait for it as long as it lives, not only for their timeout of a second.
TEST(Ends, OfOneProcessAreWaitedFor) {
  NEEDS_A_LAUNCHER();
  const Outcome o = run(2, "finish_late");
  EXPECT_EQ(o.code, 0) << o.out;
  EXPECT_NE(o.out.find("written\n"), std::string::npos) << o.out;
}

TEST(Devices, AreNumberedThroughTheProcesses) {
  NEEDS_A_LAUNCHER();
  const Outcome o = run(2, "count");
  EXPECT_EQ(o.code, 0);
  for (const char* line :
       {"process 0 of 2: devices 8, 4 of them mine [CpuDevice(id=0), CpuDevice(id=1), "
        "CpuDevice(id=2), CpuDevice(id=3)]\n",
        "process 1 of 2: devices 8, 4 of them mine [CpuDevice(id=4), CpuDevice(id=5), "
        "CpuDevice(id=6), CpuDevice(id=7)]\n"})
    EXPECT_NE(o.out.find(line), std::string::npos) << o.out;
}

// An axis between processes is called so; one between machines costs more where nobody says what.
TEST(Plans, KnowWhoseDevicesAre) {
  NEEDS_A_LAUNCHER();
  const auto said = [](const std::string& data, const std::string& model,
                       const std::string& seconds, const std::string& spread) {
    return "  communication  " + seconds + " us: 7 B received in 1 collective\n    along 'data' " +
           data + "\n    along 'model' 2.00 us: " + model +
           "\n  memory         2.36 MB: arguments 1.31 MB, results 4 B, temporaries 1.05 "
           "MB\ndata: " +
           spread + "\nmodel: 1 processes, 1 machines, 1e-06 s, 5e+10 B/s\n";
  };
  EXPECT_EQ(run(0, "explain").out,
            said("4.00 us: 6 B", "1 B", "6.00", "1 processes, 1 machines, 1e-06 s, 5e+10 B/s"));
  EXPECT_EQ(run(4, "explain").out, said("4.00 us: 6 B, between 4 processes", "1 B", "6.00",
                                        "4 processes, 1 machines, 1e-06 s, 5e+10 B/s"));
  ::setenv("TESSERA_APART", "1", 1);
  EXPECT_EQ(run(4, "explain").out, said("20.0 us: 3 B, between 4 machines", "4 B", "22.0",
                                        "4 processes, 4 machines, 5e-06 s, 2.5e+10 B/s"));
  ::unsetenv("TESSERA_APART");
}

// All processes measure the same, so that they plan the same.
TEST(Plans, AreCalibratedByTheJob) {
  NEEDS_A_LAUNCHER();
  const Outcome o = run(2, "calibrate");
  EXPECT_EQ(o.code, 0) << o.out;
  std::istringstream lines(o.out);
  std::string line;
  std::vector<std::string> speeds;
  while (std::getline(lines, line))
    if (line.find("process ") == 0) speeds.push_back(line.substr(line.find(':')));
  ASSERT_EQ(speeds.size(), 2u) << o.out;
  EXPECT_EQ(speeds[0], speeds[1]);
  std::istringstream words(speeds[0].substr(1));
  std::string axis, number;
  for (const char* name : {"data", "model"}) {
    words >> axis;
    EXPECT_EQ(axis, name);
    words >> number;
    EXPECT_GE(std::strtod(number.c_str(), nullptr), 0);
    words >> number;
    EXPECT_GT(std::strtod(number.c_str(), nullptr), 0);
  }
  for (int i = 0; i < 2; ++i) {
    words >> number;
    EXPECT_GT(std::strtod(number.c_str(), nullptr), 1e6);
  }
}

TEST(Devices, OfAProcessAreInItsTable) {
  NEEDS_A_LAUNCHER();
  const Outcome o = run(2, "table");
  EXPECT_EQ(o.code, 0) << o.out;
  for (const char* text :
       {"process 0 of 2, each with 4 of 8 devices\ndevice                     live         peak\n"
        "CpuDevice(id=0)          4096 B ",
        "process 1 of 2, each with 4 of 8 devices\ndevice                     live         peak\n"
        "CpuDevice(id=4)          4096 B "})
    EXPECT_NE(o.out.find(text), std::string::npos) << o.out;
}

#ifdef DISTRIBUTED_EXAMPLE
std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The example of the README: what is trained is the same to the last bit, and one process reports.
TEST(Examples, TrainTheSameModel) {
  NEEDS_A_LAUNCHER();
  const auto folder =
      std::filesystem::temp_directory_path() / ("tessera_processes_" + std::to_string(::getpid()));
  const auto train = [&](int processes) {
    const std::string out = (folder / std::to_string(processes)).string();
    std::string command = std::string(DISTRIBUTED_EXAMPLE) + " --steps 12 --out " + out;
    if (processes > 1) command = launcher() + " -n " + std::to_string(processes) + " " + command;
    const Outcome o = run(command);
    EXPECT_EQ(o.code, 0) << o.out;
    std::size_t reports = 0;
    for (std::size_t at = 0; (at = o.out.find("wrote model.safetensors", at)) != std::string::npos;
         ++at)
      ++reports;
    EXPECT_EQ(reports, 1u) << o.out;
    return contents(std::filesystem::path(out) / "model.safetensors");
  };
  const std::string one = train(1);
  EXPECT_GT(one.size(), 10000u);
  EXPECT_TRUE(train(2) == one);
  EXPECT_TRUE(train(4) == one);
  std::filesystem::remove_all(folder);
}
#endif

#ifdef DISTRIBUTED_SUITE
// The suite of meshes, whose tests read what they compute: drawn programs among them, partitioned and
// compiled, against the evaluator of one device.
TEST(Suites, OfMeshesPass) {
  NEEDS_A_LAUNCHER();
  ::setenv("TESSERA_GATHER_READS", "1", 1);
  const Outcome o =
      run("timeout -k 5 500 " + std::string(DISTRIBUTED_LAUNCHER) + " -n 4 " + DISTRIBUTED_SUITE +
          " --gtest_color=no --gtest_filter=-PartitionRandom.GivesWhatEachOpGives");
  EXPECT_EQ(o.code, 0) << o.out;
  static const std::regex passed("\\[  PASSED  \\] (\\d+) tests");
  int tests = 0, processes = 0;
  for (auto at = std::sregex_iterator(o.out.begin(), o.out.end(), passed);
       at != std::sregex_iterator(); ++at, ++processes)
    tests = std::stoi((*at)[1]);
  EXPECT_EQ(processes, 4);
  EXPECT_GT(tests, 250);
  ::unsetenv("TESSERA_GATHER_READS");
}
#endif

#ifdef DISTRIBUTED_EXAMPLES
// Programs that read what others have run as they are with TESSERA_GATHER_READS=1, and say what they
// say in one process, but for times and for what this process has in memory.
TEST(Examples, SayTheSame) {
  NEEDS_A_LAUNCHER();
  const auto folder =
      std::filesystem::temp_directory_path() / ("tessera_examples_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  ::setenv("TESSERA_GATHER_READS", "1", 1);
  ::setenv("NO_COLOR", "1", 1);  // a launcher may give a terminal
  static const std::regex own(
      "[Tt]ime:|Speedup|Best strategy|temporaries|KiB| B  |^process \\d+ of |^(replicated "
      "weights|shards of data|results) ");
  const auto said = [&](const std::string& command) {
    const Outcome o = run("cd " + folder.string() + " && " + command);
    EXPECT_EQ(o.code, 0) << o.out;
    std::istringstream lines(o.out);
    std::string line, text;
    while (std::getline(lines, line))
      if (!std::regex_search(line, own)) text += line + "\n";
    return text;
  };
  std::istringstream examples(DISTRIBUTED_EXAMPLES);
  std::string example;
  int compared = 0;
  const auto compare = [&](const std::string& command, const std::vector<int>& counts) {
    const std::string one = said(command);
    EXPECT_GT(std::count(one.begin(), one.end(), '\n'), 15) << command;
    for (const int n : counts) {
      const std::string several = said(launcher() + " -n " + std::to_string(n) + " " + command);
      EXPECT_TRUE(several == one) << command << ": " << first_difference(several, one);
      ++compared;
    }
  };
  while (std::getline(examples, example, ',')) {
    compare(example, {2, 4});
    // A process has a device at least; one of the examples has eight anyhow.
    const bool eight = example.find("training_techniques") != std::string::npos;
    compare(example + (eight ? "" : " --devices 8"), {8});
  }
  EXPECT_EQ(compared, 21);
  ::unsetenv("TESSERA_GATHER_READS");
  ::unsetenv("NO_COLOR");
  std::filesystem::remove_all(folder);
}
#endif

#ifdef MANY_PROCESSES
// One of four processes kills itself; two go on, and end where a run ends that nothing happened to.
TEST(Examples, GoOnWithTheProcessesThatAreLeft) {
  NEEDS_A_LAUNCHER();
  const auto folder =
      std::filesystem::temp_directory_path() / ("tessera_left_" + std::to_string(::getpid()));
  const std::string program = MANY_PROCESSES,
                    options = " --data " TESSERA_SOURCE_DIR "/data --steps 60 --every 10 --out ",
                    disturbed = (folder / "disturbed").string(),
                    undisturbed = (folder / "undisturbed").string();
  const Outcome all = run(program + options + undisturbed);
  EXPECT_EQ(all.code, 0) << all.out;
  const Outcome left =
      run("MPIEXEC=" DISTRIBUTED_LAUNCHER " timeout -k 5 120 " + std::string(MANY_PROCESSES_RUN) +
          " --processes 4 " + program + options + disturbed + " --die-at 25");
  EXPECT_EQ(left.code, 0) << left.out;
  EXPECT_NE(left.out.find("goes on from step "), std::string::npos) << left.out;
  EXPECT_NE(left.out.find("\n2 processes, Mesh('data': 8)\n"), std::string::npos) << left.out;
  const Outcome same =
      run(std::string(TESSERA_COMMAND) + " checkpoint diff " + undisturbed + " " + disturbed);
  EXPECT_EQ(same.code, 0);
  EXPECT_EQ(same.out, "steps 60 and 60 are equal to the bit\n");
  std::filesystem::remove_all(folder);
}
#endif

// With a letter for what differs from run to run.
std::string without_numbers(const std::string& text) {
  static const std::regex stand("\\([^()]*, pid \\d+\\)"), time("\\d+(\\.\\d+)? s ago"),
      place("child\\.cc:\\d+");
  return std::regex_replace(
      std::regex_replace(std::regex_replace(text, stand, "(H)"), time, "T ago"), place,
      "child.cc:L");
}

// What the processes say, without the launcher's words, in the order of their numbers.
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

// What each process says. One that ends with an error has the launcher end the others after a while,
// which may have said it by then or not.
void expect_said(const std::string& text, const std::vector<std::string>& by_process) {
  std::string expected;
  for (std::size_t p = 0; p < by_process.size(); ++p)
    if (const std::string process = "process " + std::to_string(p) + ": ";
        text.find(process) != std::string::npos)
      expected += process + by_process[p];
  EXPECT_NE(expected, "");
  EXPECT_EQ(text, expected);
}

// One of two processes does not come to what the other one waits for.
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
  EXPECT_EQ(said(2, "leave"), waiting("has come to its end", "has come to its end"));
  EXPECT_EQ(said(2, "give_up"),
            waiting("has come to its end", "has come to its end") + "process 1: no such file\n");
  // The launcher ends the others where one is killed; on a busy machine it may be quicker than they.
  std::string text;
  for (int turn = 0; turn < 5 && text.empty(); ++turn) text = said(2, "die");
  // MPICH's kills them at once.
  if (!text.empty() || run(launcher() + " --version").out.find("HYDRA") == std::string::npos) {
    EXPECT_EQ(text,
              waiting("has ended", "ended; was last at psum of 'pmap(child.cc:L)', child.cc:L"));
  }
  EXPECT_EQ(said(2, "hang"),
            waiting("did not come within 1.0 s",
                    "was last at psum of 'pmap(child.cc:L)', child.cc:L", "1.0 s"));
}

// Before it is an error, for those who ask.
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

// Both of two processes that came to different programs say so, the second perhaps that the first
// did.
TEST(Faults, ProgramsThatDifferAreFoundAtOnce) {
  NEEDS_A_LAUNCHER();
  const std::string text = said(2, "differ");
  const auto differs = [](const char* other) {
    return std::string("psum: process ") + other +
           " came to psum of 'pmap(child.cc:L)', child.cc:L, this one to psum of "
           "'pmap(child.cc:L)', child.cc:L\n";
  };
  EXPECT_TRUE(text.find("process 0: " + differs("1")) != std::string::npos ||
              text.find("process 1: " + differs("0")) != std::string::npos)
      << text;
  for (const char* process : {"process 0: psum: ", "process 1: psum: "})
    EXPECT_NE(text.find(process), std::string::npos) << text;
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
  // Where the other one stands by then is a matter of time.
  static const std::regex stands("\\(H\\): [^\n]*");
  const auto stripped = [](const std::string& mode) {
    return std::regex_replace(said(2, mode), stands, "(H): S");
  };
  expect_said(stripped("other_shapes"),
              {text("process_allgather: process 1 has 16 bytes for it, this one 12"),
               text("process_allgather: process 0 has 12 bytes for it, this one 16")});
  expect_said(stripped("other_calls"), {text("barrier: process 1 came to process_allgather"),
                                        text("process_allgather: process 0 came to barrier")});
}

// Which of two threads comes first is not known, so that they are told apart by what they come to.
TEST(Threads, ThatBeginAlikeAreRefused) {
  NEEDS_A_LAUNCHER();
  const std::string text =
      "pmap(child.cc:L): two threads call the same program first\n"
      "  rule: several threads of each process make calls in the order in which those of process 0 "
      "do, and a thread is known by the first program that it calls\n"
      "  try: give each thread a program of its own to begin with: a jit with another name\n";
  expect_said(said(2, "like_threads"), {text, text});
}

// What a process has of one way it has of each that it goes, so that all come to the same.
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

// Meshes of different processes in one program, and what is to be whole where none of it is.
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

}  // namespace

// What processes exchange for one layer goes on beside the work of another; one alone exchanges
// nothing.
TEST(Exchanges, GoOnBesideWork) {
  NEEDS_A_LAUNCHER();
  const auto plans = [](int n) { return run(n, "beside_plans").out; };
  EXPECT_EQ(plans(0), "replicated: 0 of 1\nsharded: 0 of 14\n");
  EXPECT_EQ(plans(2), "replicated: 2 of 2\nsharded: 4 of 19\n");
}

// The error of an exchange that goes on beside work is that of the call.
TEST(Exchanges, BesideWorkFailAsOthersDo) {
  NEEDS_A_LAUNCHER();
  EXPECT_EQ(said(2, "leave_beside"), "");
}

// Settings, values and calls that processes must have in common. If they differ, each process
// reports it at the next exchange, and none waits for ever.
#include "distributed/launch.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;
using distributed_test::launcher;
using distributed_test::Outcome;
using distributed_test::run;
using distributed_test::starts;

// The text without the parts that differ from run to run.
std::string plain(const std::string& text) {
  static const std::regex stand("\\([^()]*, pid \\d+\\): [^\n]*(\n      [^\n]*)*"),
      line("\\w+\\.cc:\\d+");
  return std::regex_replace(std::regex_replace(text, stand, "(H): S"), line, "child.cc:L");
}
// The output of each process, by its number, without the launcher's.
std::map<int, std::string> said(const std::string& out) {
  std::map<int, std::string> by_process;
  std::istringstream lines(out);
  std::string line;
  static const std::regex start("process (\\d+)[: ].*");
  std::smatch m;
  int who = -1;
  while (std::getline(lines, line)) {
    if (std::regex_match(line, m, start))
      who = std::stoi(m[1]);
    else if (!line.starts_with("  "))
      who = -1;
    if (who >= 0) by_process[who] += line + "\n";
  }
  return by_process;
}
void expect_fault(const std::string& mode, const std::string& name, const std::string& subject,
                  const std::string& differs_0, const std::string& differs_1) {
  SCOPED_TRACE(mode);
  const Outcome o = run(2, mode);
  EXPECT_NE(o.code, 0);
  static const std::regex lines(", child\\.cc:L|  from: [^\n]*\n");
  const std::map<int, std::string> texts = said(std::regex_replace(plain(o.out), lines, ""));
  EXPECT_FALSE(texts.empty()) << o.out;
  // When the first process ends, the launcher ends the other one.
  for (const auto& [p, text] : texts)
    EXPECT_EQ(
        text,
        "process " + std::to_string(p) + ": " + name + ": process " + std::to_string(1 - p) +
            " came to " + subject + ", with other inputs than this one\n  - " +
            (p == 0 ? differs_0 : differs_1) +
            "\n  - process 0 (H): S\n  - process 1 (H): S\n"
            "  rule: uncommitted arrays and those that device_put places must be the same in all "
            "processes, which make the same calls in the same order\n"
            "  try: look for what depends on process_index(), on a clock or on files that "
            "differ, and for a call that one process makes alone\n");
}

}  // namespace

// The call is paired with the next call of the other processes; without the check, both would read
// the sum of unrelated rows.
TEST(Agreement, FindsACallThatOneProcessMakesAlone) {
  NEEDS_A_LAUNCHER();
  const std::string subject = "psum of 'pmap(child.cc:L)'";
  expect_fault("extra_call_of_parts", "psum", subject,
               "args[0], f32[8,4], comes from different calls here than in process 1",
               "args[0], f32[8,4], comes from different calls here than in process 0");
  expect_fault("extra_call_of_results", "psum", subject,
               "args[0], f32[8,4], comes from different calls here than in process 1",
               "args[0], f32[8,4], comes from different calls here than in process 0");
  const Outcome o = run(2, "extra_call");
  EXPECT_NE(o.code, 0);
  static const std::regex number("-?\\d+\\.\\d+(e-\\d+)?");
  EXPECT_NE(std::regex_replace(plain(o.out), number, "N")
                .find("psum: process 1 came to " + subject +
                      ", child.cc:L, with other inputs than this one\n"
                      "  - args[0], f32[8,4], is at [0,0] N here and N in process 1\n"),
            std::string::npos)
      << o.out;
}

TEST(Agreement, LeavesWhatAProcessComputesForItselfAlone) {
  NEEDS_A_LAUNCHER();
  const Outcome one = run(0, "calls_of_its_own"), two = run(2, "calls_of_its_own");
  EXPECT_EQ(one.code, 0) << one.out;
  EXPECT_EQ(two.code, 0) << two.out;
  EXPECT_EQ(one.out, two.out);
}

TEST(Agreement, NamesTheInputAndTheElementThatDiffer) {
  NEEDS_A_LAUNCHER();
  const auto differs = [](const std::string& what, const std::string& at, const std::string& here,
                          const std::string& there, int other) {
    return what + ", is" + at + " " + here + " here and " + there + " in process " +
           std::to_string(other);
  };
  const auto both = [&](const std::string& mode, const std::string& name,
                        const std::string& subject, const std::string& what, const std::string& at,
                        const std::string& first, const std::string& second) {
    expect_fault(mode, name, subject, differs(what, at, first, second, 1),
                 differs(what, at, second, first, 0));
  };
  both("put_differs", "psum", "psum of 'jit'", "args[0], f32[2,4]", " at [1,1]", "6.0", "7.0");
  both("argument_differs", "psum", "psum of 'jit'", "args[0]/b, f32[3]", " at [2]", "3.0", "4.0");
  both("capture_differs", "psum", "psum of 'jit'", "capture 0, f32[]", "", "0.5", "1.5");
  ::setenv("TESSERA_COMPARE", "all", 1);
  both("large_differs", "psum", "psum of 'jit'", "args[0], f32[5000]", " at [1001]", "1.0", "2.0");
  ::setenv("TESSERA_COMPARE", "small", 1);
  EXPECT_EQ(run(2, "large_differs").out, "not compared\n");
  ::setenv("TESSERA_COMPARE", "off", 1);
  EXPECT_EQ(run(2, "argument_differs").code, 0);
  ::unsetenv("TESSERA_COMPARE");
}

TEST(Agreement, ComparesSettingsWhenProcessesJoin) {
  NEEDS_A_LAUNCHER();
  const auto expect = [](const std::string& one, const std::string& line,
                         const std::string& advice) {
    SCOPED_TRACE(one);
    ::setenv("ONE_HAS", one.c_str(), 1);
    const Outcome o = run(2, "settings_differ");
    ::unsetenv("ONE_HAS");
    EXPECT_NE(o.code, 0);
    const std::map<int, std::string> texts = said(plain(o.out));
    EXPECT_FALSE(texts.empty()) << o.out;
    for (const auto& [p, text] : texts)
      EXPECT_EQ(text,
                "process " + std::to_string(p) +
                    ": initialize: processes have settings that differ\n  - " + line +
                    "\n  rule: settings that change programs, their bits or what is exchanged are "
                    "those of all\n  from: child.cc:L\n  try: " +
                    advice + "\n");
  };
  for (const char* name : {"TESSERA_APART", "TESSERA_ISOLATE", "TESSERA_FLUSH_DENORMAL"})
    expect(name + std::string("=1"), name + std::string(" is 0 in process 0, 1 in process 1"),
           "set it for all: mpirun -x " + std::string(name) + " ./program");
  expect("TESSERA_DEVICES=4", "TESSERA_DEVICES is not set in process 0, 4 in process 1",
         "set it for all: mpirun -x TESSERA_DEVICES ./program");
  expect("THREADS=1", "InitializeOptions::several_threads is false in process 0, true in process 1",
         "the same options in all processes");
}

TEST(Agreement, OfTheNumberOfDevices) {
  NEEDS_A_LAUNCHER();
  const std::map<int, std::string> cores = said(run(2, "cores_differ").out);
  EXPECT_EQ(cores, (std::map<int, std::string>{{0, "process 0 has 4 devices\n"},
                                               {1, "process 1 has 4 devices\n"}}));
  const std::map<int, std::string> counts = said(plain(run(2, "counts_differ").out));
  EXPECT_FALSE(counts.empty());
  for (const auto& [p, text] : counts)
    EXPECT_EQ(text, "process " + std::to_string(p) +
                        ": set_device_count: devices are not as many in all processes\n"
                        "  - 16 in process 0, 32 in process 1\n"
                        "  rule: all processes make the same calls, with the same numbers\n"
                        "  from: child.cc:L\n"
                        "  try: look for what depends on process_index() or on the machine\n");
}

TEST(Agreement, WaitsNoLongerThanItIsTold) {
  NEEDS_A_LAUNCHER();
  const Outcome o = run(2, "never_come");
  EXPECT_NE(o.code, 0);
  EXPECT_NE(plain(o.out).find(
                "initialize: not all processes that the launcher started came within 1.0 s\n"
                "  rule: all of them come to initialize or to a question about devices, and none "
                "is waited for longer than 1.0 s\n"
                "  from: child.cc:L\n"
                "  try: look at what the others do before it, or wait longer: "
                "distributed::initialize({.timeout = 600})\n"),
            std::string::npos)
      << o.out;
}

TEST(Agreement, NeedsATimeoutAndADevice) {
  const auto timeout = [](const std::string& t) {
    return "initialize: the timeout is " + t +
           " s\n"
           "  rule: a process is waited for as long as it says, more than 0 s\n"
           "  from: child.cc:L\n"
           "  try: distributed::initialize({.timeout = 60})\n";
  };
  ::setenv("TESSERA_DEVICES", "2", 1);
  EXPECT_EQ(plain(run(0, "odd_timeouts").out), timeout("0") + timeout("-1") + timeout("nan") +
                                                   "process_of: there is no device 99\n"
                                                   "  rule: devices are 0 to 1\n"
                                                   "  from: child.cc:L\n"
                                                   "  try: take one of devices()\n");
  ::unsetenv("TESSERA_DEVICES");
}

namespace {

// A program, and a folder with a false plug-in. The program is started by a relative path, which
// leads to that folder after it has changed its working directory.
class Plugins : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "tessera-plugins-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir = name;
    fs::permissions(dir, static_cast<fs::perms>(0755));
    for (const char* folder : {"/program/bin", "/elsewhere/bin"})
      fs::create_directories(dir + folder);
    fs::copy_file(DISTRIBUTED_CHILD, dir + "/program/bin/child");
    fs::copy_file(DISTRIBUTED_PLANTED, dir + "/elsewhere/bin/libtessera_mpi.so");
    ::setenv("ELSEWHERE", (dir + "/elsewhere").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("ELSEWHERE");
    fs::remove_all(dir);
  }
  std::string dir;
};

}  // namespace

TEST_F(Plugins, OfTheWorkingFolderAreNotLoaded) {
  NEEDS_A_LAUNCHER();
  const Outcome o = run("cd " + dir + "/program && " + launcher() + " -n 2 bin/child moved");
  EXPECT_EQ(o.code, 0) << o.out;
  EXPECT_EQ(said(o.out),
            (std::map<int, std::string>{{0, "process 0 of 2\n"}, {1, "process 1 of 2\n"}}));
  EXPECT_EQ(o.out.find("planted"), std::string::npos) << o.out;
}

TEST_F(Plugins, AreFoundBesideTheProgramWhereverItWasStarted) {
  fs::copy_file(DISTRIBUTED_PLANTED, dir + "/program/bin/libtessera_mpi.so");
  fs::remove(dir + "/elsewhere/bin/libtessera_mpi.so");
  EXPECT_EQ(run("cd " + dir + "/program && OMPI_COMM_WORLD_SIZE=2 bin/child moved").out,
            "planted\n");
}

TEST_F(Plugins, AreNamedByAbsolutePaths) {
  const std::string said = run("cd " + dir +
                               "/elsewhere && OMPI_COMM_WORLD_SIZE=2 "
                               "TESSERA_TRANSPORT=bin/libtessera_mpi.so ../program/bin/child moved")
                               .out;
  EXPECT_NE(said.find("TESSERA_TRANSPORT: 'bin/libtessera_mpi.so' is no absolute path\n"
                      "  rule: an absolute path, or none\n"
                      "  try: TESSERA_TRANSPORT=/usr/lib/libtessera_mpi.so in the environment\n"),
            std::string::npos)
      << said;
  EXPECT_EQ(run("OMPI_COMM_WORLD_SIZE=2 TESSERA_TRANSPORT=" + dir +
                "/elsewhere/bin/libtessera_mpi.so " + dir + "/program/bin/child moved")
                .out,
            "planted\n");
}

// A program with more rights than the user who starts it loads nothing that the environment names
// or that is in one of the user's folders.
TEST_F(Plugins, AreNotNamedByWhoeverHasFewerRights) {
  const std::string child = dir + "/program/bin/child";
  const uid_t nobody = 65534;
  if (::geteuid() != 0 || ::chown(child.c_str(), nobody, nobody) != 0 ||
      ::chmod(child.c_str(), 04755) != 0)
    GTEST_SKIP() << "only root makes programs of other users: 0 checked";
  const std::string start = "OMPI_COMM_WORLD_SIZE=2 TESSERA_TRANSPORT=" + dir +
                            "/elsewhere/bin/libtessera_mpi.so " + child + " moved";
  EXPECT_EQ(run(start).out, "process 0 of 1\n");
  ASSERT_EQ(::chmod(child.c_str(), 0755), 0);
  EXPECT_EQ(run(start).out, "planted\n");
}

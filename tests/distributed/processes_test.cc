// Programs in one process and in several give the same bits; an error in one of several processes
// ends in an error in all of them.
#include "distributed/launch.h"
#include "share.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using distributed_test::launcher;
using distributed_test::Outcome;
using distributed_test::run;
using distributed_test::starts;

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

// The programs that give the same output in one process and in several.
const std::vector<std::string>& programs() {
  static const std::vector<std::string> all{
      "maps",  "steps", "arrays",   "meshes",     "large",    "sums", "beside", "transformers",
      "hooks", "scans", "odd_ones", "local_data", "data_set", "ways", "some"};
  return all;
}

class Processes : public testing::TestWithParam<std::size_t> {};

// Each program runs in four processes, also as if on separate machines, and in 2 or 8, which
// alternate from program to program and from commit to commit.
TEST_P(Processes, GiveTheBitsOfOne) {
  NEEDS_A_LAUNCHER();
  ::setenv("SET_NUMBER", std::to_string(::getpid()).c_str(), 1);  // for a file of its own
  const std::string& program = programs()[GetParam()];
  const Outcome one = run(0, program);
  ASSERT_EQ(one.code, 0) << one.out;
  ASSERT_GT(std::count(one.out.begin(), one.out.end(), '\n'), 3);
  std::vector<int> counts{4, (GetParam() + test::turn()) % 2 == 0 ? 2 : 8};
  if (test::all_cases()) counts = {1, 2, 4, 8};
  for (const int n : counts) {
    const Outcome several = run(n, program);
    EXPECT_EQ(several.code, 0) << n << " processes: " << several.out;
    EXPECT_TRUE(several.out == one.out)
        << n << " processes: " << first_difference(several.out, one.out);
  }
  ::setenv("TESSERA_APART", "1", 1);
  const Outcome apart = run(4, program);
  ::unsetenv("TESSERA_APART");
  EXPECT_EQ(apart.code, 0) << apart.out;
  EXPECT_TRUE(apart.out == one.out)
      << "on machines of their own: " << first_difference(apart.out, one.out);
}

INSTANTIATE_TEST_SUITE_P(Programs, Processes, testing::Range(std::size_t{0}, programs().size()),
                         [](const auto& info) { return programs()[info.param]; });

// The processes that end first wait for the other one as long as it lives, not only for their
// timeout of a second.
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

// A program is not linked with MPI, and loads it only if a launcher started it together with
// others.
TEST(Mpi, IsWhereThereAreSeveralProcesses) {
  NEEDS_A_LAUNCHER();
  const auto loaded = [](int processes) {
    const Outcome o = run(processes, "loaded");
    EXPECT_EQ(o.code, 0) << o.out;
    return o.out;
  };
  EXPECT_EQ(loaded(0), "process 0 of 1:\n");
  EXPECT_EQ(loaded(1), "process 0 of 1:\n");
  const std::string two = loaded(2);
  static const std::regex both("process (\\d) of 2:( libmpi\\w*)+ libtessera_mpi\n");
  std::set<std::string> processes;
  for (auto at = std::sregex_iterator(two.begin(), two.end(), both); at != std::sregex_iterator();
       ++at)
    processes.insert((*at)[1]);
  EXPECT_EQ(processes, (std::set<std::string>{"0", "1"})) << two;
  ::setenv("TESSERA_TRANSPORT", "none", 1);
  EXPECT_EQ(loaded(2), "process 0 of 1:\nprocess 0 of 1:\n");
  ::unsetenv("TESSERA_TRANSPORT");
}
// Only the plug-in is linked with MPI. `ldd` lists libraries that are linked directly or through
// other libraries.
TEST(Mpi, IsLinkedByThePlugInAlone) {
  const auto libraries = [](const std::string& file) {
    const Outcome o = run("ldd " + file);
    EXPECT_EQ(o.code, 0) << o.out;
    EXPECT_NE(o.out.find("libstdc++.so"), std::string::npos) << file << ": " << o.out;
    return o.out;
  };
  std::istringstream files(DISTRIBUTED_LINKED);
  std::string file;
  while (std::getline(files, file, ','))
    EXPECT_EQ(libraries(file).find("libmpi"), std::string::npos) << file;
  EXPECT_NE(libraries(DISTRIBUTED_PLUGIN).find("libmpi"), std::string::npos);
}

// srun tells a process how many it started, PMIx does not. Two processes that have no way to find
// each other are warned.
TEST(Mpi, IsWhereSrunStartedSeveralProcesses) {
  const auto counted = [](const std::string& environment) {
    return run("env " + environment + " " + DISTRIBUTED_CHILD + " loaded");
  };
  const std::string alone = "process 0 of 1:\n";
  EXPECT_EQ(counted("SLURM_STEP_NUM_TASKS=1 PMIX_RANK=0 PMIX_NAMESPACE=slurm.pmix.7.0").out, alone);
  EXPECT_EQ(counted("SLURM_STEP_NUM_TASKS=1").out, alone);
  static const std::regex place("child\\.cc:\\d+");
  EXPECT_EQ(std::regex_replace(counted("SLURM_STEP_NUM_TASKS=2").out, place, "child.cc:L"),
            "tessera warning: initialize: srun started 2 processes and nothing that joins them: "
            "each of them is for "
            "itself\n"
            "  rule: processes find each other by PMIx, of which srun says where it is\n"
            "  from: child.cc:L\n"
            "  try: srun --mpi=pmix, or TESSERA_TRANSPORT=none where it is meant so\n" +
                alone);
  EXPECT_EQ(counted("SLURM_STEP_NUM_TASKS=2 TESSERA_TRANSPORT=none").out, alone);
  EXPECT_EQ(counted("SLURM_STEP_NUM_TASKS=2 OMPI_COMM_WORLD_SIZE=1").out, alone);
}

// Plans mark axes that cross processes. An axis that crosses machines costs more if the user gives
// no link speed.
TEST(Plans, KnowWhoseDevicesAre) {
  NEEDS_A_LAUNCHER();
  const auto said = [](const std::string& data, const std::string& model,
                       const std::string& seconds, const std::string& spread) {
    return "  communication  " + seconds + " us: 7 B received in 1 collective\n    along 'data' " +
           data + "\n    along 'model' 2.00 us: " + model +
           "\n  memory         M: arguments 1.31 MB, results 4 B, temporaries M\ndata: " + spread +
           "\nmodel: 1 processes, 1 machines, 1e-06 s, 5e+10 B/s\n";
  };
  // How much memory products take depends on the processor.
  const auto explained = [](int processes) {
    static const std::regex memory(R"((memory +|temporaries )[0-9.]+ MB)");
    return std::regex_replace(run(processes, "explain").out, memory, "$1M");
  };
  EXPECT_EQ(explained(0),
            said("4.00 us: 6 B", "1 B", "6.00", "1 processes, 1 machines, 1e-06 s, 5e+10 B/s"));
  EXPECT_EQ(explained(4), said("4.00 us: 6 B, between 4 processes", "1 B", "6.00",
                               "4 processes, 1 machines, 1e-06 s, 5e+10 B/s"));
  ::setenv("TESSERA_APART", "1", 1);
  EXPECT_EQ(explained(4), said("20.0 us: 3 B, between 4 machines", "4 B", "22.0",
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

// The README's example trains the same model to the last bit, and only one process reports.
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
// The suite of meshes in several processes. Its tests read whole results: they compare partitioned
// and compiled programs, drawn ones among them, with the evaluator on one device, and check the
// work that each process counts. Tests that run nothing on devices, such as those of propagation,
// do not depend on processes and are left out, as are those of host functions, which are called in
// one of the processes.
TEST(Suites, OfMeshesPass) {
  NEEDS_A_LAUNCHER();
  ::setenv("TESSERA_GATHER_READS", "1", 1);
  const Outcome o =
      run("timeout -k 5 500 " + std::string(DISTRIBUTED_LAUNCHER) + " -n 4 " + DISTRIBUTED_SUITE +
          " --gtest_color=no"
          " '--gtest_filter=" DISTRIBUTED_SUITE_FILTER
          "-PartitionRandom.GivesWhatEachOpGives:PartitionedHostCalls.*'");
  EXPECT_EQ(o.code, 0) << o.out;
  static const std::regex passed("\\[  PASSED  \\] (\\d+) tests");
  int tests = 0, processes = 0;
  for (auto at = std::sregex_iterator(o.out.begin(), o.out.end(), passed);
       at != std::sregex_iterator(); ++at, ++processes)
    tests = std::stoi((*at)[1]);
  EXPECT_EQ(processes, 4);
  EXPECT_GE(tests, 130);
  ::unsetenv("TESSERA_GATHER_READS");
}

// Two processes have unequal parts of the rows of a mesh of 2 x 3.
TEST(Suites, OfWorkThatIsUnequalPasses) {
  NEEDS_A_LAUNCHER();
  const Outcome o =
      run(launcher() + " -n 2 " + DISTRIBUTED_SUITE + " --gtest_color=no --gtest_filter=JobWork.*");
  EXPECT_EQ(o.code, 0) << o.out;
  std::size_t passed = 0;
  for (std::size_t at = 0; (at = o.out.find("[  PASSED  ] 2 tests", at)) != std::string::npos; ++at)
    ++passed;
  EXPECT_EQ(passed, 2u) << o.out;
}
#endif

// TESSERA_GATHER_READS=1 gathers whole arrays, for which all processes make the call. A process's
// own parts of an array are read without the others.
TEST(GatheredReads, AreNotOfAProcessesOwnParts) {
  NEEDS_A_LAUNCHER();
  const Outcome one = run(0, "own_parts");
  ::setenv("TESSERA_GATHER_READS", "1", 1);
  const Outcome two = run(2, "own_parts");
  ::unsetenv("TESSERA_GATHER_READS");
  EXPECT_EQ(two.code, 0) << two.out;
  EXPECT_EQ(two.out, one.out);
}

#ifdef DISTRIBUTED_EXAMPLES
// With TESSERA_GATHER_READS=1, programs that read data of other processes run unchanged, and print
// the same as in one process except for times and this process's memory. Each is compared in 2, 4
// or 8 processes, in turn with the commits.
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
  for (std::uint64_t turn = test::turn(); std::getline(examples, example, ','); ++turn) {
    const auto has_turn = [&](std::uint64_t k) { return test::all_cases() || turn % 3 == k; };
    std::vector<int> few;
    if (has_turn(0)) few.push_back(2);
    if (has_turn(1)) few.push_back(4);
    if (!few.empty()) compare(example, few);
    // Eight processes need eight devices; one example has them anyway.
    const bool eight = example.find("training_techniques") != std::string::npos;
    if (has_turn(2)) compare(example + (eight ? "" : " --devices 8"), {8});
  }
  EXPECT_EQ(compared, test::all_cases() ? 21 : 7);
  ::unsetenv("TESSERA_GATHER_READS");
  ::unsetenv("NO_COLOR");
  std::filesystem::remove_all(folder);
}
#endif

#ifdef MANY_PROCESSES
// One of four processes kills itself. Two processes continue, and end with the state of a run
// without an interruption.
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

// The exchanges of one layer overlap the computation of another. A single process exchanges
// nothing.
TEST(Exchanges, GoOnBesideWork) {
  NEEDS_A_LAUNCHER();
  const auto plans = [](int n) { return run(n, "beside_plans").out; };
  EXPECT_EQ(plans(0), "replicated: 0 of 1\nsharded: 0 of 14\n");
  EXPECT_EQ(plans(2), "replicated: 2 of 2\nsharded: 4 of 19\n");
}

// An event of a row; times are in microseconds.
struct Event {
  std::string name;
  double begin, end;
};
bool are_together(const Event& a, const Event& b) {
  return std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

// One file shows what all processes did, on one clock, including exchanges that run while a device
// of the same process computes.
TEST(Profiles, OfAllProcessesShowExchangesBesideWork) {
  NEEDS_A_LAUNCHER();
  const auto file = std::filesystem::temp_directory_path() /
                    ("tessera_trace_" + std::to_string(::getpid()) + ".json");
  ::setenv("TRACE_FILE", file.c_str(), 1);
  // The plan decides what may overlap, but whether it does depends on the scheduler, so a busy
  // machine gets a few more tries.
  std::array<bool, 2> together{};
  for (int turn = 0; turn < 2 || (turn < 10 && !(together[0] && together[1])); ++turn) {
    SCOPED_TRACE(turn);
    ::setenv("TESSERA_APART", turn % 2 ? "1" : "0", 1);
    const Outcome o = run(2, "profile");
    ::unsetenv("TESSERA_APART");
    ASSERT_EQ(o.code, 0) << o.out;
    std::ifstream in(file);
    const nlohmann::json trace = nlohmann::json::parse(in);
    std::map<std::string, int> groups;  // by name
    for (const auto& e : trace["traceEvents"])
      if (e["name"] == "process_name") groups[e["args"]["name"]] = e["pid"];
    std::vector<std::vector<Event>> exchanges(2), work(2);
    for (const std::size_t p : {0, 1}) {
      const std::string process = "process " + std::to_string(p);
      ASSERT_TRUE(groups.count(process + ": devices") && groups.count(process + ": host"));
      std::map<int, std::string> rows;
      for (const auto& e : trace["traceEvents"])
        if (e["pid"] == groups[process + ": devices"] && e["name"] == "thread_name")
          rows[e["tid"]] = e["args"]["name"];
      // It has rows for its own devices and no others.
      for (int d = 0; d < 8; ++d)
        EXPECT_EQ(std::any_of(rows.begin(), rows.end(),
                              [&](auto& r) { return r.second == "device " + std::to_string(d); }),
                  d / 4 == static_cast<int>(p));
      for (const auto& e : trace["traceEvents"]) {
        if (e["pid"] != groups[process + ": devices"] || e["ph"] != "X") continue;
        const Event event{e["name"], e["ts"], e["ts"].get<double>() + e["dur"].get<double>()};
        (rows[e["tid"]] == "collectives" ? exchanges : work)[p].push_back(event);
      }
      const auto both = [&](const Event& exchange) {
        return std::any_of(work[p].begin(), work[p].end(),
                           [&](const Event& w) { return are_together(exchange, w); });
      };
      together[p] = together[p] || std::any_of(exchanges[p].begin(), exchanges[p].end(), both);
      EXPECT_TRUE(std::any_of(exchanges[p].begin(), exchanges[p].end(),
                              [](const Event& e) { return e.name == "wait for processes"; }));
    }
    // Neither process is a round ahead: the time from one's first exchange to its last one overlaps
    // with the other's.
    ASSERT_EQ(exchanges[0].size(), exchanges[1].size());
    const auto whole = [&](std::size_t p) {
      Event all{"", exchanges[p][0].begin, exchanges[p][0].end};
      for (const Event& e : exchanges[p])
        all = {"", std::min(all.begin, e.begin), std::max(all.end, e.end)};
      return all;
    };
    EXPECT_TRUE(are_together(whole(0), whole(1)));
  }
  EXPECT_TRUE(together[0] && together[1]);
  ::unsetenv("TRACE_FILE");
  std::filesystem::remove(file);
}

}  // namespace

// The command `tessera`: runs, checks, prints, measures and explains StableHLO modules, and lists,
// verifies and compares checkpoints, and begins projects.
#include "command.h"
#include "output.h"

#include <tessera/config.h>
#include <tessera/detail/visible.h>
#include <tessera/error.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

constexpr const char* kUsage = R"(usage: tessera COMMAND ...

  tessera check [--evaluate] [--verbose] FILE...
      Runs StableHLO modules that hold their own expectations (custom calls named check.*), and says
      how many pass, by the primitive in front of the first underscore of the file's name that a
      dtype follows. Exit code 1 where one fails or is not supported.
      --evaluate  on the evaluator instead of compiled
      --verbose   a line for every module

  tessera run FILE [--function NAME] [--arg x.npy]... [--out FOLDER] [--evaluate]
      Runs a function (main) on arrays in NumPy's format, in the order of its arguments, and prints
      its results, or writes them into the folder.

  tessera print FILE [--function NAME] [--size N]
      Prints the program that a function becomes.
      --size   of dimensions that the file leaves open (1)

  tessera bench FILE [--function NAME] [--arg x.npy]... [--size N] [--calls N]
      Measures a function: reading it, its first call, which compiles it, and further calls, of
      which it says the median, the quartiles and the extremes; and how much work that is a second,
      where the plan knows it. Without --arg it draws arguments.
      --size   of dimensions that the file leaves open (1)
      --calls  after the first; otherwise as many as take a second, and 5 at least

  tessera explain FILE [--function NAME] [--arg x.npy]... [--size N] [--out PAGE.html]
                  [--trace TRACE.json]
      Plans a function without running it, prints the figures and writes the page of its plan: work,
      memory, communication, and where each value lies.
      --trace  also writes the predicted timeline, for ui.perfetto.dev and chrome://tracing

  tessera checkpoint ls DIR
      Lists the steps of a folder of checkpoints.
  tessera checkpoint show DIR [--step N]
      Prints what a step, the newest, says of itself: its files, and the arrays with where they lay.
  tessera checkpoint verify DIR [--step N]
      Reads a step, or all of them, and compares it with its checksums. Exit code 1 where one is
      damaged.
  tessera checkpoint diff DIR [DIR] [--step N]...
      Compares two steps: the last two of a folder, the newest of two folders, or those that are
      named. Exit code 1 where they differ.

  tessera new FOLDER
      Writes a project that trains a small network: a CMake file, a program, a test and settings for
      editors. The folder's name is the project's.

  tessera --help
  tessera --version
  tessera --cmake-dir
      Prints the folder of the CMake package, for cmake -Dtessera_DIR=...

Exit codes: 0 all is well, 1 a check failed, 2 the command line or a file cannot be used, or the
output cannot be written.
)";

int dispatch(const command::Words& words) {
  const auto has = [&](const char* w) { return std::ranges::find(words, w) != words.end(); };
  if (words.empty() || has("--help") || has("-h") || words[0] == "help") {
    if (words.empty())
      std::fputs(kUsage, stderr);
    else
      command::say(kUsage);
    return words.empty() ? command::kUnusable : command::kWell;
  }
  if (words[0] == "--version") {
    command::sayf("tessera %d.%d.%d\n", TESSERA_VERSION_MAJOR, TESSERA_VERSION_MINOR,
                  TESSERA_VERSION_PATCH);
    return command::kWell;
  }
  if (words[0] == "--cmake-dir") return command::print_package_folder();
  const command::Words rest(words.begin() + 1, words.end());
  // The evaluator is chosen by the environment, which is read at the first computation.
  for (const std::string& w : rest)
    if (w == "--evaluate") setenv("TESSERA_EVALUATE", "1", 1);
  if (words[0] == "check") return command::check(rest);
  if (words[0] == "run") return command::run(rest);
  if (words[0] == "print") return command::print(rest);
  if (words[0] == "bench") return command::bench(rest);
  if (words[0] == "explain") return command::explain(rest);
  if (words[0] == "checkpoint") return command::checkpoint(rest);
  if (words[0] == "new") return command::make_project(rest);
  throw command::Unusable{"there is no command '" + words[0] +
                          "'; there are check, run, print, bench, explain, checkpoint and new"};
}

void complain(const std::string& text) {
  std::fprintf(stderr, "%s\n", tessera::detail::visible_lines(text).c_str());
}

int status_of(const command::Words& words) {
  try {
    return dispatch(words);
  } catch (const command::Unusable& e) {
    complain("tessera: " + e.problem + "\ntry: tessera --help");
  } catch (const tessera::Error& e) {
    complain(e.what());
  } catch (const std::exception& e) {
    complain("tessera: " + std::string(e.what()));
  }
  return command::kUnusable;
}

}  // namespace

int main(int count, char** words) {
  try {
    command::prepare_output();
    const int status = status_of(command::Words(words + 1, words + count));
    command::finish_output();
    return status;
  } catch (const command::Unusable& e) {
    complain("tessera: " + e.problem);
  }
  return command::kUnusable;
}

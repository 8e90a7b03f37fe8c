// Public conformance files, if they are in a folder beside the project, to which they do not
// belong. They have inputs for each primitive and dtype, with expected values of another
// implementation.
#include <tessera/error.h>
#include <tessera/stablehlo.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Modules for several devices say how many they need. This many are available if nothing else is
// set before the first computation.
const bool has_devices = setenv("TESSERA_DEVICES", "8", false) == 0;

struct Tally {
  std::size_t passed = 0, failed = 0, refused = 0;
  std::string first_failures;
};

std::vector<fs::path> files_of(const char* folder) {
  std::vector<fs::path> files;
  for (const fs::path& root : {fs::path(TESSERA_SOURCE_DIR) / "../shared",
                               fs::path(TESSERA_SOURCE_DIR) / "../../shared"}) {
    if (!fs::is_directory(root / folder)) continue;
    for (const auto& entry : fs::directory_iterator(root / folder))
      if (entry.path().extension() == ".mlir") files.push_back(entry.path());
    break;
  }
  std::sort(files.begin(), files.end());
  return files;
}

Tally run(const std::vector<fs::path>& files) {
  Tally t;
  for (const fs::path& file : files)
    for (const StableHloCheck& c : check_stablehlo(file.string())) {
      ++(c.outcome == StableHloCheck::passed   ? t.passed
         : c.outcome == StableHloCheck::failed ? t.failed
                                               : t.refused);
      if (c.outcome == StableHloCheck::failed) t.first_failures += c.message + "\n";
    }
  return t;
}

// The numbers of refused and wrong files are known; a change may only reduce them.
void hold(const char* folder, std::size_t least_passed, std::size_t most_failed) {
  const std::vector<fs::path> files = files_of(folder);
  ASSERT_TRUE(has_devices);
  if (files.empty()) GTEST_SKIP() << "no files of " << folder << " are at hand: 0 checked";
  const Tally t = run(files);
  std::cout << folder << ": " << t.passed << " passed, " << t.failed << " failed, " << t.refused
            << " refused\n";
  EXPECT_GE(t.passed, least_passed);
  EXPECT_LE(t.failed, most_failed) << t.first_failures;
}

TEST(Conformance, PrimitivesOfJax) { hold("stablehlo_testdata", 1043, 7); }
TEST(Conformance, InterpreterTests) { hold("stablehlo_interpret", 489, 0); }

}  // namespace
}  // namespace tessera

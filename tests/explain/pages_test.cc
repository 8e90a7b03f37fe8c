// Pages of programs in a folder of pages.
#include "explain/pages.h"
#include "ir/builder.h"
#include "ops/build.h"

#include <tessera/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace ts = tessera;
namespace fs = std::filesystem;

namespace {

ts::explain::Question question(const std::string& name) {
  ts::Builder b(name);
  b.loc.file = "/no/folder/model.py";
  b.loc.line = 3;
  b.scope = "layer";
  const ts::Value x = b.input(ts::Type(ts::f32, {4}));
  const std::vector<ts::Value> out{ts::ops::add(x, x)};
  ts::explain::Question q;
  q.name = name;
  q.program = b.finish(out);
  return q;
}

std::vector<std::string> files_of(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(folder))
    names.push_back(file.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

struct Folder {
  fs::path path = fs::path(testing::TempDir()) / "pages_test";
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
};

}  // namespace

TEST(Pages, HaveTheProgramsLinesAndScopes) {
  const Folder folder;
  const std::string path = ts::explain::write_page((folder.path / "new").string(), question("f"));
  EXPECT_EQ(path, (folder.path / "new" / "0001_f.html").string());
  std::ifstream in(path);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const char* text :
       {"<title>f", "\"model.py:3\"", "\"scope\":\"layer\"", "\"args[0]\"", "\"result[0]\""})
    EXPECT_NE(page.find(text), std::string::npos) << text;
}

TEST(Pages, AreNumberedAndNeverReplaced) {
  const Folder folder;
  const std::string at = folder.path.string();
  ts::explain::write_page(at, question("jit_step"));
  ts::explain::write_page(at, question("a/b c\u00e4<>"));
  ts::explain::write_page(at, question(""));
  EXPECT_EQ(
      files_of(folder.path),
      (std::vector<std::string>{"0001_jit_step.html", "0002_a_b_c____.html", "0003_program.html"}));
  std::ofstream(folder.path / "0041_of_another_process.html") << "x";
  std::ofstream(folder.path / "notes.txt") << "x";
  EXPECT_EQ(fs::path(ts::explain::write_page(at, question("f"))).filename(), "0042_f.html");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i) ts::explain::write_page(at, question("f"));
    });
  for (std::thread& t : threads) t.join();
  std::vector<std::string> numbers;
  for (const std::string& name : files_of(folder.path))
    if (name.ends_with("_f.html")) numbers.push_back(name.substr(0, 4));
  std::vector<std::string> expected;
  for (int n = 42; n <= 54; ++n) expected.push_back("00" + std::to_string(n));
  EXPECT_EQ(numbers, expected);
}

TEST(Pages, ThatCannotBeWrittenAreErrors) {
  const Folder folder;
  std::ofstream(folder.path) << "x";
  try {
    ts::explain::write_page(folder.path.string(), question("f"));
    FAIL();
  } catch (const ts::IoError& e) {
    EXPECT_EQ(e.what(), "explain: '" + folder.path.string() +
                            "' cannot be written: Not a directory\n"
                            "  rule: each program has a page of its own in the folder\n"
                            "  try: a folder where files may be written");
  }
}

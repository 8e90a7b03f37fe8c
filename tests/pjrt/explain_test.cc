// Pages about the plans of programs.
#include "caller.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace caller;

namespace {

namespace fs = std::filesystem;

class Pages : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "pagesXXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  static void compile_named(const Client& client, const std::string& name) {
    compile(client, module_of("%a: tensor<f32>", "tensor<f32>",
                              "    %0 = stablehlo.sine %a : tensor<f32>\n"
                              "    return %0 : tensor<f32>\n",
                              name));
  }
  Client client(const fs::path& folder) {
    const std::string text = folder.string();
    return make_client({named("explain", text)});
  }
  Texts files() const {
    Texts names;
    for (const auto& f : fs::directory_iterator(folder_ / "a/b"))
      names.push_back(f.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  fs::path folder_;
};

TEST_F(Pages, AreWrittenForEachProgram) {
  const Client c = client(folder_ / "a/b");
  compile_named(c, "jit_one");
  compile_named(c, "jit_two");
  EXPECT_EQ(files(), (Texts{"0001_jit_one.html", "0002_jit_two.html"}));
  std::stringstream page;
  page << std::ifstream(folder_ / "a/b/0001_jit_one.html").rdbuf();
  EXPECT_NE(page.str().find("jit_one"), std::string::npos);
}

// A file is where a folder should be: the program is compiled, and one warning says what is missing.
TEST_F(Pages, AreMissedWithOneWarning) {
  const fs::path file = folder_ / "file";
  std::ofstream(file) << "x";
  const Client c = client(file);
  testing::internal::CaptureStderr();
  compile_named(c, "jit_one");
  compile_named(c, "jit_two");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tessera warning: explain: the page of 'jit_one' is missing: '" + file.string() +
                "' cannot be written: Not a directory\n"
                "  rule: programs run without their pages, and only the first that is missing is "
                "reported\n"
                "  try: a folder where files may be written, with room for them\n");
}

}  // namespace

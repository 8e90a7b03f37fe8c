// Runs the misuses and compares their messages with the expected ones.
#include "errors/misuse.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace fs = std::filesystem;

namespace {

const fs::path kFolder = fs::path(TESSERA_TEST_DIR) / "errors" / "expected";

struct Program {
  void (*run)();
  std::string file;
  int line;
};
std::map<std::string, Program>& programs() {
  static std::map<std::string, Program> all;
  return all;
}

std::string kind_of(const std::exception& e) {
#define KIND(type) \
  if (dynamic_cast<const ts::type*>(&e)) return #type;
  KIND(ShapeError)
  KIND(DTypeError)
  KIND(TreeError)
  KIND(ShardingError)
  KIND(CollectiveError)
  KIND(TraceError)
  KIND(DeviceError)
  KIND(IoError)
  KIND(CheckError)
  KIND(Error)
  KIND(InternalError)
#undef KIND
  return "std::exception";
}

// Replaces "pmap_test.cc:57" by "program.cc:3" if the program begins in line 55, and places above
// the program by "program.cc:above".
std::string with_relative_lines(std::string text, const Program& p) {
  const std::string name = fs::path(p.file).filename().string() + ":";
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
    std::size_t end = at + name.size();
    int line = 0;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])))
      line = line * 10 + (text[end++] - '0');
    const std::string relative =
        "program.cc:" + (line < p.line ? "above" : std::to_string(line - p.line + 1));
    text.replace(at, end - at, relative);
    at += relative.size();
  }
  return text;
}

// The warnings of the program, followed by its error.
std::string text_of(const Program& p) {
  std::string text;
  ts::set_device_count(4);
  const ts::WarningHandler before =
      ts::set_warning_handler([&](const std::string& w) { text += "warning\n" + w + "\n"; });
  try {
    p.run();
  } catch (const std::exception& e) {
    text += kind_of(e) + "\n" + e.what() + "\n";
    if (const auto* error = dynamic_cast<const ts::Error*>(&e)) {
      EXPECT_EQ(error->parts().text(), e.what());
    }
  }
  ts::set_warning_handler(before);
  return with_relative_lines(text.empty() ? "nothing is said\n" : text, p);
}

std::string read(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool updating() {
  const char* v = std::getenv("TESSERA_UPDATE_EXPECTED");
  return v && *v && *v != '0';
}

class Text : public testing::Test {
 public:
  explicit Text(std::string name) : name_(std::move(name)) {}
  void TestBody() override {
    const std::string text = text_of(programs().at(name_));
    EXPECT_EQ(text.find("nothing is said"), std::string::npos) << name_ << " is accepted";
    EXPECT_EQ(text.find("InternalError"), std::string::npos) << text;
    const fs::path path = kFolder / (name_ + ".txt");
    if (updating())
      std::ofstream(path) << text;
    else
      EXPECT_EQ(read(path), text) << "TESSERA_UPDATE_EXPECTED=1 writes " << path;
  }

 private:
  std::string name_;
};

}  // namespace

namespace misuse {
Registered::Registered(const char* name, void (*program)(), const char* file, int line) {
  programs().emplace(name, Program{program, file, line});
  testing::RegisterTest("Misuse", name, nullptr, nullptr, file, line,
                        [name]() -> testing::Test* { return new Text(name); });
}
}  // namespace misuse

// Every expected text belongs to a program, so renaming a program leaves no file behind.
TEST(Texts, EachHasItsProgram) {
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const fs::path& path = entry.path();
    const bool known = path.extension() == ".txt" && programs().count(path.stem().string()) == 1;
    EXPECT_TRUE(known) << path << " belongs to no program";
  }
  EXPECT_GE(programs().size(), 60u);
}

// Every message names the function first, gives advice, and has each other part on a line of its
// own.
TEST(Texts, SayWhatToDo) {
  for (const auto& [name, program] : programs()) {
    const std::string text = read(kFolder / (name + ".txt"));
    EXPECT_NE(text.find(": "), std::string::npos) << name;
    EXPECT_NE(text.find("\n  try: "), std::string::npos) << name << " gives no advice";
    // A missing file breaks no rule.
    if (text.find("IoError") != 0) {
      EXPECT_NE(text.find("\n  rule: "), std::string::npos) << name << " states no rule";
    }
    // Conversions and range-for cannot take their caller's location, and a trace has none of its
    // own.
    const std::set<std::string> placeless{
        "axes_nested_very_deep",     "specs_nested_very_deep",
        "condition_on_many",         "gradient_that_calls_itself",
        "large_value_as_an_integer", "loss_of_all_devices_as_one_number",
        "range_for_over_a_scalar"};
    if (!placeless.count(name)) {
      EXPECT_NE(text.find("program.cc:"), std::string::npos) << name << " names no line";
    }
  }
}

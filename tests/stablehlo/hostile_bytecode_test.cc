// Small bytecode files that describe something large: each is refused before it is made.
#include <tessera/stablehlo.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ts = tessera;

namespace {

// A number in bytecode: one byte with the lowest bit set, or eight bytes after a zero.
std::string number(std::uint64_t n) {
  if (n < 128) return std::string(1, static_cast<char>(n << 1 | 1));
  std::string out(1, '\0');
  for (int i = 0; i < 8; ++i) out += static_cast<char>(n >> (8 * i));
  return out;
}
std::string section(char id, const std::string& bytes) { return id + number(bytes.size()) + bytes; }

// One operation, with attributes of vhlo and types of vhlo or, if they come last, of MLIR itself.
struct File {
  std::vector<std::string> attributes, types, builtin_types;
  std::string operation_name = "x";
  std::string operation;  // from the byte that lists its parts

  std::string bytes() const {
    const std::string strings[] = {"vhlo", "builtin", operation_name, std::string(1 << 16, 's')};
    std::string lengths, texts;
    for (const std::string& s : strings) {
      lengths = number(s.size() + 1) + lengths;
      texts += s + '\0';
    }
    std::string entries, sizes;
    const auto group = [&](int dialect, const std::vector<std::string>& all) {
      if (all.empty()) return;
      sizes += number(static_cast<std::uint64_t>(dialect)) + number(all.size());
      for (const std::string& e : all) {
        entries += e;
        sizes += number(e.size() << 1 | 1);
      }
    };
    group(0, attributes);
    group(0, types);
    group(1, builtin_types);
    const std::string names = number(0 << 1) + number(1 << 1);
    return "ML\xefR" + number(6) + '\0' + section(0, number(std::size(strings)) + lengths + texts) +
           section(1, number(2) + names + number(1) + number(0) + number(1) + number(2 << 1)) +
           section(2, entries) +
           section(
               3, number(attributes.size()) + number(types.size() + builtin_types.size()) + sizes) +
           section(4, number(2) + number(0) + operation);
  }
  std::string message() const {
    const std::string path = testing::TempDir() + "hostile_bytecode_test.mlirbc";
    std::ofstream(path, std::ios::binary) << bytes();
    std::string text = "it was loaded";
    try {
      ts::load_stablehlo(path);
    } catch (const ts::IoError& e) {
      text = e.what();
    }
    std::filesystem::remove(path);
    return text;
  }
};

std::string repeated(const std::string& s, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += s;
  return out;
}

constexpr std::uint64_t kList = 1, kInteger = 9, kString = 14, kTensor = 20, kTuple = 23;
constexpr std::uint64_t kLongString = 3;
const std::string kHasAttributes = std::string(1, '\x01') + number(0),
                  kHasResults = std::string(1, '\x02') + number(0),
                  kHasRegions = std::string(1, '\x10') + number(0);

TEST(HostileBytecode, AnIntegerOfMoreBitsThanAnIntCounts) {
  File f;
  f.attributes = {number(kInteger) + number(0) + number(1)};
  f.builtin_types = {number(0) + number(std::uint64_t{99999999999} << 2)};
  f.operation = kHasAttributes + number(0);
  EXPECT_NE(f.message().find("an integer of type 'i99999999999'"), std::string::npos)
      << f.message();
}

TEST(HostileBytecode, ATensorOfTooManyDimensions) {
  File f;
  f.types = {number(10), number(kTensor) + number(65) + repeated(number(2), 65) + number(0)};
  f.operation = kHasResults + number(1) + number(1);
  EXPECT_NE(f.message().find("a tensor has at most 64 dimensions"), std::string::npos)
      << f.message();
}

TEST(HostileBytecode, AStringThatIsUsedOftenIsNotCopiedForever) {
  File f;
  f.attributes = {number(kList) + number(100000) + repeated(number(1), 100000),
                  number(kString) + number(kLongString)};
  f.operation = kHasAttributes + number(0);
  EXPECT_NE(f.message().find("come to more than"), std::string::npos) << f.message();
}

TEST(HostileBytecode, ATypeOfTypesThatManyArgumentsHave) {
  File f;
  f.types = {number(10)};
  for (std::uint64_t i = 0; i < 12; ++i)
    f.types.push_back(number(kTuple) + number(2) + number(i) + number(i));
  constexpr std::uint64_t kArguments = 10000;
  f.operation = kHasRegions + number(1 << 1) + number(1) + number(kArguments) + number(1) +
                number(kArguments) + repeated(number(12 << 1), kArguments) + '\0' +
                std::string(kArguments, '\0');
  EXPECT_NE(f.message().find("come to more than"), std::string::npos) << f.message();
}

TEST(HostileBytecode, ALongNameOfAnOperation) {
  File f;
  f.operation_name = std::string(257, 'n');
  f.operation = std::string(1, '\0') + number(0);
  EXPECT_NE(f.message().find("an operation's name of 257 characters"), std::string::npos)
      << f.message();
}

}  // namespace

// Safetensors files that somebody damaged, or made to do harm.
#include <tessera/creation.h>
#include <tessera/safetensors.h>

#include "hostile.h"
#include "message.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <complex>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace ts = tessera;
namespace fs = std::filesystem;
using ts::Array;

namespace {

std::string little_endian(std::uint64_t n) {
  std::string s;
  for (int i = 0; i < 8; ++i) s += static_cast<char>(n >> (8 * i));
  return s;
}

std::string file_of(const std::string& header, const std::string& body) {
  return little_endian(header.size()) + header + body;
}

class HostileFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "tessera-hostile-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir = name;
    path = dir + "/m.safetensors";
  }
  void TearDown() override { fs::remove_all(dir); }
  void write(const std::string& content) {
    fs::remove(path);  // a file system that holds on to old contents takes milliseconds over it
    std::ofstream(path, std::ios::binary) << content;
  }
  std::string error(const std::string& content) {
    write(content);
    std::string text = test::message<ts::IoError>([&] { ts::load_safetensors(path); });
    const std::string head = "load: " + path + ": ";
    return text.starts_with(head) ? text.substr(head.size(), text.find('\n') - head.size()) : text;
  }
  std::string dir, path;
};

// Whether the tensors are those of the file, by another reader of JSON objects.
void expect_right(const std::string& file, const ts::SafeTensors& got) {
  std::uint64_t n = 0;
  for (std::size_t i = 8; i-- > 0;) n = n << 8 | static_cast<unsigned char>(file[i]);
  const auto header = nlohmann::json::parse(file.substr(8, n));
  EXPECT_EQ(header.size() - header.contains("__metadata__"), got.tensors.size());
  for (const auto& [name, x] : got.tensors) {
    const auto& entry = header.at(name);
    EXPECT_EQ(entry["shape"].get<std::vector<std::int64_t>>(), x.shape().to_vector()) << name;
    const auto begin = entry["data_offsets"][0].get<std::uint64_t>();
    const auto end = entry["data_offsets"][1].get<std::uint64_t>();
    ASSERT_EQ(end - begin, static_cast<std::uint64_t>(x.nbytes()));
    ts::dispatch(x.dtype(), [&](auto tag) {
      const auto values = x.host<decltype(tag)>();
      EXPECT_TRUE(values.empty() ||
                  std::memcmp(values.data(), file.data() + 8 + n + begin, end - begin) == 0)
          << name;
    });
  }
}

}  // namespace

TEST_F(HostileFiles, AreRefusedOrReadRight) {
  std::vector<std::string> corpus = {
      file_of("{}", ""),
      file_of(
          R"({"__metadata__":{"a":"b","c":"d"},"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
          "abc"),
      file_of(
          R"({"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b":{"dtype":"BOOL","shape":[2],"data_offsets":[8,10]},"c":{"dtype":"F64","shape":[0,7],"data_offsets":[10,10]}})",
          std::string("12345678\0\1", 10)),
      file_of(R"({"a":{"dtype":"I64","shape":[],"data_offsets":[0,8],"note":[{"x":[1]}]}} )",
              "12345678")};
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    write(corpus[i]);
    expect_right(corpus[i], ts::load_safetensors(path));
  }
  test::Mutator mutated(20261122, corpus);
  std::int64_t read = 0;
  for (std::int64_t i = 0, n = test::hostile_files(); i < n; ++i) {
    std::string s = mutated();
    // Most mutations miss the length and so end there: half of the files have a right one again.
    const std::size_t end = s.rfind('}');
    if (mutated.below(2) && end != std::string::npos && end >= 8)
      s.replace(0, 8, little_endian(end - 7));
    write(s);
    const test::MemoryLimit limit(std::uint64_t{256} << 20);
    try {
      const ts::SafeTensors got = ts::load_safetensors(path);
      expect_right(s, got);
      ++read;
    } catch (const ts::Error& e) {
      EXPECT_LT(std::strlen(e.what()), 600u) << e.what();
    }
  }
  EXPECT_GT(read, test::hostile_files() / 100);
}

TEST_F(HostileFiles, NestingIsCountedAndNotFollowed) {
  const std::string deep(2 << 20, '[');
  EXPECT_EQ(error(file_of(deep, "")), "its header is no JSON object");
  EXPECT_EQ(error(file_of(R"({"a":{"dtype":"F32","shape":)" + deep, "")),
            "tensor 'a' lacks dtype, shape or data_offsets");
  EXPECT_EQ(error(file_of(R"({"a":{"more":)" + deep, "")),
            "its header is nested more than 64 deep");
  EXPECT_EQ(error(file_of(R"({"__metadata__":{"more":)" + deep, "")),
            "its metadata is no object of strings");
  std::string objects;
  for (int i = 0; i < 200000; ++i) objects += "{\"a\":";
  EXPECT_EQ(error(file_of(objects, "")), "its header is nested more than 64 deep");
  EXPECT_EQ(error(file_of(R"({"a":{"dtype":"F32","shape":[)" + deep, "")),
            "tensor 'a' lacks dtype, shape or data_offsets");
}

TEST_F(HostileFiles, MessagesStayShort) {
  const std::string lots(1 << 20, 'x');
  std::string numbers = "1";
  for (int i = 0; i < 100000; ++i) numbers += ",1";
  for (const std::string& header :
       {R"({"a":{"dtype":")" + lots + R"(","shape":[],"data_offsets":[0,0]}})",
        R"({")" + lots + R"(":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}})",
        R"({"a":{"dtype":"F32","shape":[)" + numbers + R"(,-1],"data_offsets":[0,0]}})",
        R"({"a":{"dtype":"F32","shape":[1.)" + std::string(5000, '5') +
            R"(],"data_offsets":[0,0]}})",
        R"({"a":{"dtype":"F32","shape":[],"data_offsets":["a"," )" + lots + R"("]}})"}) {
    const std::string text = error(file_of(header, ""));
    EXPECT_LT(text.size(), 300u);
    EXPECT_GT(text.size(), 20u);
  }
  EXPECT_EQ(error(file_of(
                R"({"a":{"dtype":"F32","shape":[)" + numbers + R"(],"data_offsets":[0,0]}})", "")),
            "tensor 'a' has more than 64 axes");
}

TEST_F(HostileFiles, WhatIsThereTwiceIsRefused) {
  const std::string a = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_EQ(error(file_of("{" + a + "," + a + "}", "1")), "tensor 'a' is there twice");
  EXPECT_EQ(error(file_of("{" + a + R"(,"\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                          "12")),
            "tensor 'a' is there twice");
  EXPECT_EQ(
      error(file_of(R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "1")),
      "tensor 'a' has 'dtype' twice");
  EXPECT_EQ(
      error(file_of(R"({"a":{"dtype":"U8","x":{},"shape":[2],"data_offsets":[0,1],"shape":[1]}})",
                    "1")),
      "tensor 'a' has 'shape' twice");
  EXPECT_EQ(error(file_of(R"({"__metadata__":{"k":"1","k":"2"}})", "")),
            "its metadata has 'k' twice");
  EXPECT_EQ(error(file_of(R"({"__metadata__":{},"__metadata__":{}})", "")),
            "its metadata is there twice");
  EXPECT_EQ(error(file_of(R"({"__metadata__":{"k":1}})", "")),
            "its metadata is no object of strings");
  EXPECT_EQ(error(file_of(R"({"__metadata__":3})", "")), "its metadata is no object of strings");
}

// A claim is held against the file before memory is taken for it: 500 tensors over the same 32 MB
// would take 16 GB.
TEST_F(HostileFiles, NothingIsReadBeforeAllIsChecked) {
  constexpr std::uint64_t kBytes = 32 << 20;
  std::string header = "{";
  for (int i = 0; i < 500; ++i)
    header += (i ? ",\"t" : "\"t") + std::to_string(i) + R"(":{"dtype":"U8","shape":[)" +
              std::to_string(kBytes) + R"(],"data_offsets":[0,)" + std::to_string(kBytes) + "]}";
  write(file_of(header + "}", ""));
  fs::resize_file(path, fs::file_size(path) + kBytes);
  const test::MemoryLimit limit(std::uint64_t{64} << 20);
  const std::string text = test::message<ts::IoError>([&] { ts::load_safetensors(path); });
  EXPECT_NE(text.find("tensors 't0' and 't1' overlap"), std::string::npos) << text;
}

TEST_F(HostileFiles, MoreThanTheMachineHoldsIsRefused) {
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 43;  // no block of a sparse file is stored
  write(file_of(R"({"a":{"dtype":"F64","shape":[1099511627776],"data_offsets":[0,)" +
                    std::to_string(kBytes) + "]}}",
                ""));
  fs::resize_file(path, fs::file_size(path) + kBytes);
  const std::string text = test::message<ts::IoError>([&] { ts::load_safetensors(path); });
  EXPECT_NE(text.find("its tensors take 8796093022208 bytes, but this machine has "),
            std::string::npos)
      << text;
}

TEST_F(HostileFiles, PathsThatLeadNowhere) {
  const auto load = [](const std::string& p) {
    const std::string text = test::message<ts::IoError>([&] { ts::load_safetensors(p); });
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(load(""), "load: '': there is no such file");
  EXPECT_EQ(load("/dev/null"), "load: /dev/null: it is not a file");
  EXPECT_EQ(load(path + "/x"), "load: " + path + "/x: there is no such file");
  EXPECT_EQ(load(std::string(5000, 'a')).substr(5000),
            "aaaaaa: it cannot be opened: File name too long");
  write("x");
  EXPECT_EQ(load(path + "/x"), "load: " + path + "/x: there is no such file");
  EXPECT_NE(load(path + std::string("\0.old", 5)).find("its name holds a zero byte"),
            std::string::npos);
  fs::create_symlink("b", dir + "/a");
  fs::create_symlink("a", dir + "/b");
  EXPECT_EQ(load(dir + "/a"),
            "load: " + dir + "/a: it cannot be opened: Too many levels of symbolic links");
  ASSERT_EQ(mkfifo((dir + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(load(dir + "/pipe"), "load: " + dir + "/pipe: it is not a file");
}

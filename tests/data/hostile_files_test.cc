// IDX files, gzipped or not, that are damaged or malicious.
#include <tessera/creation.h>
#include <tessera/data.h>

#include "hostile.h"
#include "message.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

namespace ts = tessera;
namespace data = tessera::data;
namespace fs = std::filesystem;
using ts::Array;

namespace {

// A second reader of compressed files, which decompresses streams in memory. Returns other files
// unchanged, and nothing for a damaged stream.
std::optional<std::string> contents_of(const std::string& file) {
  if (file.size() < 2 || file[0] != '\x1f' || file[1] != '\x8b') return file;
  std::string out;
  std::size_t at = 0;
  while (at + 1 < file.size() && file[at] == '\x1f' && file[at + 1] == '\x8b') {
    z_stream z{};
    inflateInit2(&z, 15 + 16);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data() + at));
    z.avail_in = static_cast<uInt>(file.size() - at);
    int code = Z_OK;
    while (code == Z_OK && out.size() < (1 << 20)) {
      char block[4096];
      z.next_out = reinterpret_cast<Bytef*>(block);
      z.avail_out = sizeof block;
      code = inflate(&z, Z_NO_FLUSH);
      out.append(block, sizeof block - z.avail_out);
    }
    at = file.size() - z.avail_in;
    inflateEnd(&z);
    if (code != Z_STREAM_END) return std::nullopt;
  }
  return out;
}

std::string zipped(const std::string& s) {
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, s.size()) + 64, 0);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(s.data()));
  z.avail_in = static_cast<uInt>(s.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

// Compares the array with the file, byte by byte.
void expect_right(const std::string& file, const Array& got) {
  const std::optional<std::string> s = contents_of(file);
  ASSERT_TRUE(s.has_value());
  ASSERT_GE(s->size(), 4u);
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>((*s)[i]); };
  const std::size_t rank = byte(3);
  ASSERT_GE(s->size(), 4 + 4 * rank);
  std::vector<std::int64_t> shape;
  for (std::size_t i = 4; i < 4 + 4 * rank; i += 4)
    shape.push_back(std::int64_t{byte(i)} << 24 | byte(i + 1) << 16 | byte(i + 2) << 8 |
                    byte(i + 3));
  EXPECT_EQ(got.shape().to_vector(), shape);
  std::string body = s->substr(4 + 4 * rank);
  ASSERT_EQ(body.size(), static_cast<std::size_t>(got.nbytes()));
  const auto width = static_cast<std::size_t>(ts::size_of(got.dtype()));
  for (std::size_t i = 0; i < body.size(); i += width) std::reverse(&body[i], &body[i] + width);
  ts::dispatch(got.dtype(), [&](auto tag) {
    const auto values = got.host<decltype(tag)>();
    EXPECT_TRUE(values.empty() || std::memcmp(values.data(), body.data(), body.size()) == 0);
  });
}

class HostileData : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "tessera-idx-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir = name;
    path = dir + "/x";
  }
  void TearDown() override { fs::remove_all(dir); }
  void write(const std::string& content) {
    fs::remove(path);  // a file system may show old contents for some milliseconds
    std::ofstream(path, std::ios::binary) << content;
  }
  std::string error() {
    return test::message<ts::IoError>([&] { data::load_idx(path); });
  }
  std::string dir, path;
};

std::string header(int type, const std::vector<std::uint32_t>& shape) {
  std::string s{0, 0, static_cast<char>(type), static_cast<char>(shape.size())};
  for (std::uint32_t d : shape)
    for (int i = 24; i >= 0; i -= 8) s += static_cast<char>(d >> i);
  return s;
}

}  // namespace

TEST_F(HostileData, AreRefusedOrReadRight) {
  std::string noise;
  for (int i = 0; i < 600; ++i) noise += static_cast<char>(i * i * 7 + i);
  std::vector<std::string> corpus = {header(8, {2, 3}) + "abcdef", header(8, {600}) + noise,
                                     header(0x0E, {2}) + noise.substr(0, 16), header(9, {}) + "a",
                                     header(0x0B, {0, 3})};
  for (std::size_t i = 0, n = corpus.size(); i < n; ++i) corpus.push_back(zipped(corpus[i]));
  corpus.push_back(zipped(header(8, {4}) + "ab") + zipped("cd"));
  for (const std::string& file : corpus) {
    write(file);
    expect_right(file, data::load_idx(path));
  }
  test::Mutator mutated(20261122, corpus);
  std::int64_t read = 0;
  for (std::int64_t i = 0, n = test::hostile_files(); i < n; ++i) {
    std::string s = mutated();
    // A checksum detects nearly every change, so most contents are changed before they are
    // compressed.
    if (mutated.below(3) == 0) s = zipped(s);
    write(s);
    const test::MemoryLimit limit(std::uint64_t{256} << 20);
    try {
      const Array got = data::load_idx(path);
      expect_right(s, got);
      ++read;
    } catch (const ts::Error& e) {
      EXPECT_LT(std::strlen(e.what()), 600u) << e.what();
    }
  }
  EXPECT_GT(read, test::hostile_files() / 100);
}

// A kilobyte holds a megabyte of zeros: without limits, 40 MB would become 40 GB.
TEST_F(HostileData, ExpandsNoFurtherThanTheHeaderSays) {
  const std::string zeros(std::size_t{64} << 20, '\0');
  write(zipped(header(8, {2, 3}) + zeros));
  {
    const test::MemoryLimit limit(std::uint64_t{32} << 20);
    EXPECT_EQ(error(), "load_idx: " + path +
                           ": its header says (2, 3), which is 6 bytes, but more follow\n  try: "
                           "fetch the file again");
  }
  // 16 bytes cannot hold the claimed size, so no memory is allocated.
  write(zipped(header(8, {1 << 20, 1 << 19})));
  const std::string size = std::to_string(fs::file_size(path)),
                    most = std::to_string(fs::file_size(path) * 1032);
  EXPECT_EQ(error(), "load_idx: " + path +
                         ": its header says (1048576, 524288), which is 549755813888 bytes, but "
                         "its " +
                         size + " compressed bytes hold at most " + most +
                         "\n  try: fetch the file again");
  // This file might hold it: its contents are read, and no more memory than that is touched.
  std::string claims = zipped(header(8, {1 << 20, 1 << 11}) + zeros.substr(0, 1 << 20));
  claims += std::string((2 << 20) - claims.size(), '\0');
  write(claims);
  EXPECT_NE(error().find("but 1048576 follow"), std::string::npos) << error();
}

TEST_F(HostileData, PlainFilesAreHeldAgainstTheirSize) {
  write(header(0x0E, {0xffffffff, 255}));
  const test::MemoryLimit limit(std::uint64_t{32} << 20);
  EXPECT_NE(error().find("which is 8761733281800 bytes, but 0 follow"), std::string::npos)
      << error();
  write(header(8, {0, 0xffffffff, 0xffffffff}));
  EXPECT_EQ(data::load_idx(path).size(), 0);
}

TEST_F(HostileData, PathsThatLeadNowhere) {
  const auto load = [](const std::string& p) {
    const std::string text = test::message<ts::IoError>([&] { data::load_idx(p); });
    return text.substr(0, text.find('\n'));
  };
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(load(path), "load_idx: " + path + ": it is not a file");
  EXPECT_EQ(load("/dev/zero"), "load_idx: /dev/zero: it is not a file");
  EXPECT_EQ(load(path + "/y"), "load_idx: " + path + "/y: there is no such file");
  EXPECT_NE(load(path + std::string("\0.gz", 4)).find("its name holds a zero byte"),
            std::string::npos);
}

TEST_F(HostileData, FoldersThatMayNotBeEntered) {
  const std::string closed = dir + "/closed";
  fs::create_directory(closed);
  ASSERT_EQ(::chmod(dir.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
  const bool root = ::geteuid() == 0;
  // The file is read by a user who is not root.
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string images = test::message<ts::IoError>([&] { data::load_images(closed); }),
                    deeper = test::message<ts::IoError>([&] { data::load_images(closed + "/a"); }),
                    file = test::message<ts::IoError>([&] { data::load_idx(closed + "/a"); });
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ::chmod(closed.c_str(), 0700);
  const std::string advice =
      "\n  try: check its permissions, and those of the folders that it is in";
  EXPECT_EQ(images,
            "load_images: the folder " + closed + " cannot be read: Permission denied" + advice);
  EXPECT_EQ(deeper,
            "load_images: the folder " + closed + "/a cannot be read: Permission denied" + advice);
  EXPECT_EQ(file, "load_idx: " + closed + "/a: it cannot be opened: Permission denied" + advice);
}

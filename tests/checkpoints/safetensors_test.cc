// Models on disk: round trips, damaged files of every kind, files that do not fit the model.
#include <tessera/creation.h>
#include <tessera/optim.h>
#include <tessera/random.h>
#include <tessera/safetensors.h>

#include "message.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <complex>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace ts = tessera;
namespace fs = std::filesystem;
using ts::Array;
using ts::Shape;

namespace {

struct Layer {
  Array w, b;
};
struct Model {
  std::vector<Layer> layers;
  Array scale;
  int heads = 4;
};
Model model(float offset = 0) {
  return {{{ts::arange(6.0f).reshape(2, 3) + offset, ts::array({1.0, 2.0, 3.0})},
           {ts::ones({3, 1}, ts::bf16), Array()}},
          ts::array(0.5f)};
}

using test::message;

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "tessera-save-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir = name;
    path = dir + "/m.safetensors";
  }
  void TearDown() override { fs::remove_all(dir); }
  // What loading a file of this header and body says, behind the file's name.
  std::string error(const std::string& header, const std::string& body = "") {
    std::string s;
    for (int i = 0; i < 8; ++i) s += static_cast<char>(header.size() >> (8 * i));
    return raw(s + header + body);
  }
  std::string raw(const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    std::string text = message<ts::IoError>([&] { ts::load_safetensors(path); });
    const std::string head = "load: " + path + ": ",
                      tail =
                          "\n  try: save the model again, or check that this is a safetensors file";
    if (text.rfind(head, 0) != 0 || text.size() < tail.size() ||
        text.substr(text.size() - tail.size()) != tail)
      return text;
    return text.substr(head.size(), text.size() - head.size() - tail.size());
  }
  std::string dir, path;
};

}  // namespace

TEST_F(Files, EveryDtypeComesBackBitForBit) {
  ts::SafeTensors out;
  for (int i = 0; i < ts::kDTypeCount; ++i) {
    auto d = static_cast<ts::DType>(i);
    if (d == ts::c128) continue;  // the format has none
    std::vector<unsigned char> bytes;
    for (int k = 0; k < 6 * ts::size_of(d); ++k)
      bytes.push_back(static_cast<unsigned char>(d == ts::bool_ ? k % 2 : 37 * k + i));
    out.tensors[std::string(ts::name_of(d))] = Array::from_bytes(d, {2, 3}, bytes.data());
  }
  out.tensors["none"] = ts::zeros({0, 5});
  out.tensors["scalar"] = ts::array(7);
  out.metadata = {{"step", "12"}, {"note", "a \"quoted\" line\nand another"}};
  ts::save_safetensors(path, out);
  ts::SafeTensors in = ts::load_safetensors(path);
  EXPECT_EQ(in.metadata, out.metadata);
  ASSERT_EQ(in.tensors.size(), out.tensors.size());
  for (const auto& [name, x] : out.tensors) {
    const Array& y = in.tensors.at(name);
    ASSERT_EQ(y.dtype(), x.dtype());
    ASSERT_EQ(y.shape(), x.shape());
    ts::dispatch(x.dtype(), [&](auto tag) {
      using T = decltype(tag);
      const auto n = static_cast<std::size_t>(x.nbytes());
      EXPECT_TRUE(n == 0 || std::memcmp(x.host<T>().data(), y.host<T>().data(), n) == 0) << name;
    });
  }
}

TEST_F(Files, TheFormatIsThePublicOne) {
  ts::save_safetensors(path, {{{"b", ts::array({1, 2})}, {"a", ts::array({1.0})}}, {}});
  std::string s = read(path), header = s.substr(8, static_cast<unsigned char>(s[0]));
  EXPECT_EQ(
      header.substr(0, header.find_last_not_of(' ') + 1),
      R"({"a":{"data_offsets":[0,4],"dtype":"F32","shape":[1]},"b":{"data_offsets":[4,12],"dtype":"I32","shape":[2]}})");
  EXPECT_EQ(header.size() % 8, 0u);
  EXPECT_EQ(s.substr(8 + header.size()), std::string("\0\0\x80\x3f\1\0\0\0\2\0\0\0", 12));
}

TEST_F(Files, TreesComeBack) {
  ts::save(path, model(), {{"epoch", "3"}});
  ts::SafeTensors raw = ts::load_safetensors(path);
  EXPECT_EQ(raw.tensors.size(), 4u);
  EXPECT_TRUE(raw.tensors.count("layers.1.w"));
  Model back = ts::load(path, model(100));
  EXPECT_TRUE(ts::tree::equal(back, model()));
  EXPECT_TRUE(back.layers[1].b.is_empty());
  auto opt = ts::optim::adam(0.1);
  auto state = opt.init(model());
  ts::save(path, std::pair(model(), state));
  EXPECT_TRUE(ts::tree::equal(ts::load(path, std::pair(model(1), opt.init(model(1)))),
                              std::pair(model(), state)));
}

TEST_F(Files, DamagedFiles) {
  EXPECT_EQ(raw(""), "it has 0 bytes, fewer than the 8 of its length");
  EXPECT_EQ(raw(std::string("\x10\0\0\0\0\0\0\0{}", 10)),
            "it claims a header of 16 bytes, but 2 follow");
  EXPECT_EQ(raw(std::string(8, '\xff') + "{}"),
            "it claims a header of 18446744073709551615 bytes, but 2 follow");
  EXPECT_EQ(error("{\"a\":"), "its header is no JSON object");
  EXPECT_EQ(error("[1]"), "its header is no JSON object");
  EXPECT_EQ(error(R"({"a":1})"), "tensor 'a' lacks dtype, shape or data_offsets");
  EXPECT_EQ(error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "1234"),
            "tensor 'a' lacks dtype, shape or data_offsets");
  EXPECT_EQ(error(R"({"a":{"dtype":"F8","shape":[1],"data_offsets":[0,8]}})", "12345678"),
            "tensor 'a' has the unknown dtype \"F8\"");
  EXPECT_EQ(error(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"),
            "tensor 'a' has the shape [-1]");
  EXPECT_EQ(
      error(R"({"a":{"dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,4]}})",
            "1234"),
      "tensor 'a' has the shape [1099511627776,1099511627776]");
  EXPECT_EQ(error(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "1234"),
            "tensor 'a' has the shape [1.5]");
  EXPECT_EQ(error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", "1234"),
            "tensor 'a' has the range [-4,0]");
  EXPECT_EQ(error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "1234"),
            "tensor 'a' lies at 4 to 8 of 4 bytes");
  EXPECT_EQ(error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234"),
            "tensor 'a' lies at 4 to 0 of 4 bytes");
  EXPECT_EQ(error(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678"),
            "tensor 'a' has 8 bytes, but its shape (3,) needs 12");
  EXPECT_EQ(error(R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", "\x02"),
            "tensor 'a' is BOOL, but holds a byte that is neither 0 nor 1");
  const std::string a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(error("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})", "12345"),
            "tensors 'a' and 'b' overlap");
  EXPECT_EQ(error("{" + a + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}})", "123456"),
            "1 bytes before tensor 'b' belong to no tensor");
  EXPECT_EQ(error("{" + a + "}", "12345"), "1 bytes belong to no tensor");
  EXPECT_EQ(error("{" + a + "}", "1234"), "nothing thrown");
}

TEST_F(Files, EveryPrefixIsRefused) {
  ts::save(path, model());
  std::string whole = read(path);
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_NE(raw(whole.substr(0, n)), "nothing thrown") << n;
}

TEST_F(Files, FilesThatAreNotThere) {
  EXPECT_EQ(message<ts::IoError>([&] { ts::load_safetensors(path); }),
            "load: " + path + ": there is no such file\n  try: check the path");
  EXPECT_EQ(message<ts::IoError>([&] { ts::load_safetensors(dir); }),
            "load: " + dir + ": it is not a file\n  try: name the file itself");
}

TEST_F(Files, AFailureLeavesWhatWasThere) {
  ts::save(path, model());
  std::string before = read(path);
  // The name is not UTF-8, so no header can be written.
  EXPECT_EQ(message<ts::IoError>([&] {
              ts::save_safetensors(path, {{{"\xff", ts::array(1)}}, {}});
            }),
            "save: " + path +
                ": a tensor's name or a metadata entry is not UTF-8\n  try: use plain text for "
                "keys and metadata");
  EXPECT_EQ(read(path), before);
  EXPECT_THROW(ts::save(dir, model()), ts::IoError);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& e : fs::recursive_directory_iterator(dir)) ++files;
  EXPECT_EQ(files, 1u);
  // A new folder is made.
  ts::save(dir + "/deep/er/m", model());
  EXPECT_TRUE(ts::tree::equal(ts::load(dir + "/deep/er/m", model(1)), model()));
}

TEST_F(Files, ListsWhateverDoesNotFitTheModel) {
  ts::save(path, model());
  struct Other {
    std::vector<Layer> layers;
    Array bias;
  };
  Other other{{{ts::zeros({3, 2}), ts::zeros({3}, ts::f16)}}, ts::zeros({1})};
  EXPECT_EQ(message<ts::TreeError>([&] { ts::load(path, other); }),
            "load: " + path +
                " does not fit the model\n  - layers.0.w is f32[2,3], the model has f32[3,2]\n  - "
                "layers.0.b is f32[3], the model "
                "has f16[3]\n  - bias is missing\n  - layers.1.w is not in the model\n  - scale is "
                "not in the model\n  rule: one "
                "tensor a leaf, of its shape and dtype\n  try: build the model with the settings "
                "it was saved with");
}

TEST_F(Files, OnlyFilesAreReplacedAndLinksAreFollowed) {
  const std::string link = dir + "/link", pipe = dir + "/pipe";
  fs::create_symlink("m.safetensors", link);  // leads nowhere yet
  ts::save(link, model());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(ts::tree::equal(ts::load(path, model()), model()));

  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(message<ts::IoError>([&] { ts::save(pipe, model()); }).find("It is not a file"),
            std::string::npos);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(Files, AFullDiskLeavesTheFileAsItWas) {
  ts::save(path, model());
  const std::string before = read(path);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{}, small{};
  getrlimit(RLIMIT_FSIZE, &old);
  small = {1000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string text = message<ts::IoError>([&] { ts::save(path, ts::ones({1000})); });
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_NE(text.find("it cannot be written: File too large"), std::string::npos) << text;
  EXPECT_EQ(read(path), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 1);
}

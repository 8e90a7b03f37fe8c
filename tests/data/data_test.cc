// Sound and damaged IDX files, batches, splits, sharding of batches, and prefetching.
#include <tessera/creation.h>
#include <tessera/data.h>
#include <tessera/random.h>

#include "message.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <numeric>
#include <set>

namespace ts = tessera;
namespace data = tessera::data;
namespace fs = std::filesystem;
using ts::Array;
using ts::Shape;

namespace {

using Ints = std::vector<std::int32_t>;

using test::message;

class Idx : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "tessera-data-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir = name;
  }
  void TearDown() override { fs::remove_all(dir); }
  std::string write(const std::string& name, const std::string& bytes, bool zipped = false) {
    std::string path = dir + "/" + name;
    if (zipped) {
      gzFile f = gzopen(path.c_str(), "wb");
      gzwrite(f, bytes.data(), static_cast<unsigned>(bytes.size()));
      gzclose(f);
    } else {
      std::ofstream(path, std::ios::binary) << bytes;
    }
    return path;
  }
  std::string dir;
};

std::string bytes(std::initializer_list<int> v) {
  std::string s;
  for (int b : v) s += static_cast<char>(b);
  return s;
}
// Two by three unsigned bytes.
const std::string kGood = bytes({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 250});

}  // namespace

TEST_F(Idx, ReadsBytes) {
  Array a = data::load_idx(write("a", kGood));
  EXPECT_EQ(a.dtype(), ts::u8);
  EXPECT_EQ(a.shape(), (Shape{2, 3}));
  EXPECT_EQ(a.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 250}));
}

TEST_F(Idx, ReadsGzip) {
  EXPECT_EQ(data::load_idx(write("a.gz", kGood, true)).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 250}));
}

TEST_F(Idx, ReadsBigEndianTypes) {
  Array i = data::load_idx(
      write("i", bytes({0, 0, 0x0C, 1, 0, 0, 0, 2, 0, 0, 1, 2, 255, 255, 255, 254})));
  EXPECT_EQ(i.to_vector<std::int32_t>(), (Ints{258, -2}));
  Array s = data::load_idx(write("s", bytes({0, 0, 0x0B, 1, 0, 0, 0, 1, 1, 2})));
  EXPECT_EQ(s.to_vector<std::int16_t>(), (std::vector<std::int16_t>{258}));
  Array f = data::load_idx(write("f", bytes({0, 0, 0x0D, 1, 0, 0, 0, 1, 0x3F, 0xC0, 0, 0})));
  EXPECT_EQ(f.to_vector<float>(), (std::vector<float>{1.5f}));
  Array d =
      data::load_idx(write("d", bytes({0, 0, 0x0E, 1, 0, 0, 0, 1, 0x3F, 0xF8, 0, 0, 0, 0, 0, 0})));
  EXPECT_EQ(d.to_vector<double>(), (std::vector<double>{1.5}));
}

TEST_F(Idx, SaysWhatIsWrongWithAFile) {
  const std::string what =
      "\n  try: IDX files begin with 0 0, a type and a rank; MNIST's images with 00 00 08 03, its "
      "labels with 00 00 08 01";
  auto error = [&](const std::string& content) {
    return message<ts::IoError>([&] { data::load_idx(write("x", content)); });
  };
  const std::string head = "load_idx: " + dir + "/x: ", again = "\n  try: fetch the file again";
  EXPECT_EQ(error(""), head + "it has 0 bytes, fewer than the 4 of a magic number" + what);
  EXPECT_EQ(error("<html>"), head + "its magic number is 3c 68 74 6d" + what);
  EXPECT_EQ(error(bytes({0, 0, 7, 1, 0, 0, 0, 0})),
            head + "its magic number is 00 00 07 01" + what);
  EXPECT_EQ(error(bytes({0, 0, 8, 2, 0, 0, 0})), head + "it ends inside its header" + again);
  EXPECT_EQ(error(kGood.substr(0, 16)),
            head + "its header says (2, 3), which is 6 bytes, but 4 follow" + again);
  EXPECT_EQ(error(kGood + "x"),
            head + "its header says (2, 3), which is 6 bytes, but 7 follow" + again);
  EXPECT_EQ(error(bytes({0, 0, 8, 2, 255, 255, 255, 255, 255, 255, 255, 255})),
            head + "its header claims an absurd size" + again);
  EXPECT_EQ(message<ts::IoError>([&] { data::load_idx(dir + "/none"); }),
            "load_idx: " + dir +
                "/none: there is no such file\n  try: check the path, or pass the folder that "
                "holds the data");
  EXPECT_EQ(message<ts::IoError>([&] { data::load_idx(dir); }),
            "load_idx: " + dir + ": it is not a file\n  try: name the file itself");
}

TEST_F(Idx, EveryPrefixOfAGzipIsRefused) {
  std::string path = write("a.gz", kGood, true);
  std::ifstream in(path, std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_THROW(data::load_idx(write("cut.gz", whole.substr(0, n))), ts::IoError) << n;
  // The checksum, or the header that is damaged, detects every flipped byte of the data. Bytes of
  // the gzip header that do not affect the content may pass.
  for (std::size_t i = 10; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    EXPECT_THROW(data::load_idx(write("bad.gz", bad)), ts::IoError) << i;
  }
}

TEST_F(Idx, ReadsSomeEntries) {
  const std::string shorts =
      bytes({0, 0, 0x0B, 2, 0, 0, 0, 3, 0, 0, 0, 2, 0, 1, 0, 2, 1, 3, 1, 4, 2, 5, 2, 6});
  for (const std::string& path : {write("s", shorts), write("s.gz", shorts, true)}) {
    const data::IdxFile file(path);
    EXPECT_EQ(file.shape(), (Shape{3, 2}));
    EXPECT_EQ(file.dtype(), ts::i16);
    const Array rows = file.rows({2, 0, 2});
    EXPECT_EQ(rows.shape(), (Shape{3, 2}));
    EXPECT_EQ(rows.to_vector<std::int16_t>(),
              (std::vector<std::int16_t>{0x205, 0x206, 1, 2, 0x205, 0x206}));
    EXPECT_EQ(file.rows({}).shape(), (Shape{0, 2}));
    EXPECT_EQ(message<ts::ShapeError>([&] {
                file.rows({0, 3});
              }),
              "rows: indices[1] is 3\n  rule: the file has 3 entries\n  try: data::batches("
              "file.shape()[0], batch, key) gives positions that are there");
  }
}

TEST_F(Idx, SaysWhereAFileThatIsOpenWasCut) {
  const std::string path = write("cut", kGood);
  const data::IdxFile file(path);
  std::filesystem::resize_file(path, kGood.size() - 1);
  EXPECT_EQ(file.rows({0}).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_EQ(message<ts::IoError>([&] { file.rows({1}); }),
            "rows: " + path +
                ": it ends before entry 1, which it had when it was opened\n  try: fetch the file "
                "again");
  EXPECT_EQ(message<ts::IoError>([&] { (void)data::IdxFile{path}; }),
            "IdxFile: " + path +
                ": its header says (2, 3), which is 6 bytes, but 5 follow\n  try: fetch the file "
                "again");
}

TEST_F(Idx, LoadsImagesWithTheirLabels) {
  write("train-images-idx3-ubyte.gz",
        bytes({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4}), true);
  write("train-labels-idx1-ubyte", bytes({0, 0, 8, 1, 0, 0, 0, 2, 7, 9}));
  write("t10k-images-idx3-ubyte", bytes({0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2}));
  data::Images set = data::load_images(dir, "train");
  EXPECT_EQ(set.images.shape(), (Shape{2, 1, 2}));
  EXPECT_EQ(set.labels.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{7, 9}));
  const std::string advice =
      "[.gz]\n  try: pass the folder that holds the IDX files of images and labels";
  EXPECT_EQ(message<ts::IoError>([&] { data::load_images(dir, "t10k"); }),
            "load_images: " + dir + " holds no t10k-labels-idx1-ubyte" + advice);
  EXPECT_EQ(message<ts::IoError>([&] { data::load_images(dir, "validation"); }),
            "load_images: " + dir + " holds no validation*-images-idx3-ubyte" + advice);
  write("train-labels-idx1-ubyte", bytes({0, 0, 8, 1, 0, 0, 0, 1, 7}));
  EXPECT_EQ(message<ts::IoError>([&] { data::load_images(dir, "train"); }),
            "load_images: images of shape (2, 1, 2) and labels of shape (1,)\n  rule: images are "
            "(n, height, width), labels "
            "(n,)\n  try: check that train-images-idx3-ubyte.gz and train-labels-idx1-ubyte belong "
            "together");
  EXPECT_EQ(message<ts::IoError>([&] { data::load_images(dir + "/none"); }),
            "load_images: there is no folder " + dir +
                "/none\n  try: pass the folder that holds the IDX files");
}

TEST(Batches, DropOrPad) {
  auto dropped = data::batches(10, 4);
  ASSERT_EQ(dropped.size(), 2u);
  EXPECT_EQ(dropped[1].indices, (Ints{4, 5, 6, 7}));
  auto padded = data::batches(10, 4, {}, data::LastBatch::pad);
  ASSERT_EQ(padded.size(), 3u);
  EXPECT_EQ(padded[2].indices, (Ints{8, 9, 0, 1}));
  EXPECT_EQ(padded[2].mask, (std::vector<float>{1, 1, 0, 0}));
  EXPECT_EQ(padded[0].mask, (std::vector<float>{1, 1, 1, 1}));
  // There are fewer examples than one batch has.
  EXPECT_EQ(data::batches(3, 8).size(), 0u);
  EXPECT_EQ(data::batches(3, 8, {}, data::LastBatch::pad).at(0).indices,
            (Ints{0, 1, 2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(data::batches(0, 8, {}, data::LastBatch::pad).size(), 0u);
  EXPECT_EQ(message<ts::ShapeError>([] { data::batches(10, 0); }),
            "batches: a batch of 0 from 10 examples\n  rule: a batch has at least one example\n  "
            "try: a batch of 64");
}

TEST(Batches, AKeyShuffles) {
  Ints order, again, other;
  for (const auto& b : data::batches(100, 10, ts::random::key(1)))
    order.insert(order.end(), b.indices.begin(), b.indices.end());
  for (const auto& b : data::batches(100, 10, ts::random::key(1)))
    again.insert(again.end(), b.indices.begin(), b.indices.end());
  for (const auto& b : data::batches(100, 10, ts::random::key(2)))
    other.insert(other.end(), b.indices.begin(), b.indices.end());
  EXPECT_EQ(order, again);
  EXPECT_NE(order, other);
  std::sort(order.begin(), order.end());
  Ints all(100);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
}

TEST(Split, TakesTheShareOfEveryClass) {
  Ints labels;
  for (int i = 0; i < 100; ++i) labels.push_back(i % 4 == 0 ? 0 : i % 3);
  auto [first, second] = data::split_per_class(ts::random::key(0), Array(labels), 0.8);
  std::map<int, int> total, taken;
  std::set<std::int32_t> seen;
  for (int l : labels) ++total[l];
  for (auto i : first.to_vector<std::int32_t>())
    ++taken[labels[static_cast<std::size_t>(i)]], seen.insert(i);
  for (auto i : second.to_vector<std::int32_t>()) EXPECT_TRUE(seen.insert(i).second);
  EXPECT_EQ(seen.size(), 100u);
  for (auto [label, n] : total) EXPECT_EQ(taken[label], std::lround(0.8 * n));
}

TEST(Split, SaysWhatDoesNotFit) {
  EXPECT_EQ(message<ts::ShapeError>(
                [] { data::split_per_class(ts::random::key(0), ts::arange(4), 1.5); }),
            "split_per_class: labels are i32[4], the share 1.5\n  rule: labels are integers of "
            "shape (n,), the share is between 0 and 1\n  try: 0.8 for four fifths; argmax over the "
            "last axis of one-hot labels");
  EXPECT_THROW(data::split_per_class(ts::random::key(0), ts::ones({3, 2}), 0.5), ts::ShapeError);
  EXPECT_EQ(message<ts::ShapeError>([] { data::batches(5000000000, 3); }),
            "batches: 5000000000 examples\n  rule: indices are int32: at most 2147483647 "
            "examples\n  try: batches of parts of the set");
}

TEST(ShardBatch, CutsAlongANewAxis) {
  Array x = ts::arange(24).reshape(6, 4);
  Array y = data::shard_batch(x, 3);
  EXPECT_EQ(y.shape(), (Shape{3, 2, 4}));
  EXPECT_EQ(y.to_vector<std::int32_t>(), x.to_vector<std::int32_t>());
  std::vector<Array> tree = data::shard_batch(std::vector<Array>{x, ts::arange(6)}, 2);
  EXPECT_EQ(tree[1].shape(), (Shape{2, 3}));
}

TEST(ShardBatch, ListsEveryLeafThatDoesNotFit) {
  EXPECT_EQ(message<ts::ShapeError>([] {
              data::shard_batch(ts::zeros({30, 2}), 8);
            }),
            "shard_batch: the batch does not divide over 8 devices\n  - the batch has shape (30, "
            "2): 30 = 8 x 3 + 6\n  rule: the "
            "first axis of every leaf is a multiple of the number of devices\n  try: a batch of 24 "
            "or 32, or pad it with a mask");
  struct Batch {
    Array x, y, z;
  } batch{ts::zeros({5, 2}), ts::zeros({8}), Array(1.0)};
  EXPECT_EQ(message<ts::ShapeError>([&] { data::shard_batch(batch, 8); }),
            "shard_batch: the batch does not divide over 8 devices\n  - x has shape (5, 2): 5 = 8 "
            "x 0 + 5\n  - z has shape (), no "
            "batch axis\n  rule: the first axis of every leaf is a multiple of the number of "
            "devices\n  try: a batch of 8, or pad "
            "it with a mask");
  EXPECT_EQ(message<ts::ShapeError>([&] { data::shard_batch(batch, 0); }),
            "shard_batch: a batch for 0 devices\n  rule: there is at least one device\n  try: "
            "device_count()");
}

TEST(Prefetch, KeepsTheOrder) {
  int made = 0;
  data::Prefetch<int> p(
      [&]() -> std::optional<int> { return made < 50 ? std::optional<int>(made++) : std::nullopt; },
      3);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(p.next(), std::optional<int>(i));
  EXPECT_EQ(p.next(), std::nullopt);
  EXPECT_EQ(p.next(), std::nullopt);
}

TEST(Prefetch, NeverRunsFurtherAheadThanItsDepth) {
  std::atomic<int> made{0};
  data::Prefetch<int> p([&]() -> std::optional<int> { return made++; }, 2);
  for (int i = 0; i < 20; ++i) {
    p.next();
    // i + 1 batches are taken, two wait, and one more may be in progress.
    EXPECT_LE(made.load(), i + 1 + 3);
  }
}

TEST(Prefetch, AnExceptionComesAfterWhatWasMadeBefore) {
  int made = 0;
  data::Prefetch<int> p([&]() -> std::optional<int> {
    if (made == 3) throw std::runtime_error("the disk is full");
    return made++;
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(p.next(), std::optional<int>(i));
  EXPECT_EQ(message<std::runtime_error>([&] { p.next(); }), "the disk is full");
  EXPECT_EQ(p.next(), std::nullopt);
}

TEST(Prefetch, StopsWhenItIsDestroyedWithItemsLeft) {
  auto alive = std::make_shared<int>(0);
  std::weak_ptr<int> watch = alive;
  {
    data::Prefetch<std::shared_ptr<int>> p(
        [alive = std::move(alive)]() -> std::optional<std::shared_ptr<int>> { return alive; });
    EXPECT_NE(p.next(), std::nullopt);
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Prefetch, MakesArrays) {
  int i = 0;
  data::Prefetch<Array> p([&]() -> std::optional<Array> {
    if (i == 4) return std::nullopt;
    return ts::arange(3) + i++;
  });
  for (int k = 0; k < 4; ++k)
    EXPECT_EQ(p.next()->to_vector<std::int32_t>(), (Ints{k, k + 1, k + 2}));
}

// Archives of arrays agree with one that NumPy writes.
#include <tessera/tessera.h>

#include "checkpoints/files.h"
#include "message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace ts = tessera;
using checkpoint_test::path_of;
using checkpoint_test::read;
using checkpoint_test::write;
using test::message;

namespace {

// numpy.savez_compressed(zeros=zeros((40, 50), int16), t=array([[1., 2], [3, 4]], order='F'))
constexpr std::string_view kByNumPy =
    "504b03042d00000008000000210057d5dd7fffffffffffffffff090014007a65726f732e6e707901001000201000"
    "00000000006300000000000000edc8310e40401445d1d15ac5ef3ec9142234a2d6118d42251346480499118d5885"
    "0d630b1acd3bddbd5751e565ed885d1cdc69db1a4e88d3316449dc2f66336a6e16d3e9f7676ab2faf97650ab7eda"
    "8b024971e04b3ae9235700000000000000c0ef6e504b03042d0000000800000021009b109a0effffffffffffffff"
    "05001400742e6e707901001000a00000000000000054000000000000009bec17ea1b10c9c850c650ad9e925a9c5c"
    "a46ea5a06e9366a1aea3a09e965f54529498179f5f94920a120f292a4d050a17672416a402b91a463a0a469a3a0a"
    "b50ae4032e0630f8600fa1391c2034039416700000504b01022d032d00000008000000210057d5dd7f6300000020"
    "1000000900000000000000000000008001000000007a65726f732e6e7079504b01022d032d000000080000002100"
    "9b109a0e54000000a000000005000000000000000000000080019e000000742e6e7079504b050600000000020002"
    "006a000000290100000000";
std::string by_numpy() {
  std::string bytes;
  for (std::size_t i = 0; i < kByNumPy.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(kByNumPy.substr(i, 2)), nullptr, 16));
  return bytes;
}
// The problem in an error, without the path and the advice.
std::string problem_of(const std::string& path) {
  const std::string text = message<ts::IoError>([&] { ts::load_npz(path); });
  const std::size_t begin = text.find("npz: ") + 5;
  return text.substr(begin, text.find('\n') - begin);
}
void replace(std::string& bytes, const std::string& from, const std::string& to) {
  ASSERT_EQ(from.size(), to.size());
  std::size_t count = 0;
  for (std::size_t i = bytes.find(from); i != bytes.npos; i = bytes.find(from, i), ++count)
    bytes.replace(i, to.size(), to);
  ASSERT_GT(count, 0u);
}

TEST(Npz, ReadsWhatNumPyWrites) {
  const std::string path = path_of("numpy.npz");
  write(path, by_numpy());
  const auto found = ts::load_npz(path);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at("zeros").shape(), (ts::Shape{40, 50}));
  EXPECT_EQ(found.at("zeros").to_vector<std::int16_t>(), std::vector<std::int16_t>(2000));
  EXPECT_EQ(found.at("t").to_vector<double>(), (std::vector<double>{1, 2, 3, 4}));
}

TEST(Npz, ReadsEveryDTypeBack) {
  std::map<std::string, ts::Array> arrays;
  for (int d = 0; d < ts::kDTypeCount; ++d)
    arrays.emplace("layers." + ts::to_string(static_cast<ts::DType>(d)) + "/w",
                   ts::arange(6).reshape({2, 3}).astype(static_cast<ts::DType>(d)));
  arrays.emplace("scalar", ts::full({}, 2.5));
  arrays.emplace("nothing", ts::zeros({0, 3}));
  arrays.emplace("\xc3\xa9t\xc3\xa9", ts::arange(3));
  for (const bool compressed : {false, true}) {
    const std::string path = path_of("all.npz");
    ts::save_npz(path, arrays, {.compressed = compressed});
    const std::string bytes = read(path);
    const auto found = ts::load_npz(path);
    ASSERT_EQ(found.size(), arrays.size());
    for (const auto& [name, x] : arrays) {
      const ts::Array y = found.at(name);
      EXPECT_EQ(y.dtype(), x.dtype()) << name;
      EXPECT_EQ(y.shape(), x.shape()) << name;
      ts::save_npy(path_of("x.npy"), x), ts::save_npy(path_of("y.npy"), y);
      EXPECT_EQ(read(path_of("y.npy")), read(path_of("x.npy"))) << name;
    }
    ts::save_npz(path, arrays, {.compressed = compressed});
    EXPECT_EQ(read(path), bytes) << "the same arrays give the same bytes";
  }
  ts::save_npz(path_of("none.npz"), {});
  EXPECT_EQ(ts::load_npz(path_of("none.npz")).size(), 0u);
}

TEST(Npz, SaysWhatIsDamaged) {
  const std::string path = path_of("damaged.npz");
  EXPECT_EQ(problem_of(path_of("missing.npz")), path_of("missing.npz") + ": there is no such file");
  write(path, "no archive at all, but long enough for one");
  EXPECT_EQ(problem_of(path), path + ": it is no .npz file");

  std::string bytes = by_numpy();
  replace(bytes, "t.npy", "t.txt");
  write(path, bytes);
  EXPECT_EQ(problem_of(path),
            path + ": 't.txt' in it: it is no array: those have names that end in '.npy'");

  ts::save_npz(path, {{"a", ts::arange(4)}, {"b", ts::arange(3)}});
  const std::string good = read(path);
  bytes = good;
  replace(bytes, "b.npy", "a.npy");
  write(path, bytes);
  EXPECT_EQ(problem_of(path), path + ": its archive is damaged (File already exists)");

  bytes = good;
  bytes[bytes.find(std::string("\2\0\0\0\3\0\0\0", 8))] = 7;  // an element
  write(path, bytes);
  EXPECT_EQ(problem_of(path), path + ": 'a.npy' in it: it is damaged (CRC error)");

  bytes = good;
  replace(bytes, "(4,)", "(5,)");
  write(path, bytes);
  EXPECT_EQ(
      problem_of(path),
      path + ": 'a.npy' in it: it holds 16 bytes of elements, and shape (5,) of int32 takes 20");
}

// A few bytes that claim to be many, in both headers of the member.
TEST(Npz, DoesNotExpandBeyondWhatDeflateCan) {
  const std::string path = path_of("bomb.npz");
  std::string bytes = by_numpy();
  const std::string before("\x20\x10\0\0\0\0\0\0\x63", 9), behind("\x63\0\0\0\x20\x10\0\0\x09", 9);
  replace(bytes, before, std::string("\x20\x10\0\x70\0\0\0\0\x63", 9));
  write(path, bytes);
  EXPECT_EQ(problem_of(path), path + ": its archive is damaged (Zip archive inconsistent)");
  replace(bytes, behind, std::string("\x63\0\0\0\x20\x10\0\x70\x09", 9));
  write(path, bytes);
  EXPECT_EQ(problem_of(path), path +
                                  ": 'zeros.npy' in it: with it the members claim to be 1879052320 "
                                  "bytes, and the file of " +
                                  std::to_string(bytes.size()) + " cannot hold them");
}

TEST(Npz, NamesThatCannotBe) {
  for (const std::string& name : {std::string(), std::string("a\0b", 3), std::string("w.npy")}) {
    const std::string text = message<ts::IoError>([&] {
      ts::save_npz(path_of("names.npz"), {{name, ts::arange(2)}});
    });
    EXPECT_NE(text.find("its name cannot be that of a member"), text.npos) << text;
  }
  EXPECT_FALSE(std::filesystem::exists(path_of("names.npz")));
}

// Any bytes give an archive or an error, using no more memory than needed.
TEST(Npz, SurvivesAnyBytes) {
  const std::string path = path_of("any.npz"), good = by_numpy();
  std::uint64_t state = 1;
  const auto next = [&] {
    return state = state * 6364136223846793005u + 1442695040888963407u, state >> 33;
  };
  std::size_t refused = 0, tried = 0;
  const auto attempt = [&](const std::string& bytes) {
    write(path, bytes);
    ++tried;
    try {
      ts::load_npz(path);
    } catch (const ts::IoError&) {
      ++refused;
    }
  };
  for (std::size_t n = 0; n < good.size(); n += 3) attempt(good.substr(0, n));
  EXPECT_EQ(refused, tried);
  for (int i = 0; i < 400; ++i) {
    std::string bytes = good;
    for (std::uint64_t k = 0; k <= next() % 3; ++k)
      bytes[next() % bytes.size()] = static_cast<char>(next());
    attempt(bytes);
  }
  EXPECT_GT(refused, 300u);
}

}  // namespace

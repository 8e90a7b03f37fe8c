// Files of one array agree with bytes that NumPy writes.
#include <tessera/tessera.h>

#include "checkpoints/files.h"

#include <gtest/gtest.h>

#include <complex>

#include <filesystem>

namespace ts = tessera;
using checkpoint_test::path_of;
using checkpoint_test::read;
using checkpoint_test::write;

namespace {

// A file as numpy.save writes it: the length of the header is a multiple of 64 bytes.
std::string file(std::string header, const std::string& data) {
  header.resize(118 - 1, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + data;
}

TEST(Npy, WritesWhatNumPyWrites) {
  const std::string path = path_of("a.npy");
  ts::save_npy(path, ts::Array(std::vector<std::int16_t>{1, 2, -1}));
  EXPECT_EQ(read(path), file("{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }",
                             std::string("\1\0\2\0\xff\xff", 6)));
  ts::save_npy(path, ts::Array(std::vector<bool>{true, false}).reshape({2, 1}));
  EXPECT_EQ(read(path), file("{'descr': '|b1', 'fortran_order': False, 'shape': (2, 1), }",
                             std::string("\1\0", 2)));
}

TEST(Npy, ReadsEveryDTypeBack) {
  const std::string path = path_of("b.npy");
  for (int d = 0; d < ts::kDTypeCount; ++d) {
    const ts::Array x = ts::arange(6).reshape({2, 3}).astype(static_cast<ts::DType>(d));
    ts::save_npy(path, x);
    const ts::Array y = ts::load_npy(path);
    EXPECT_EQ(y.dtype(), x.dtype());
    EXPECT_EQ(y.shape(), x.shape());
    const auto wide = [](const ts::Array& a) {
      return a.astype(ts::c128).to_vector<std::complex<double>>();
    };
    EXPECT_EQ(wide(y), wide(x));
  }
  ts::save_npy(path, ts::full({}, 2.5));
  EXPECT_EQ(ts::load_npy(path).shape(), ts::Shape{});
}

TEST(Npy, ColumnMajorIsTurned) {
  const std::string path = path_of("c.npy");
  write(path, file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "\1\4\2\5\3\6"));
  EXPECT_EQ(ts::load_npy(path).reshape({6}).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, DamagedFilesAreRefused) {
  const std::string path = path_of("d.npy");
  const std::string good =
      file("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", std::string(8, '\1'));
  const auto refused = [&](const std::string& bytes) {
    write(path, bytes);
    try {
      ts::load_npy(path);
      return false;
    } catch (const ts::IoError&) {
      return true;
    }
  };
  EXPECT_FALSE(refused(good));
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_TRUE(refused(good.substr(0, n))) << n;
  EXPECT_TRUE(refused(good + "x"));
  for (const char* header : {"{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }",
                             "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
                             "{'descr': '<i4', 'fortran_order': 0, 'shape': (2,), }",
                             "{'descr': '<i4', 'fortran_order': False, 'shape': (-2,), }",
                             "{'descr': '<i4', 'fortran_order': False, 'shape': "
                             "(9223372036854775807, 9223372036854775807), }",
                             "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,), }",
                             "{'descr': '<i4', 'shape': (2,), }", "{}", "("})
    EXPECT_TRUE(refused(file(header, std::string(8, '\1')))) << header;
}

TEST(Npy, ErrorsSayWhatIsWrong) {
  const std::string path = path_of("e.npy");
  write(path,
        file("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }", std::string(8, '\1')));
  try {
    ts::load_npy(path, std::source_location());
    FAIL();
  } catch (const ts::IoError& e) {
    EXPECT_EQ(std::string(e.what()),
              "load_npy: " + path +
                  ": it holds 8 bytes of elements, and shape (2, 2) of int32 takes 16\n"
                  "  try: write it again with numpy.save");
  }
}

}  // namespace

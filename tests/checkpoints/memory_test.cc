// Arrays from memory equal those from files with the same bytes.
#include <tessera/tessera.h>

#include "checkpoints/files.h"
#include "message.h"

#include <gtest/gtest.h>

namespace ts = tessera;
using checkpoint_test::path_of;
using checkpoint_test::read;
using ts::Array;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}
template <class F>
std::string said(F f) {
  return test::message<ts::IoError>(f);
}

TEST(FromMemory, AnArray) {
  const Array x = ts::arange(6).reshape({2, 3});
  ts::save_npy(path_of("memory.npy"), x);
  const std::string whole = read(path_of("memory.npy"));
  const Array y = ts::load_npy(bytes_of(whole));
  EXPECT_EQ(y.shape(), x.shape());
  EXPECT_EQ(y.to_vector<std::int32_t>(), x.to_vector<std::int32_t>());
  EXPECT_EQ(
      said([&] { ts::load_npy(bytes_of(whole.substr(0, whole.size() - 1))); }),
      "load_npy: the bytes: it holds 23 bytes of elements, and shape (2, 3) of int32 takes 24\n"
      "  try: write it again with numpy.save");
  EXPECT_EQ(said([] { ts::load_npy(std::span<const std::byte>()); }),
            "load_npy: the bytes: it is no .npy file\n  try: check the path");
}

TEST(FromMemory, SeveralArrays) {
  for (const bool compressed : {false, true}) {
    const std::map<std::string, Array> all{{"a", ts::arange(5)}, {"b", ts::full({2, 2}, 0.5f)}};
    ts::save_npz(path_of("memory.npz"), all, {.compressed = compressed});
    const std::string whole = read(path_of("memory.npz"));
    const auto got = ts::load_npz(bytes_of(whole));
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got.at("a").to_vector<std::int32_t>(), all.at("a").to_vector<std::int32_t>());
    EXPECT_EQ(got.at("b").to_vector<float>(), all.at("b").to_vector<float>());
    EXPECT_EQ(said([&] { ts::load_npz(bytes_of(whole.substr(0, 20))); }),
              "load_npz: the bytes: it is no .npz file\n  try: write it again with numpy.savez");
    std::string damaged = whole;
    damaged[60] ^= 1;
    EXPECT_NE(said([&] { ts::load_npz(bytes_of(damaged)); }), "nothing thrown");
  }
  EXPECT_EQ(said([] { ts::load_npz(std::span<const std::byte>()); }),
            "load_npz: the bytes: it is no .npz file\n  try: write it again with numpy.savez");
}

TEST(FromMemory, Tensors) {
  const ts::SafeTensors x{{{"w", ts::arange(4)}, {"b", ts::ones({2})}}, {{"made", "here"}}};
  ts::save_safetensors(path_of("memory.safetensors"), x);
  const std::string whole = read(path_of("memory.safetensors"));
  const ts::SafeTensors y = ts::load_safetensors(bytes_of(whole));
  EXPECT_EQ(y.metadata, x.metadata);
  ASSERT_EQ(y.tensors.size(), 2u);
  EXPECT_EQ(y.tensors.at("w").to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(said([&] { ts::load_safetensors(bytes_of(whole.substr(0, 5))); }),
            "load: the bytes: it has 5 bytes, fewer than the 8 of its length\n"
            "  try: save the model again, or check that this is a safetensors file");
}

}  // namespace

#include <tessera/data.h>
#include <tessera/message.h>

#include "data/gzip_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <new>

namespace tessera::inline v0::data {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& problem,
                       const std::string& advice, const std::source_location& loc) {
  Message("load_idx")
      .problem(tessera::detail::shown_path(path) + ": " + problem)
      .from(loc)
      .advice(advice)
      .raise<IoError>();
}

std::uint32_t big_endian(const unsigned char* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

struct Format {
  DType dtype{};
  std::size_t size = 0;
};

// Of no size where there is no such type.
Format format_of(unsigned char code) {
  switch (code) {
    case 0x08: return {DType::uint8, 1};
    case 0x09: return {DType::int8, 1};
    case 0x0B: return {DType::int16, 2};
    case 0x0C: return {DType::int32, 4};
    case 0x0D: return {DType::float32, 4};
    case 0x0E: return {DType::float64, 8};
    default: return {};
  }
}

// The names in a folder, in order.
std::vector<std::string> names_in(const std::string& directory, const std::source_location& loc) {
  std::error_code ec;
  std::vector<std::string> names;
  fs::directory_iterator at;
  if (directory.find('\0') != std::string::npos)
    ec = std::make_error_code(std::errc::invalid_argument);
  else
    at = fs::directory_iterator(directory, ec);
  for (const fs::directory_iterator end; !ec && at != end; at.increment(ec))
    names.push_back(at->path().filename().string());
  const std::string shown = tessera::detail::shown_path(directory);
  const bool missing =
      ec == std::errc::no_such_file_or_directory || ec == std::errc::not_a_directory;
  if (ec)
    Message("load_images")
        .problem(missing ? "there is no folder " + shown
                         : "the folder " + shown + " cannot be read: " + ec.message())
        .from(loc)
        .advice(missing ? "pass the folder that holds the IDX files"
                        : "check its permissions, and those of the folders that it is in")
        .raise<IoError>();
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Array load_idx(const std::string& path, std::source_location loc) {
  GzipFile in(path);
  if (!in.file().problem().empty())
    fail(path, in.file().problem(),
         in.file().missing() ? "check the path, or pass the folder that holds the data"
                             : in.file().advice(),
         loc);
  const std::string fetch = "fetch the file again";
  std::vector<unsigned char> b;
  auto read = [&](std::uint64_t n) {
    if (!in.read(b, n)) fail(path, in.damage(), fetch, loc);
  };
  const std::string what =
      "IDX files begin with 0 0, a type and a rank; MNIST's images with 00 00 08 03, its labels "
      "with 00 00 08 01";
  read(4);
  if (b.size() < 4)
    fail(path, "it has " + std::to_string(b.size()) + " bytes, fewer than the 4 of a magic number",
         what, loc);
  const Format f = format_of(b[2]);
  const std::size_t rank = b[3];
  if (b[0] || b[1] || !f.size || rank > 8) {
    char magic[16];
    std::snprintf(magic, sizeof magic, "%02x %02x %02x %02x", b[0], b[1], b[2], b[3]);
    fail(path, std::string("its magic number is ") + magic, what, loc);
  }
  read(4 * rank);
  const std::size_t header = 4 + 4 * rank;
  if (b.size() < header) fail(path, "it ends inside its header", fetch, loc);
  Shape shape;
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::uint32_t extent = big_endian(&b[4 + 4 * i]);
    shape.push_back(extent);
    // Far above any real file, and far below overflow.
    if (extent && count > (std::uint64_t{1} << 40) / extent)
      fail(path, "its header claims an absurd size", fetch, loc);
    count *= extent;
  }
  // The header is held against the file before anything is read for it.
  const std::uint64_t bytes = count * f.size;
  const std::string claim = "its header says " + to_string(shape) + ", which is " +
                            std::to_string(bytes) + " bytes, but ";
  if (in.is_plain() && in.file().size() - header != bytes)
    fail(path, claim + std::to_string(in.file().size() - header) + " follow", fetch, loc);
  if (bytes > in.most())
    fail(path,
         claim + "its " + std::to_string(in.file().size()) + " compressed bytes hold at most " +
             std::to_string(in.most()),
         fetch, loc);
  if (bytes > tessera::detail::machine_memory())
    fail(path,
         claim + "this machine has " + std::to_string(tessera::detail::machine_memory()) +
             " of memory",
         "load it on a larger machine", loc);
  b.clear();
  try {
    b.reserve(static_cast<std::size_t>(bytes) + 1);
    read(bytes);
  } catch (const std::bad_alloc&) {
    fail(path, claim + "there is no memory for them", "let go of arrays", loc);
  }
  if (b.size() < bytes) fail(path, claim + std::to_string(b.size()) + " follow", fetch, loc);
  // The end of a compressed file has a checksum of what was before.
  read(1);
  if (b.size() > bytes) fail(path, claim + "more follow", fetch, loc);
  if constexpr (std::endian::native == std::endian::little)
    for (std::size_t i = 0; f.size > 1 && i < count; ++i)
      std::reverse(&b[i * f.size], &b[i * f.size] + f.size);
  return Array::from_bytes(f.dtype, shape, b.data());
}

Images load_images(const std::string& directory, const std::string& prefix,
                   std::source_location loc) {
  const std::vector<std::string> names = names_in(directory, loc);
  auto find = [&](const std::string& kind, const std::string& stem) -> std::string {
    for (const auto& n : names) {
      std::size_t at = n.find(kind);
      if (at == std::string::npos || n.rfind(prefix, 0) != 0) continue;
      std::string tail = n.substr(at + kind.size());
      if ((tail.empty() || tail == ".gz") && (stem.empty() || n.substr(0, at) == stem)) return n;
    }
    return {};
  };
  const std::string images_kind = "-images-idx3-ubyte", labels_kind = "-labels-idx1-ubyte";
  std::string images = find(images_kind, "");
  std::string stem = images.substr(0, images.find(images_kind));
  std::string labels = images.empty() ? "" : find(labels_kind, stem);
  if (images.empty() || labels.empty())
    Message("load_images")
        .problem(tessera::detail::shown_path(directory) + " holds no " +
                 (images.empty() ? prefix + "*" + images_kind : stem + labels_kind) + "[.gz]")
        .from(loc)
        .advice("pass the folder that holds the IDX files of images and labels")
        .raise<IoError>();
  Images set{load_idx(directory + "/" + images, loc), load_idx(directory + "/" + labels, loc)};
  if (set.images.ndim() != 3 || set.labels.ndim() != 1 ||
      set.images.shape(0) != set.labels.shape(0))
    Message("load_images")
        .problem("images of shape " + to_string(set.images.shape()) + " and labels of shape " +
                 to_string(set.labels.shape()))
        .rule("images are (n, height, width), labels (n,)")
        .from(loc)
        .advice("check that " + images + " and " + labels + " belong together")
        .raise<IoError>();
  return set;
}

}  // namespace tessera::inline v0::data

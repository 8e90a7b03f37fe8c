#include <tessera/data.h>
#include <tessera/message.h>

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>

namespace tessera::inline v0::data {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& problem,
                       const std::string& advice, const std::source_location& loc) {
  Message("load_idx").problem(path + ": " + problem).from(loc).advice(advice).raise<IoError>();
}

// All bytes of a file, decompressed where it is gzipped.
std::vector<unsigned char> read_all(const std::string& path, const std::source_location& loc) {
  std::error_code ec;
  if (!fs::exists(path, ec))
    fail(path, "there is no such file", "check the path, or pass the folder that holds the data",
         loc);
  if (!fs::is_regular_file(path, ec))
    fail(path, "it is not a file", "name the IDX file itself", loc);
  gzFile f = gzopen(path.c_str(), "rb");
  if (!f) fail(path, "it cannot be opened", "check its permissions", loc);
  std::vector<unsigned char> bytes;
  unsigned char block[1 << 16];
  int n;
  while ((n = gzread(f, block, sizeof block)) > 0) bytes.insert(bytes.end(), block, block + n);
  int code = Z_OK;
  std::string why = gzerror(f, &code);
  // A stream that ends early is reported by close alone.
  int closed = gzclose(f);
  if (n < 0 || closed != Z_OK)
    fail(path, "its compression is damaged" + (n < 0 && !why.empty() ? " (" + why + ")" : ""),
         "fetch the file again", loc);
  return bytes;
}

std::uint32_t big_endian(const unsigned char* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

struct Format {
  DType dtype;
  std::size_t size;
};

}  // namespace

Array load_idx(const std::string& path, std::source_location loc) {
  std::vector<unsigned char> b = read_all(path, loc);
  const std::string what =
      "IDX files begin with 0 0, a type and a rank; MNIST's images with 00 00 08 03, its labels "
      "with 00 00 08 01";
  if (b.size() < 4)
    fail(path, "it has " + std::to_string(b.size()) + " bytes, fewer than the 4 of a magic number",
         what, loc);
  Format f{};
  switch (b[2]) {
    case 0x08: f = {DType::uint8, 1}; break;
    case 0x09: f = {DType::int8, 1}; break;
    case 0x0B: f = {DType::int16, 2}; break;
    case 0x0C: f = {DType::int32, 4}; break;
    case 0x0D: f = {DType::float32, 4}; break;
    case 0x0E: f = {DType::float64, 8}; break;
    default: break;
  }
  int rank = b[3];
  if (b[0] || b[1] || !f.size || rank > 8) {
    char magic[16];
    std::snprintf(magic, sizeof magic, "%02x %02x %02x %02x", b[0], b[1], b[2], b[3]);
    fail(path, std::string("its magic number is ") + magic, what, loc);
  }
  std::size_t header = 4 + 4 * static_cast<std::size_t>(rank);
  if (b.size() < header) fail(path, "it ends inside its header", "fetch the file again", loc);
  Shape shape;
  std::uint64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    std::uint32_t extent = big_endian(&b[4 + 4 * static_cast<std::size_t>(i)]);
    shape.push_back(extent);
    // Far above any real file, and far below overflow.
    if (extent && count > (std::uint64_t{1} << 40) / extent)
      fail(path, "its header claims an absurd size", "fetch the file again", loc);
    count *= extent;
  }
  if (b.size() - header != count * f.size)
    fail(path,
         "its header says " + to_string(shape) + ", which is " + std::to_string(count * f.size) +
             " bytes, but " + std::to_string(b.size() - header) + " follow",
         "fetch the file again", loc);
  unsigned char* data = b.data() + header;
  if constexpr (std::endian::native == std::endian::little)
    for (std::size_t i = 0; f.size > 1 && i < count; ++i)
      std::reverse(data + i * f.size, data + (i + 1) * f.size);
  return Array::from_bytes(f.dtype, shape, data);
}

Images load_images(const std::string& directory, const std::string& prefix,
                   std::source_location loc) {
  std::error_code ec;
  if (!fs::is_directory(directory, ec))
    Message("load_images")
        .problem("there is no folder " + directory)
        .from(loc)
        .advice("pass the folder that holds the IDX files")
        .raise<IoError>();
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory, ec))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
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
        .problem(directory + " holds no " +
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

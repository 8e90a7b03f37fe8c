#include <tessera/data.h>
#include <tessera/detail/moved.h>
#include <tessera/manipulation.h>
#include <tessera/message.h>

#include "data/gzip_file.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>

namespace tessera::inline v0::data {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const char* function, const std::string& path, const std::string& problem,
                       const std::string& advice, const std::source_location& loc) {
  Message(function)
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

// The size is 0 if there is no such type.
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

// The sorted names in a folder.
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

namespace {

const char* const kFetch = "fetch the file again";

// A file whose header has been read and checked against the size of the file.
class Idx {
 public:
  Idx(const char* function, const std::string& path, const std::source_location& loc)
      : function_(function), path_(path), loc_(loc), in_(path) {
    if (!in_.file().problem().empty())
      refuse(in_.file().problem(), in_.file().missing()
                                       ? "check the path, or pass the folder that holds the data"
                                       : in_.file().advice());
    std::vector<unsigned char> b;
    const std::string what =
        "IDX files begin with 0 0, a type and a rank; MNIST's images with 00 00 08 03, its labels "
        "with 00 00 08 01";
    read(b, 4);
    if (b.size() < 4)
      refuse("it has " + std::to_string(b.size()) + " bytes, fewer than the 4 of a magic number",
             what);
    format_ = format_of(b[2]);
    const std::size_t rank = b[3];
    if (b[0] || b[1] || !format_.size || rank > 8) {
      char magic[16];
      std::snprintf(magic, sizeof magic, "%02x %02x %02x %02x", b[0], b[1], b[2], b[3]);
      refuse(std::string("its magic number is ") + magic, what);
    }
    read(b, 4 * rank);
    header_ = 4 + 4 * rank;
    if (b.size() < header_) refuse("it ends inside its header", kFetch);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::uint32_t extent = big_endian(&b[4 + 4 * i]);
      shape_.push_back(extent);
      // Far larger than any real file, and far from overflow.
      if (extent && count_ > (std::uint64_t{1} << 40) / extent)
        refuse("its header claims an absurd size", kFetch);
      count_ *= extent;
    }
    // Check the size that the header claims before reading or allocating anything for it.
    if (in_.is_plain() && in_.file().size() - header_ != bytes())
      refuse(claim() + std::to_string(in_.file().size() - header_) + " follow", kFetch);
    if (bytes() > in_.most())
      refuse(claim() + "its " + std::to_string(in_.file().size()) +
                 " compressed bytes hold at most " + std::to_string(in_.most()),
             kFetch);
  }

  const Shape& shape() const { return shape_; }
  const Format& format() const { return format_; }
  bool is_plain() const { return in_.is_plain(); }
  std::uint64_t bytes() const { return count_ * format_.size; }

  // All data after the header.
  Array all() {
    need_memory(bytes());
    std::vector<unsigned char> b;
    try {
      b.reserve(static_cast<std::size_t>(bytes()) + 1);
      read(b, bytes());
    } catch (const std::bad_alloc&) {
      refuse(claim() + "there is no memory for them", "let go of arrays");
    }
    if (b.size() < bytes()) refuse(claim() + std::to_string(b.size()) + " follow", kFetch);
    // Read past the end, so that the checksum of a compressed file is verified.
    read(b, 1);
    if (b.size() > bytes()) refuse(claim() + "more follow", kFetch);
    return array(shape_, b);
  }

  // The entries with these indices, from an uncompressed file.
  Array rows(const std::vector<std::int32_t>& indices, const std::source_location& loc) const {
    Shape shape = shape_;
    shape[0] = std::ssize(indices);
    const std::size_t each =
        shape_[0] ? static_cast<std::size_t>(bytes()) / static_cast<std::size_t>(shape_[0]) : 0;
    std::vector<unsigned char> b(each * indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i)
      for (std::size_t got = 0; got < each;) {
        const auto at = header_ + static_cast<std::size_t>(indices[i]) * each + got;
        const ssize_t n = ::pread(in_.file().descriptor(), &b[i * each + got], each - got,
                                  static_cast<off_t>(at));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
          fail("rows", path_,
               n < 0 ? std::strerror(errno)
                     : "it ends before entry " + std::to_string(indices[i]) +
                           ", which it had when it was opened",
               kFetch, loc);
        got += static_cast<std::size_t>(n);
      }
    return array(shape, b);
  }

 private:
  [[noreturn]] void refuse(const std::string& problem, const std::string& advice) const {
    fail(function_, path_, problem, advice, loc_);
  }
  std::string claim() const {
    return "its header says " + to_string(shape_) + ", which is " + std::to_string(bytes()) +
           " bytes, but ";
  }
  void need_memory(std::uint64_t n) const {
    if (n > tessera::detail::machine_memory())
      refuse(claim() + "this machine has " + std::to_string(tessera::detail::machine_memory()) +
                 " of memory",
             "load it on a larger machine");
  }
  void read(std::vector<unsigned char>& to, std::uint64_t n) {
    if (!in_.read(to, n)) refuse(in_.damage(), kFetch);
  }
  Array array(const Shape& shape, std::vector<unsigned char>& b) const {
    if constexpr (std::endian::native == std::endian::little)
      for (std::size_t i = 0; format_.size > 1 && i + format_.size <= b.size(); i += format_.size)
        std::reverse(&b[i], &b[i] + format_.size);
    return Array::from_bytes(format_.dtype, shape, b.data());
  }

  const char* function_;
  const std::string path_;
  const std::source_location loc_;
  GzipFile in_;
  Format format_;
  std::size_t header_ = 0;
  Shape shape_;
  std::uint64_t count_ = 1;
};

}  // namespace

Array load_idx(const std::string& path, std::source_location loc) {
  return Idx("load_idx", path, loc).all();
}

struct IdxFile::Impl {
  Impl(const std::string& path, const std::source_location& loc) : idx("IdxFile", path, loc) {}
  Idx idx;
  std::once_flag read;
  Array whole;  // for a compressed file
};

IdxFile::IdxFile(const std::string& path, std::source_location loc)
    : impl_(std::make_shared<Impl>(path, loc)) {}
namespace {
template <class Impl>
Impl& here(const std::shared_ptr<Impl>& impl, const std::source_location& loc = {}) {
  if (!impl) tessera::detail::moved_from("IdxFile", loc);
  return *impl;
}
}  // namespace
const Shape& IdxFile::shape() const { return here(impl_).idx.shape(); }
DType IdxFile::dtype() const { return here(impl_).idx.format().dtype; }

Array IdxFile::rows(const std::vector<std::int32_t>& indices, std::source_location loc) const {
  Impl& file = here(impl_, loc);
  const InFunction called("rows", loc);
  const std::int64_t entries = shape().rank() > 0 ? shape()[0] : 0;
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (indices[i] < 0 || indices[i] >= entries)
      Message("rows")
          .problem("indices[" + std::to_string(i) + "] is " + std::to_string(indices[i]))
          .rule("the file has " + std::to_string(entries) + " entries")
          .from(loc)
          .advice("data::batches(file.shape()[0], batch, key) gives positions that are there")
          .raise<ShapeError>();
  if (file.idx.is_plain()) return file.idx.rows(indices, loc);
  std::call_once(file.read, [&] { file.whole = file.idx.all(); });
  return take(file.whole, Array(indices), 0);
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

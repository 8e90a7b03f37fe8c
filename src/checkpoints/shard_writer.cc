#include "checkpoints/shard_writer.h"

#include "checkpoints/safetensors_header.h"
#include "checkpoints/step_names.h"
#include "checkpoints/threads.h"
#include "checkpoints/trouble.h"

#include <tessera/detail/unfinished_files.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <complex>
#include <cstring>
#include <memory>
#include <numeric>

namespace tessera::inline v0::checkpoints {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kUnit = 8 * kChunk;              // bytes per write
constexpr std::uint64_t kWorthAFile = 64 * kUnit;        // bytes per file worth a thread
constexpr std::uint64_t kMostOfAFile = kWorthAFile * 8;  // 4 GiB

// The bytes of a piece in host memory; valid as long as its array lives.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Entry& e, const Array& x) {
    if (e.weak) {
      const auto keep = [&](auto v) {
        std::memcpy(scalar_.data(), &v, sizeof v);
        size_ = sizeof v;
      };
      if (is_floating(e.dtype))
        keep(x.item<double>());
      else if (is_signed_integer(e.dtype))
        keep(x.item<std::int64_t>());
      else
        keep(x.item<std::uint64_t>());
      return;
    }
    dispatch(x.dtype(), [&](auto tag) {
      const auto values = x.host<decltype(tag)>();
      data_ = reinterpret_cast<const char*>(values.data());
      size_ = values.size_bytes();
    });
  }
  const char* data() const { return data_ ? data_ : scalar_.data(); }
  std::size_t size() const { return size_; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::array<char, 8> scalar_{};
};

std::uint64_t size_of(const Manifest& head, const ShardPiece& p) {
  return static_cast<std::uint64_t>(p.shape.count()) *
         static_cast<std::uint64_t>(v0::size_of(head.entries[p.entry].stored()));
}

// The plan of a file: the indices of its pieces, and its size.
struct ShardFile {
  std::vector<std::size_t> pieces;
  std::uint64_t bytes = 0;
};

std::vector<ShardFile> shard_files(const Manifest& head, const std::vector<ShardPiece>& pieces) {
  std::uint64_t total = 0;
  for (const ShardPiece& p : pieces) total += size_of(head, p);
  const std::uint64_t worth = std::min<std::uint64_t>(thread_count(), total / kWorthAFile),
                      need = (total + kMostOfAFile - 1) / kMostOfAFile;
  std::vector<ShardFile> files(std::max<std::uint64_t>({worth, need, 1}));
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return size_of(head, pieces[a]) > size_of(head, pieces[b]);
  });
  for (const std::size_t p : order) {
    ShardFile& least =
        *std::min_element(files.begin(), files.end(),
                          [](const ShardFile& a, const ShardFile& b) { return a.bytes < b.bytes; });
    least.pieces.push_back(p);
    least.bytes += size_of(head, pieces[p]);
  }
  // Every process writes at least one file, even if it has no pieces.
  files.erase(std::remove_if(files.begin() + 1, files.end(),
                             [](const ShardFile& f) { return f.pieces.empty(); }),
              files.end());
  for (ShardFile& f : files) std::sort(f.pieces.begin(), f.pieces.end());
  return files;
}

void write_all(int fd, const char* from, std::uint64_t n, std::uint64_t at,
               const std::string& name) {
  while (n > 0) {
    const ssize_t done = ::pwrite(fd, from, n, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw Trouble::of_system(name + " cannot be written");
    from += done;
    at += static_cast<std::uint64_t>(done);
    n -= static_cast<std::uint64_t>(done);
  }
}

// A file whose header has been written.
struct Open {
  File file;
  Descriptor fd;
};

// For example "w[0:4,8:16]", or only the name for a whole array.
std::string tensor_name(const Entry& e, const ShardPiece& p) {
  std::string name = dotted(e.path);
  if (p.shape == e.shape) return name;
  for (int d = 0; d < p.shape.rank(); ++d)
    name += fmt::format("{}{}:{}", d ? "," : "[", p.start[d], p.start[d] + p.shape[d]);
  return name + "]";
}
// The format has no complex128, so it is stored as pairs of doubles.
Json json_of(const Entry& e, const ShardPiece& p, std::uint64_t begin, std::uint64_t end) {
  std::vector<std::int64_t> shape = p.shape.to_vector();
  DType dtype = e.stored();
  if (dtype == DType::complex128) {
    dtype = DType::float64;
    shape.push_back(2);
  }
  return {{"dtype", safetensors::code_of(dtype)}, {"shape", shape}, {"data_offsets", {begin, end}}};
}

Open begin_file(const Staging& folder, const Manifest& head, const std::vector<ShardPiece>& pieces,
                const ShardFile& plan, std::string name, std::size_t index, Written& out) {
  Json header = Json::object();
  header["__metadata__"] = {{"step", std::to_string(head.step)}};
  const std::size_t first = out.blocks.size();
  std::uint64_t offset = 0;
  for (const std::size_t i : plan.pieces) {
    const ShardPiece& p = pieces[i];
    const std::uint64_t bytes = size_of(head, p);
    const Entry& e = head.entries[p.entry];
    const std::string name_there = tensor_name(e, p);
    header[name_there] = json_of(e, p, offset, offset + bytes);
    out.blocks.emplace_back(p.entry, Block{index, name_there, p.start, p.shape, offset, bytes,
                                           std::vector<std::uint64_t>(chunks_of(bytes))});
    offset += bytes;
  }
  std::string text(8, '\0');
  try {
    text += header.dump();
  } catch (const Json::exception&) {
    throw Trouble(name + " cannot be written: a key of the tree is not UTF-8",
                  "use plain text for keys");
  }
  while (text.size() % 64) text += ' ';  // aligns the blocks
  for (std::size_t i = 0; i < 8; ++i)
    text[i] = static_cast<char>(static_cast<std::uint64_t>(text.size() - 8) >> (8 * i));
  // Do not write a header that a restore would reject.
  if (text.size() > kMostHeader)
    throw Trouble(fmt::format("{} cannot be written: its header would have {} bytes, and a header "
                              "has at most {}",
                              name, text.size(), kMostHeader),
                  "save the tree in parts, into several folders");

  Open o{{name, text.size() + offset, text.size(), checksum(text.data(), text.size())}, {}};
  o.fd = Descriptor(::open(folder.path(name).c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!o.fd) throw Trouble::of_system(name + " cannot be written");
  // Detects a full disk before the work starts, on file systems that can allocate space in advance.
  if (::fallocate(o.fd.get(), 0, 0, static_cast<off_t>(o.file.bytes)) != 0 &&
      (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
    throw Trouble::of_system(name + " cannot be written");
  write_all(o.fd.get(), text.data(), text.size(), 0, name);
  for (std::size_t b = first; b < out.blocks.size(); ++b)
    out.blocks[b].second.offset += text.size();
  return o;
}

void sum_up(const Bytes& bytes, std::uint64_t begin, std::uint64_t end,
            std::vector<std::uint64_t>& sums) {
  for (std::uint64_t at = begin; at < end; at += kChunk)
    sums[at / kChunk] = checksum(bytes.data() + at, std::min(kChunk, end - at));
}

}  // namespace

Written write_shards(const Staging& folder, const Manifest& head, std::vector<ShardPiece>& pieces,
                     int process, int processes) {
  Written out;
  const std::vector<ShardFile> plans = shard_files(head, pieces);
  std::vector<Open> files;
  // The part of a piece that one write covers, in the order of the blocks.
  struct Unit {
    std::size_t block, piece;
    std::uint64_t begin;
  };
  std::vector<std::vector<Unit>> by_file;
  for (std::size_t f = 0; f < plans.size(); ++f) {
    std::size_t block = out.blocks.size();
    files.push_back(
        begin_file(folder, head, pieces, plans[f], shard_name(process, processes, f), f, out));
    auto& units = by_file.emplace_back();
    for (const std::size_t p : plans[f].pieces) {
      for (std::uint64_t at = 0; at < out.blocks[block].second.bytes; at += kUnit)
        units.push_back({block, p, at});
      ++block;
    }
  }
  // Interleave the files, so that threads write to different ones.
  std::vector<Unit> units;
  for (std::size_t i = 0, left = by_file.size(); left > 0; ++i) {
    left = 0;
    for (const auto& list : by_file) {
      if (i >= list.size()) continue;
      units.push_back(list[i]);
      ++left;
    }
  }
  std::vector<Bytes> bytes;
  for (const ShardPiece& p : pieces) bytes.emplace_back(head.entries[p.entry], p.data);
  std::vector<std::atomic<std::uint64_t>> open_units(pieces.size());
  for (const Unit& u : units) ++open_units[u.piece];

  in_parallel(units.size(), [&](std::size_t i) {
    const Unit& u = units[i];
    Block& b = out.blocks[u.block].second;
    const Open& to = files[b.file];
    const std::uint64_t end = std::min(u.begin + kUnit, b.bytes);
    sum_up(bytes[u.piece], u.begin, end, b.checksums);
    write_all(to.fd.get(), bytes[u.piece].data() + u.begin, end - u.begin, b.offset + u.begin,
              to.file.name);
    // Start writing to disk at once instead of at the final sync.
    if (end - u.begin >= kChunk)
      (void)::sync_file_range(to.fd.get(), static_cast<off_t>(b.offset + u.begin),
                              static_cast<off_t>(end - u.begin), SYNC_FILE_RANGE_WRITE);
    if (--open_units[u.piece] == 0) pieces[u.piece].data = Array();
  });
  in_parallel(files.size(), [&](std::size_t f) {
    if (!detail::sync_file(files[f].fd.get()))
      throw Trouble::of_system(files[f].file.name + " cannot be brought to the disk");
  });
  for (Open& o : files) out.files.push_back(std::move(o.file));
  return out;
}

std::vector<std::vector<std::uint64_t>> checksums_of(const Manifest& head,
                                                     const std::vector<ShardPiece>& pieces) {
  std::vector<std::vector<std::uint64_t>> all(pieces.size());
  in_parallel(pieces.size(), [&](std::size_t i) {
    const Bytes bytes(head.entries[pieces[i].entry], pieces[i].data);
    all[i].resize(chunks_of(bytes.size()));
    sum_up(bytes, 0, bytes.size(), all[i]);
  });
  return all;
}

}  // namespace tessera::inline v0::checkpoints

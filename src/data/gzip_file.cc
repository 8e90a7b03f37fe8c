#include "data/gzip_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>

namespace tessera::inline v0::data {

namespace {
constexpr std::uint64_t kRatio = 1032;  // of deflate: two bits encode up to 258 bytes
constexpr std::uint64_t kBlock = std::uint64_t{1} << 20;
}  // namespace

GzipFile::GzipFile(const std::string& path) : file_(path) {
  if (!file_.problem().empty()) return;
  // gzclose closes its descriptor, so give it a duplicate.
  const int own = ::fcntl(file_.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (own >= 0) stream_ = gzdopen(own, "rb");
  if (!stream_ && own >= 0) ::close(own);
  if (stream_) plain_ = gzdirect(stream_) != 0;
}

GzipFile::~GzipFile() {
  if (stream_) gzclose(stream_);
}

std::uint64_t GzipFile::most() const {
  return is_plain() ? file_.size() : std::min(file_.size(), ~std::uint64_t{0} / kRatio) * kRatio;
}

bool GzipFile::read(std::vector<unsigned char>& to, std::uint64_t n) {
  if (!stream_) return damage_ = "it cannot be read", false;
  while (n > 0) {
    const auto want = static_cast<std::size_t>(std::min(n, kBlock));
    const std::size_t before = to.size();
    to.resize(before + want);
    const int got = gzread(stream_, to.data() + before, static_cast<unsigned>(want));
    to.resize(before + static_cast<std::size_t>(std::max(0, got)));
    int code = Z_OK;
    const char* why = gzerror(stream_, &code);
    // A truncated stream returns the bytes it has, with this code.
    if (got < 0 || code == Z_BUF_ERROR) {
      damage_ = "its compression is damaged";
      if (got < 0 && why && *why) damage_ += std::string(" (") + why + ")";
      return false;
    }
    if (got == 0) break;
    n -= static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace tessera::inline v0::data

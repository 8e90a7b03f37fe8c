#include <tessera/detail/unfinished_files.h>

#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>

namespace tessera::inline v0::detail {
namespace {

constexpr std::size_t kDigits = 16;

}  // namespace

std::uint64_t fresh_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    // The system has no random numbers yet (early boot).
    static std::atomic<std::uint64_t> count{0};
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    number = (static_cast<std::uint64_t>(::getpid()) << 40) ^
             (static_cast<std::uint64_t>(now.tv_nsec) << 10) ^ ++count;
  }
  return number;
}

std::string digits_of(std::uint64_t number) {
  char digits[kDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return digits;
}
bool is_digits_of_number(std::string_view text) {
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool follow_links(std::filesystem::path& path) {
  std::error_code ec;
  for (int links = 0; std::filesystem::is_symlink(path, ec); ++links) {
    if (links == 40) return false;
    const std::filesystem::path to = std::filesystem::read_symlink(path, ec);
    path = to.is_absolute() ? to : path.parent_path() / to;
  }
  return true;
}

bool lock_file(int descriptor, int kind) {
  int failed = 0;
  do failed = ::flock(descriptor, kind | LOCK_NB);
  while (failed && errno == EINTR);
  return !failed;
}

bool lock_file_if_supported(int descriptor, int kind) {
  return lock_file(descriptor, kind) || errno != EWOULDBLOCK;
}

bool write_file(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// A file system that cannot sync a file fails with EINVAL or ENOTSUP. EROFS is a failure: a file
// system that became read-only because of an error has lost what was written.
bool sync_file(int descriptor) {
  while (::fsync(descriptor) != 0) {
    if (errno == EINTR) continue;
    return errno == EINVAL || errno == ENOTSUP;
  }
  return true;
}

}  // namespace tessera::inline v0::detail

#include <tessera/detail/unfinished_files.h>

#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>

namespace tessera::inline v0::detail {

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

bool lock_file(int descriptor, int kind) {
  int failed = 0;
  do failed = ::flock(descriptor, kind | LOCK_NB);
  while (failed && errno == EINTR);
  return !failed;
}

bool lock_file_if_supported(int descriptor, int kind) {
  return lock_file(descriptor, kind) || errno != EWOULDBLOCK;
}

}  // namespace tessera::inline v0::detail

#include "output.h"

#include "command.h"

#include <tessera/detail/visible.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace command {

namespace {

// The reason of the first failed write. It is kept because a later write to the same file may
// succeed.
int g_failure = 0;

void note(bool written) {
  if (!written && g_failure == 0) g_failure = errno ? errno : EIO;
}

}  // namespace

void say(std::string_view text) {
  const std::string safe = tessera::detail::visible_lines(text);
  errno = 0;
  note(std::fwrite(safe.data(), 1, safe.size(), stdout) == safe.size());
}

void sayf(const char* format, ...) {
  std::va_list words, again;
  va_start(words, format);
  va_copy(again, words);
  const int n = std::vsnprintf(nullptr, 0, format, words);
  va_end(words);
  std::string text(n > 0 ? static_cast<std::size_t>(n) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  say(text);
}

std::string name_text(std::string_view name) { return tessera::detail::visible(name); }

void prepare_output() {
  std::signal(SIGPIPE, SIG_IGN);
  bool closed = false;
  for (int file = 0; file <= STDERR_FILENO; ++file) {
    if (::fcntl(file, F_GETFD) >= 0) continue;
    closed = closed || file == STDOUT_FILENO;
    if (::open("/dev/null", O_RDWR) != file) std::abort();
  }
  if (closed) throw Unusable{"there is no standard output"};
}

void finish_output() {
  errno = 0;
  note(std::fflush(stdout) == 0);
  if (g_failure)
    throw Unusable{std::string("the output could not be written: ") + std::strerror(g_failure)};
}

}  // namespace command

#include "explain/pages.h"

#include "base/message.h"

#include <tessera/detail/input_file.h>
#include <tessera/error.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace tessera::inline v0::explain {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestPageName = 100;

[[noreturn]] void refuse_page(const std::string& path, const std::string& why) {
  Message("explain")
      .problem("'" + detail::shown_path(path) + "' cannot be written: " + why)
      .rule("each program has a page of its own in the folder")
      .advice("a folder where files may be written")
      .raise<IoError>();
}

// A name that every file system takes.
std::string as_file_name(const std::string& name) {
  std::string out = name.substr(0, kLongestPageName);
  std::replace_if(
      out.begin(), out.end(),
      [](unsigned char c) { return c > 127 || (!std::isalnum(c) && c != '-' && c != '.'); }, '_');
  return out.empty() ? "program" : out;
}

int number_of_page(const std::string& file) {
  int n = 0;
  const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), n);
  return error == std::errc() && *end == '_' ? n : 0;
}

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

// Makes an empty file with the next number.
std::string new_page(const std::string& folder, const std::string& name) {
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (ec) refuse_page(folder, ec.message());
  // The lock makes the number unique. Without locks, O_EXCL still keeps any file from being
  // replaced.
  const Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.get() < 0) refuse_page(folder, std::strerror(errno));
  while (::flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  int highest = 0;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec))
    highest = std::max(highest, number_of_page(it->path().filename().string()));
  if (ec) refuse_page(folder, ec.message());
  for (;;) {
    char number[16];
    std::snprintf(number, sizeof number, "%04d_", ++highest);
    std::string path = (fs::path(folder) / (number + name + ".html")).string();
    const Descriptor made(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (made.get() >= 0) return path;
    if (errno != EEXIST) refuse_page(path, std::strerror(errno));
  }
}

}  // namespace

std::string write_page(const std::string& folder, Question question, const PlanOptions& options) {
  const std::size_t named = question.inputs.size();
  for (std::size_t i = named; i < question.program->inputs.size(); ++i)
    question.inputs.push_back(named ? "constant " + std::to_string(i - named)
                                    : "args[" + std::to_string(i) + "]");
  while (question.outputs.size() < question.program->outputs.size())
    question.outputs.push_back("result[" + std::to_string(question.outputs.size()) + "]");
  const std::string path = new_page(folder, as_file_name(question.name));
  try {
    save_html(make(question, options), path);
  } catch (...) {
    std::error_code ec;
    fs::remove(path, ec);
    throw;
  }
  return path;
}

}  // namespace tessera::inline v0::explain

// The reason why a file cannot be written or read, before the public function that reports it is
// known.
#pragma once

#include <tessera/detail/report.h>
#include <tessera/error.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace tessera::inline v0::checkpoints {

/// For example "shards-0-of-1.safetensors cannot be written: No space left on device".
class Trouble : public std::runtime_error {
 public:
  explicit Trouble(const std::string& what,
                   std::string advice =
                       "check that the folder is writable, and the space that is "
                       "left on the disk")
      : std::runtime_error(what), advice_(std::move(advice)) {}
  /// Appends the text of errno.
  static Trouble of_system(const std::string& what) {
    return Trouble(what + ": " + std::strerror(errno));
  }
  /// One thing for the user to try.
  const std::string& advice() const { return advice_; }

 private:
  std::string advice_;
};

/// The text by which a process tells others of an error of its own, with all parts of an Error and
/// the advice of a Trouble. The lines after the first are indented.
inline std::string report_of(const std::exception& e) {
  constexpr std::size_t kMost = 4000;
  std::string text = e.what();
  if (const auto* error = dynamic_cast<const Error*>(&e)) text = error->parts().text();
  if (const auto* trouble = dynamic_cast<const Trouble*>(&e))
    text += "\n  try: " + trouble->advice();
  return detail::report_text(text, kMost);
}

}  // namespace tessera::inline v0::checkpoints

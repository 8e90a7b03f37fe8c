#include "base/message.h"

#include <cstring>

namespace tessera::inline v0 {

std::string to_string(const SourceLoc& loc) {
  if (!loc) return {};
  const char* slash = std::strrchr(loc.file, '/');
  return std::string(slash ? slash + 1 : loc.file) + ":" + std::to_string(loc.line);
}

std::string Message::str() const {
  std::string s = function_ + ": " + problem_;
  for (const auto& o : offenders_) s += "\n  - " + o;
  if (!rule_.empty()) s += "\n  rule: " + rule_;
  if (!at_.empty()) s += "\n  at: " + at_;
  if (!from_.empty()) s += "\n  from: " + from_;
  if (!advice_.empty()) s += "\n  try: " + advice_;
  return s;
}

InternalError::InternalError(const std::string& what, std::source_location where)
    : std::logic_error("Tessera broke a promise of its own: " + what + " (" + to_string(SourceLoc(where)) +
                       "). Please report this with the program that caused it.") {}

}  // namespace tessera::inline v0

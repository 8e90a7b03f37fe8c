#include "base/message.h"

#include "base/named_scopes.h"
#include "base/thread_kept.h"

#include <tessera/detail/visible.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tessera::inline v0 {

namespace {

// Whether a source line is uninformative for users: it is in the library's own sources, in
// operators that cannot take their caller's location, or in the standard library, which is the
// caller if a std::function is in between.
bool is_own(const char* file) {
  constexpr std::string_view here = __FILE__, mine = "base/message.cc";
  constexpr std::string_view root = here.substr(0, here.size() - mine.size());
  return std::string_view(file).starts_with(root) || std::strstr(file, "tessera/array.h") ||
         std::strstr(file, "tessera/operators.h") || std::strstr(file, "/c++/");
}

std::string file_and_line(const char* file, int line) {
  const char* slash = std::strrchr(file, '/');
  return std::string(slash ? slash + 1 : file) + ":" + std::to_string(line);
}

}  // namespace

std::string to_string(const SourceLoc& loc) {
  if (!loc || is_own(loc.file)) return {};
  return file_and_line(loc.file, loc.line);
}

namespace {

// Programs print weak types with a star: f32[]*. That is noise in an error message.
std::string without_stars(std::string s) {
  for (std::size_t at = 0; (at = s.find("]*", at)) != std::string::npos;) s.erase(++at, 1);
  return s;
}

}  // namespace

namespace {
thread_local const InFunction* outermost_function = nullptr;
}

InFunction::InFunction(const char* function, const SourceLoc& loc)
    : function_(function), loc_(loc) {
  if (!outermost_function) outermost_function = this;
}
InFunction::~InFunction() {
  if (outermost_function == this) outermost_function = nullptr;
}
const InFunction* InFunction::outermost() { return outermost_function; }

std::string& named_scopes() {
  static thread_local const ThreadKept<std::string> names;
  return *names;
}

InUserCode::InUserCode() : outside_(std::exchange(outermost_function, nullptr)) {}
void InUserCode::end() {
  if (live_) outermost_function = outside_;
  live_ = false;
}

std::string Message::str() const {
  const InFunction* called = InFunction::outermost();
  std::string s = (called ? called->function() : function_) + ": " + problem_;
  constexpr std::size_t kShown = 16;
  for (std::size_t i = 0; i < std::min(kShown, offenders_.size()); ++i)
    s += "\n  - " + offenders_[i];
  if (offenders_.size() > kShown)
    s += "\n  - and " + std::to_string(offenders_.size() - kShown) + " more";
  if (!rule_.empty()) s += "\n  rule: " + rule_;
  if (!at_.empty()) s += "\n  at: " + at_;
  const std::string from = from_.empty() && called ? to_string(called->loc()) : from_;
  if (!from.empty()) s += "\n  from: " + from;
  if (!named_scopes().empty()) s += "\n  in: " + named_scopes();
  if (!advice_.empty()) s += "\n  try: " + advice_;
  return detail::visible_lines(without_stars(std::move(s)));
}

InternalError::InternalError(const std::string& what, std::source_location where)
    : std::logic_error("Tessera broke a promise of its own: " + what + " (" +
                       file_and_line(where.file_name(), static_cast<int>(where.line())) +
                       "). Please report this with the program that caused it.") {}

}  // namespace tessera::inline v0

#include "base/message.h"

#include "base/named_scopes.h"
#include "base/thread_kept.h"

#include <tessera/detail/visible.h>

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

// Whether the location is a line of the user's program.
bool is_of_user(const SourceLoc& loc) { return loc && !is_own(loc.file); }

// The text as errors show it. Programs print weak types with a star, f32[]*, which is noise in an
// error message.
std::string shown(std::string s) {
  for (std::size_t at = 0; (at = s.find("]*", at)) != std::string::npos;) s.erase(++at, 1);
  return detail::visible_lines(s);
}

}  // namespace

std::string to_string(const SourceLoc& loc) {
  return is_of_user(loc) ? file_and_line(loc.file, loc.line) : std::string();
}

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

std::string scopes_within(const std::string& outer, const std::string& scopes) {
  if (outer.empty()) return scopes;
  if (scopes.empty()) return outer;
  if (scopes.starts_with(outer) && (scopes.size() == outer.size() || scopes[outer.size()] == '/'))
    return scopes;
  return outer + "/" + scopes;
}

InUserCode::InUserCode() : outside_(std::exchange(outermost_function, nullptr)) {}
void InUserCode::end() {
  if (live_) outermost_function = outside_;
  live_ = false;
}

ErrorParts Message::parts() const {
  const InFunction* called = InFunction::outermost();
  ErrorParts p;
  p.function = shown(called ? called->function() : function_);
  p.problem = shown(problem_);
  for (const std::string& o : offenders_) p.offenders.push_back(shown(o));
  p.rule = shown(rule_);
  p.at = shown(at_);
  const SourceLoc from = called && !is_of_user(from_) ? called->loc() : from_;
  if (is_of_user(from)) {
    p.file = from.file;
    p.line = from.line;
  }
  p.scope = shown(named_scopes());
  p.advice = shown(advice_);
  return p;
}

}  // namespace tessera::inline v0

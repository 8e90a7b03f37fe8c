#include <tessera/error.h>

#include "base/message.h"

#include <tessera/detail/visible.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tessera::inline v0 {

std::string file_and_line(std::string_view file, int line) {
  return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(line);
}

std::string ErrorParts::text() const {
  constexpr std::size_t kShown = 16;
  std::string s;
  for (const std::string& call : calls)
    s += "in the call of '" + call + "', which ran asynchronously:\n";
  if (!function.empty()) s += function + ": ";
  s += problem;
  for (std::size_t i = 0; i < std::min(kShown, offenders.size()); ++i) s += "\n  - " + offenders[i];
  if (offenders.size() > kShown)
    s += "\n  - and " + std::to_string(offenders.size() - kShown) + " more";
  if (!rule.empty()) s += "\n  rule: " + rule;
  if (!at.empty()) s += "\n  at: " + at;
  if (!file.empty()) s += "\n  from: " + detail::visible_lines(file_and_line(file, line));
  if (!scope.empty()) s += "\n  in: " + scope;
  if (!advice.empty()) s += "\n  try: " + advice;
  return s;
}

std::string ErrorParts::headline() const {
  const std::string first = problem.substr(0, problem.find('\n'));
  return function.empty() ? first : function + ": " + first;
}

Error::Error(const std::string& text)
    : std::runtime_error(text),
      parts_(std::make_shared<const ErrorParts>(ErrorParts{.problem = text})) {}
Error::Error(ErrorParts parts)
    : std::runtime_error(parts.text()),
      parts_(std::make_shared<const ErrorParts>(std::move(parts))) {}

InternalError::InternalError(const std::string& problem, std::source_location where)
    : std::logic_error("Tessera broke a promise of its own: " + problem + " (" +
                       file_and_line(where.file_name(), static_cast<int>(where.line())) +
                       "). Please report this with the program that caused it."),
      problem_(std::make_shared<const std::string>(problem)) {}

}  // namespace tessera::inline v0

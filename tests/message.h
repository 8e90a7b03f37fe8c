// What a failing call says.
#pragma once

#include <tessera/error.h>

#include <string>

namespace test {

/// The text of what f throws, without the caller's line, which changes with every edit. The lines
/// are tested by tests/errors.
template <class E = tessera::Error, class F>
std::string message(F f) {
  try {
    f();
  } catch (const E& e) {
    std::string text = e.what();
    const std::size_t from = text.find("\n  from: "), end = text.find('\n', from + 1);
    if (from != std::string::npos)
      text.erase(from, (end == std::string::npos ? text.size() : end) - from);
    return text;
  }
  return "nothing thrown";
}

}  // namespace test

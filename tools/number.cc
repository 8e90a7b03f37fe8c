#include "command.h"

#include <charconv>

namespace command {

std::int64_t positive(const std::string& option, const std::string& text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 1)
    throw Unusable{option + " takes a number of 1 or more, and gets '" + text + "'"};
  return n;
}

}  // namespace command

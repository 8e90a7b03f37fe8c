#include "command.h"

#include <algorithm>
#include <charconv>

namespace command {

std::int64_t positive(const std::string& option, const std::string& text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 1)
    throw Unusable{option + " takes a number of 1 or more, and gets '" + text + "'"};
  return n;
}

Words read_options(const std::string& name, const Words& arguments,
                   const std::vector<Option>& options) {
  Words others;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const auto option = std::find_if(options.begin(), options.end(),
                                     [&](const Option& o) { return o.name == word; });
    if (option == options.end()) {
      if (word.starts_with("--")) throw Unusable{name + " has no option " + word};
      others.push_back(word);
    } else {
      if (option->given) *option->given = true;
      if (!option->take) continue;
      if (++i == arguments.size()) throw Unusable{word + " takes a value"};
      option->take(arguments[i]);
    }
  }
  return others;
}

std::string only_file(const std::string& name, const Words& others) {
  if (others.empty()) throw Unusable{name + " takes a file"};
  if (others.size() > 1) throw Unusable{"one file is taken, and '" + others[1] + "' is a second"};
  return others[0];
}

}  // namespace command

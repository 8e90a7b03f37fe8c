// Names in printed programs.
#pragma once

#include <string>
#include <string_view>

namespace tessera::inline v0 {

/// Whether `s` is a letter or underscore followed by letters, digits and underscores.
bool is_identifier(std::string_view s);
/// `s` in double quotes, with backslashes before quotes and backslashes, and \xHH for unprintable
/// characters.
std::string quoted(std::string_view s);
/// `s` itself if it is an identifier, else quoted.
std::string name_text(std::string_view s);

}  // namespace tessera::inline v0

// Names in printed programs.
#pragma once

#include <string>
#include <string_view>

namespace tessera::inline v0 {

/// A letter or underscore, then letters, digits and underscores.
bool is_identifier(std::string_view s);
/// In double quotes, with \" \\ \n \t and \xHH for what does not print.
std::string quoted(std::string_view s);
/// As it is where it is an identifier, quoted otherwise.
std::string name_text(std::string_view s);

}  // namespace tessera::inline v0

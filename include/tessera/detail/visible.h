// Text from outside (names in files, paths, messages of modules) as a terminal may be given it.
#pragma once

#include <tessera/config.h>

#include <string>
#include <string_view>

namespace tessera::inline v0::detail {

/// The text in one line of valid UTF-8. Control characters and bytes that are no UTF-8 become
/// "\x1b", characters that only change how others are shown (such as those that turn the direction
/// of writing) "\u{202e}".
TESSERA_API std::string visible(std::string_view text);
/// The same for text of several lines: ends of lines and tabs stay.
TESSERA_API std::string visible_lines(std::string_view text);

}  // namespace tessera::inline v0::detail

// Makes external text (names in files, paths, messages of modules) safe to print on a terminal.
#pragma once

#include <tessera/config.h>

#include <string>
#include <string_view>

namespace tessera::inline v0::detail {

/// The text as one line of valid UTF-8. Control characters and invalid bytes become "\x1b", and
/// characters that only affect how others are shown (such as direction marks) "\u{202e}".
TESSERA_API std::string visible(std::string_view text);
/// The same for text of several lines: newlines and tabs are kept.
TESSERA_API std::string visible_lines(std::string_view text);

}  // namespace tessera::inline v0::detail

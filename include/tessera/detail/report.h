// The text of an error as one process passes it to others, which show it within errors of their
// own.
#pragma once

#include <tessera/config.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::inline v0::detail {

/// The text in at most `most` bytes (64 or more), safe to print (detail/visible.h) and never empty.
/// Lines after the first are indented by four columns, so that they stay within the list item that
/// the first line begins. A text that is too long ends after a whole line, with a line that counts
/// the lines left out; if even the first line is too long, its beginning ends in "...".
TESSERA_API std::string report_text(std::string_view text, std::size_t most);

}  // namespace tessera::inline v0::detail

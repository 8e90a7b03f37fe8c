// Texts that are never freed, for source locations that are read from files.
#pragma once

#include <string_view>

namespace tessera::inline v0 {

/// A copy of `text` up to its first zero byte, which lives as long as the process, as SourceLoc
/// requires. Equal texts share one copy. Returns null once all copies together take 16 MiB, so that
/// a process that reads programs for ever does not run out of memory.
const char* lasting_text(std::string_view text);

}  // namespace tessera::inline v0

// Writing a file as a whole.
#pragma once

#include <tessera/config.h>

#include <span>
#include <string>
#include <string_view>

namespace tessera::inline v0::detail {

/// Puts a file of these parts, one after the other, in the place of `path`: written beside it,
/// brought to the disk and renamed, so that a failure leaves what was there before and nothing
/// else. Links are followed; only files are replaced, never folders and devices. Makes the folder
/// where it is missing. Gives the reason in the system's words, nothing when it is done.
TESSERA_API std::string replace_file(const std::string& path,
                                     std::span<const std::string_view> parts);

}  // namespace tessera::inline v0::detail

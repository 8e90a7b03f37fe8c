// Writing a file as a whole.
#pragma once

#include <tessera/config.h>

#include <span>
#include <string>
#include <string_view>

namespace tessera::inline v0::detail {

/// Puts a file of these parts, one after the other, in the place of `path`: written beside it,
/// brought to the disk and renamed, so that a failure leaves what was there before and nothing
/// else, and so that each of several threads that write one path leaves a whole file. The file that
/// was there hands on its permissions. Links are followed; only files that may be written are
/// replaced, never folders and devices. Makes the folder where it is missing, and removes what
/// processes that were killed left in it. Gives the reason in the system's words, nothing when it
/// is done.
TESSERA_API std::string replace_file(const std::string& path,
                                     std::span<const std::string_view> parts);

/// Why replace_file would refuse `path`, as far as that can be known without writing; nothing where
/// it would try.
TESSERA_API std::string why_not_replaceable(const std::string& path);

}  // namespace tessera::inline v0::detail

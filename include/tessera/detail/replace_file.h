// Writes files atomically.
#pragma once

#include <tessera/config.h>

#include <span>
#include <string>
#include <string_view>

namespace tessera::inline v0::detail {

/// Replaces the file at `path` by the concatenation of these parts. They are written to a temporary
/// file in the same folder, synced to disk and renamed, so that a failure leaves the previous file
/// and nothing else, and concurrent writers of one path each leave a complete file. The new file
/// keeps the permissions of the old one. Links are followed; only writable files are replaced,
/// never folders or devices. Creates the folder if it is missing, and removes temporary files that
/// killed processes left in it. Returns the system's reason for a failure, or an empty string on
/// success.
TESSERA_API std::string replace_file(const std::string& path,
                                     std::span<const std::string_view> parts);

/// Why replace_file would refuse `path`, as far as that is known without writing; empty if it would
/// try.
TESSERA_API std::string why_not_replaceable(const std::string& path);

}  // namespace tessera::inline v0::detail

// Files and folders that are being written. They have unique names, and the process that writes one
// holds a lock on it, so that others can tell which ones a killed process has left.
#pragma once

#include <tessera/config.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tessera::inline v0::detail {

/// A number for a unique name: random, or unlikely to be taken if the system has no random numbers
/// yet.
TESSERA_API std::uint64_t fresh_number();
/// The number in a name: 16 hexadecimal digits.
TESSERA_API std::string digits_of(std::uint64_t number);
/// Whether a part of a name is such a number.
TESSERA_API bool is_digits_of_number(std::string_view text);

/// The file or folder that a write to `path` changes: follows symbolic links, also to a target that
/// does not exist yet. Returns false if they form a cycle.
TESSERA_API bool follow_links(std::filesystem::path& path);

/// Locks an open file or folder, without waiting; `kind` is LOCK_SH or LOCK_EX. Returns false, with
/// the reason in errno, if it is locked already or the file system has no locks.
TESSERA_API bool lock_file(int descriptor, int kind);
/// Like lock_file, but a file system without locks counts as success. Where nothing can be locked,
/// nothing that a killed process left is removed.
TESSERA_API bool lock_file_if_supported(int descriptor, int kind);

/// Writes all of the text to an open file. Returns false, with the reason in errno, on failure.
TESSERA_API bool write_file(int descriptor, std::string_view text);
/// Flushes an open file or folder to disk. A file system that cannot do so counts as success.
/// Returns false, with the reason in errno, on failure.
TESSERA_API bool sync_file(int descriptor);

}  // namespace tessera::inline v0::detail

// Files and folders that are being written. They have unique names, and the process that writes one
// holds a lock on it, so that others can tell which ones a killed process has left.
#pragma once

#include <tessera/config.h>

#include <cstdint>

namespace tessera::inline v0::detail {

/// A number for a unique name: random, or unlikely to be taken if the system has no random numbers
/// yet.
TESSERA_API std::uint64_t fresh_number();

/// Locks an open file or folder, without waiting; `kind` is LOCK_SH or LOCK_EX. Returns false, with
/// the reason in errno, if it is locked already or the file system has no locks.
TESSERA_API bool lock_file(int descriptor, int kind);
/// Like lock_file, but a file system without locks counts as success. On such a file system nothing
/// can be locked, so those who look for what was left remove nothing there.
TESSERA_API bool lock_file_if_supported(int descriptor, int kind);

}  // namespace tessera::inline v0::detail

// Several named arrays in one file (.npz), as written by numpy.savez and numpy.savez_compressed: a
// zip archive of .npy files.
#pragma once

#include <tessera/array.h>

#include <cstddef>
#include <map>
#include <source_location>
#include <span>
#include <string>

namespace tessera::inline v0 {

/// The options of save_npz.
struct NpzOptions {
  bool compressed = false;  // with deflate, like savez_compressed
};

/// Writes each array as the member "<name>.npy". Equal arrays give equal bytes. The archive is
/// assembled in memory, written to a temporary file and renamed, so a failure leaves the previous
/// file intact. Throws IoError with the reason, and for names that are empty, contain a zero byte
/// or end in ".npy", because they could not be read back.
TESSERA_API void save_npz(const std::string& path, const std::map<std::string, Array>& arrays,
                          const NpzOptions& options = {},
                          std::source_location loc = std::source_location::current());
/// Returns the arrays by name, without ".npy". Throws an IoError that names the file and the
/// damaged or unsupported member: a wrong checksum, a size that deflate cannot have produced,
/// encryption, two members of the same name, or a member that is not a .npy file.
TESSERA_API std::map<std::string, Array> load_npz(
    const std::string& path, std::source_location loc = std::source_location::current());
/// Reads the arrays from the bytes of such a file.
TESSERA_API std::map<std::string, Array> load_npz(
    std::span<const std::byte> bytes, std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0

// Several named arrays in one file, as numpy.savez and numpy.savez_compressed write them (.npz): a
// zip archive of .npy files.
#pragma once

#include <tessera/array.h>

#include <cstddef>
#include <map>
#include <source_location>
#include <span>
#include <string>

namespace tessera::inline v0 {

struct NpzOptions {
  bool compressed = false;  // by deflate, as savez_compressed
};

/// Writes each array as the member "<name>.npy". The same arrays give the same bytes. Puts the
/// archive together in memory, writes it beside the file and renames: a failure leaves what was
/// there before. IoError with the reason; for names that are empty, hold a zero byte or end in
/// ".npy", which would not be read back under the same name.
TESSERA_API void save_npz(const std::string& path, const std::map<std::string, Array>& arrays,
                          const NpzOptions& options = {},
                          std::source_location loc = std::source_location::current());
/// The arrays by their names, without ".npy". IoError names the file and the member that is damaged
/// or not supported: a checksum that disagrees, a size that deflate cannot give, encryption, two
/// members of one name, a member that is no .npy file.
TESSERA_API std::map<std::string, Array> load_npz(
    const std::string& path, std::source_location loc = std::source_location::current());
/// The same from the bytes of such a file.
TESSERA_API std::map<std::string, Array> load_npz(
    std::span<const std::byte> bytes, std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0

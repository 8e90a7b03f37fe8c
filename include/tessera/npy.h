// One array in a file, in NumPy's format (.npy): what numpy.save writes and numpy.load reads.
#pragma once

#include <tessera/array.h>

#include <cstddef>
#include <source_location>
#include <span>
#include <string>

namespace tessera::inline v0 {

/// Writes beside the file and renames: a failure leaves what was there before. bfloat16, which
/// NumPy has no name for, is written as '<V2', as ml_dtypes writes it. IoError with the reason.
TESSERA_API void save_npy(const std::string& path, const Array& x,
                          std::source_location loc = std::source_location::current());
/// Row-major or column-major, little-endian. IoError names what is damaged or not supported: a
/// header that is no dictionary, a dtype of Python objects, sizes that the file does not have.
TESSERA_API Array load_npy(const std::string& path,
                           std::source_location loc = std::source_location::current());
/// The same from the bytes of such a file.
TESSERA_API Array load_npy(std::span<const std::byte> bytes,
                           std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0

// A single array in a file in NumPy's format (.npy), as written by numpy.save and read by
// numpy.load.
#pragma once

#include <tessera/array.h>

#include <cstddef>
#include <source_location>
#include <span>
#include <string>

namespace tessera::inline v0 {

/// Writes to a temporary file and renames it, so a failure leaves the previous file intact.
/// bfloat16, for which NumPy has no name, is written as '<V2', as ml_dtypes does. Throws IoError
/// with the reason.
TESSERA_API void save_npy(const std::string& path, const Array& x,
                          std::source_location loc = std::source_location::current());
/// Reads row-major or column-major, little-endian arrays. Throws an IoError that names what is
/// damaged or unsupported: a header that is not a dictionary, a dtype of Python objects, or a file
/// shorter than its header states.
TESSERA_API Array load_npy(const std::string& path,
                           std::source_location loc = std::source_location::current());
/// Reads the array from the bytes of such a file.
TESSERA_API Array load_npy(std::span<const std::byte> bytes,
                           std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0

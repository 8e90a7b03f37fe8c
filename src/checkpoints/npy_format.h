// NumPy's format of one array, in whatever holds its bytes: a file, or a member of an archive.
#pragma once

#include <tessera/array.h>
#include <tessera/message.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace tessera::inline v0::npy_format {

/// Throws IoError of a public function about one file, or one member of it.
class Complaint {
 public:
  Complaint(const char* function, const std::string& path, const SourceLoc& line);
  /// The same for a member of the file.
  Complaint about(const std::string& member) const;
  [[noreturn]] void fail(const std::string& problem, const std::string& advice) const;

 private:
  const char* function_;
  std::string what_;
  SourceLoc line_;
};

/// What stands before the elements of x, whose dtype NumPy or ml_dtypes must have.
std::string npy_front(const Array& x, const Complaint& complaint, std::source_location loc);
/// The elements of x in row-major order, as long as x lives.
std::string_view npy_elements(const Array& x, std::source_location loc);

/// Bytes one after the other. `read` gives whether there were so many.
struct ByteSource {
  std::uint64_t size = 0;
  std::function<bool(void* to, std::size_t n)> read;
};
/// The bytes themselves, as long as they live.
ByteSource source_of(std::span<const std::byte> bytes);
/// What a Complaint about bytes in memory calls them.
inline const std::string kMemory = "the bytes";
Array read_npy(const ByteSource& in, const Complaint& complaint);

}  // namespace tessera::inline v0::npy_format

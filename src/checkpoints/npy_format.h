// Reads and writes one array in NumPy's format, in a file or as a member of an archive.
#pragma once

#include <tessera/array.h>
#include <tessera/message.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace tessera::inline v0::npy_format {

/// Throws IoErrors in the name of a public function, about one file or one member of it.
class Complaint {
 public:
  Complaint(const char* function, const std::string& path, const SourceLoc& line);
  /// A Complaint about a member of the file.
  Complaint about(const std::string& member) const;
  [[noreturn]] void fail(const std::string& problem, const std::string& advice) const;

 private:
  const char* function_;
  std::string what_;
  SourceLoc line_;
};

/// The header that precedes the elements of x. Complains if neither NumPy nor ml_dtypes has the
/// dtype of x.
std::string npy_front(const Array& x, const Complaint& complaint, std::source_location loc);
/// The elements of x in row-major order; valid as long as x lives.
std::string_view npy_elements(const Array& x, std::source_location loc);

/// A sequential source of bytes. `read` returns false if fewer than n bytes are left.
struct ByteSource {
  std::uint64_t size = 0;
  std::function<bool(void* to, std::size_t n)> read;
};
/// Reads from memory, which must outlive the source.
ByteSource source_of(std::span<const std::byte> bytes);
/// The name of in-memory bytes in a Complaint.
inline const std::string kMemory = "the bytes";
Array read_npy(const ByteSource& in, const Complaint& complaint);

}  // namespace tessera::inline v0::npy_format

#include <tessera/detail/input_file.h>
#include <tessera/detail/replace_file.h>
#include <tessera/npy.h>

#include "checkpoints/npy_format.h"

namespace tessera::inline v0 {

void save_npy(const std::string& path, const Array& x, std::source_location loc) {
  const npy_format::Complaint complaint("save_npy", path, loc);
  const std::string front = npy_format::npy_front(x, complaint, loc);
  const std::string_view parts[] = {front, npy_format::npy_elements(x, loc)};
  const std::string why = detail::replace_file(path, parts);
  if (!why.empty())
    complaint.fail("it cannot be written: " + why,
                   "check that its folder is writable, and the space that is left on the disk");
}

Array load_npy(const std::string& path, std::source_location loc) {
  const npy_format::Complaint complaint("load_npy", path, loc);
  detail::InputFile in(path);
  if (!in.problem().empty()) complaint.fail(in.problem(), in.advice());
  return npy_format::read_npy({in.size(), [&](void* to, std::size_t n) { return in.read(to, n); }},
                              complaint);
}

Array load_npy(std::span<const std::byte> bytes, std::source_location loc) {
  const npy_format::Complaint complaint("load_npy", npy_format::kMemory, loc);
  return npy_format::read_npy(npy_format::source_of(bytes), complaint);
}

}  // namespace tessera::inline v0

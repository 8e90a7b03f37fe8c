// The header of a safetensors file: JSON that says where each tensor lies.
#pragma once

#include <tessera/dtype.h>
#include <tessera/shape.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::safetensors {

/// Bytes of a header at most, as in the format's own library.
inline constexpr std::uint64_t kMaxHeader = 100'000'000;

struct Entry {
  std::string name;
  DType dtype{};
  Shape shape;
  std::uint64_t begin = 0, end = 0;
};
struct Header {
  std::vector<Entry> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

/// Empty where the format has none.
const char* code_of(DType d);

/// Reads `text`, the header of a file whose tensors take `body` bytes. Gives what is wrong with it,
/// nothing where every tensor's type, shape and place are sound and the places fill the body
/// without overlaps. What it needs of memory and stack does not grow with what the text claims.
std::string parse_header(std::string_view text, std::uint64_t body, Header& out);

}  // namespace tessera::inline v0::safetensors

// The header of a safetensors file: JSON that gives the position of each tensor.
#pragma once

#include <tessera/dtype.h>
#include <tessera/shape.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::safetensors {

/// The largest header accepted, as in the format's reference library.
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

/// The format's name for a dtype, or an empty string if it has none.
const char* code_of(DType d);

/// Parses `text`, the header of a file whose tensors take `body` bytes. Returns a description of
/// the first error, or an empty string if every tensor's type, shape and position are valid and the
/// positions cover the body without overlaps. Memory and stack use do not grow with the sizes that
/// the text claims.
std::string parse_header(std::string_view text, std::uint64_t body, Header& out);

}  // namespace tessera::inline v0::safetensors

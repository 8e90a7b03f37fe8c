// The tables at the start of an MLIR bytecode file: strings, dialects, operation names, and the
// positions of attributes, types and properties.
#pragma once

#include "stablehlo/bytecode/bytes.h"

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0::stablehlo {

struct Tables {
  /// An attribute or type, which is decoded on first use.
  struct Entry {
    std::string_view dialect;
    std::size_t begin = 0, end = 0;
    bool encoded = false;  // if false, it is a zero-terminated text
  };
  struct OperationName {
    std::string_view dialect, name;
  };
  struct Range {
    std::size_t begin = 0, end = 0;
  };

  std::uint64_t version = 0;
  std::string_view producer;
  std::vector<std::string_view> strings, dialects;
  std::vector<OperationName> operations;
  std::vector<Entry> attributes, types;
  std::vector<Range> properties;
  Range program;
};

/// The newest StableHLO release whose operations and attributes are all known.
struct ReleaseNumber {
  std::uint64_t major = 0, minor = 0;
  auto operator<=>(const ReleaseNumber&) const = default;
};
inline constexpr ReleaseNumber kNewestRelease{1, 22};
std::string to_string(ReleaseNumber release);

/// The first four bytes of every bytecode file.
inline constexpr std::string_view kBytecodeMagic = "ML\xefR";

/// A section's number, and its bytes.
struct Section {
  int id = 0;
  Bytes bytes;
};
Section section(Bytes& in);

/// Reads bytecode versions 0 to 6. Throws IoError with the byte of the problem, also if the
/// artifact is of a StableHLO release newer than kNewestRelease.
Tables read_tables(const Source& source);

}  // namespace tessera::inline v0::stablehlo

// The locations of a module: MLIR's record of where each operation comes from. They are decoded one
// by one, when something asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0::stablehlo {

/// One level of a location. `parts` are the numbers of the locations that it consists of.
struct LocationSyntax {
  enum Kind {
    unknown,  // also what is malformed
    file,     // text is the path, with a line
    name,     // text; at most one part
    call,     // the location inside a function, and that of the call
    fused,    // of an operation that was several
  } kind = unknown;
  std::string text;
  std::int64_t line = 0;
  std::vector<std::size_t> parts;
};

/// Locations have numbers other than 0, which OperationSyntax holds.
class Locations {
 public:
  virtual ~Locations() = default;
  virtual LocationSyntax at(std::size_t location) const = 0;
};

}  // namespace tessera::inline v0::stablehlo

// The locations of a module: MLIR's record of where each operation comes from. They are decoded one
// by one, on demand.
#pragma once

#include "stablehlo/text/memory.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tessera::inline v0::stablehlo {

/// One level of a location. `parts` are the numbers of the locations that it consists of. Text and
/// parts live as long as the module's source and the Memory with which it was asked for.
struct LocationSyntax {
  enum Kind {
    unknown,  // also if malformed
    file,     // text is the path, with a line
    name,     // text; at most one part
    call,     // the location inside a function, and that of the call
    fused,    // of an operation that was several
  } kind = unknown;
  std::string_view text;
  std::int64_t line = 0;
  List<std::size_t> parts;
};

/// Locations have numbers other than 0, which OperationSyntax holds.
class Locations {
 public:
  virtual ~Locations() = default;
  virtual LocationSyntax at(std::size_t location, Memory& memory) const = 0;
  /// The location that an alias refers to; other locations are returned unchanged.
  virtual std::size_t resolved(std::size_t location) const { return location; }
};

}  // namespace tessera::inline v0::stablehlo

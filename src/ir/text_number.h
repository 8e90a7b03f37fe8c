// Numbers in printed programs: the shortest decimal that reads back to the same bits.
#pragma once

#include <tessera/dtype.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::inline v0 {

/// Appends the element of dtype `d` at `bytes`: "true", "-3", "0.1", "-0.0", "inf", "nan"; a NaN
/// whose bits are not those of the plain quiet one is "nan:0x7fc00001". Floats have a point, an
/// exponent or a name, so that they differ from integers; complex numbers are "(0.5, -1.0)".
void append_element(std::string& out, DType d, const std::byte* bytes);

/// Reads such text to `bytes`; an integer is also read as a float. False where it is malformed or
/// out of range, and for complex numbers, whose parts are read one by one.
bool parse_element(std::string_view text, DType d, std::byte* bytes);

}  // namespace tessera::inline v0

// Numbers in printed programs: the shortest decimal that reads back to the same bits.
#pragma once

#include <tessera/dtype.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::inline v0 {

/// Appends the element of dtype `d` at `bytes`: "true", "-3", "0.1", "-0.0", "inf", "nan". A NaN
/// whose bits differ from the default quiet NaN is printed as "nan:0x7fc00001". Floats contain a
/// point, an exponent or a name, which distinguishes them from integers; complex numbers are "(0.5,
/// -1.0)".
void append_element(std::string& out, DType d, const std::byte* bytes);

/// Parses such text into `bytes`; integer text is accepted for floats. Returns false if the text is
/// malformed or out of range, or if `d` is complex: complex numbers are read part by part.
bool parse_element(std::string_view text, DType d, std::byte* bytes);

}  // namespace tessera::inline v0

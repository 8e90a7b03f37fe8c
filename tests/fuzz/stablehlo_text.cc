// A module as text: its syntax, then its program.
#include <tessera/stablehlo.h>

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  return fuzz::refuses_or_reads([&] { tessera::load_stablehlo_text(text); });
}

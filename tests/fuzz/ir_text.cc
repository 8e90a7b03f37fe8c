// A program as the library prints it.
#include "ir/program.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  return fuzz::refuses_or_reads([&] { tessera::parse_program(text); });
}

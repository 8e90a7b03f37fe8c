// Images or labels, compressed or not.
#include <tessera/data.h>

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::File file(data, size);
  return fuzz::refuses_or_reads([&] { tessera::data::load_idx(file.path()); });
}

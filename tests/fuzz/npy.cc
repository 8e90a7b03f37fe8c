// One array in NumPy's format.
#include <tessera/npy.h>

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::File file(data, size);
  return fuzz::refuses_or_reads([&] { tessera::load_npy(file.path()); });
}

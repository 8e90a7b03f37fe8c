// A portable artifact, or the file of jax.export around one, as its first bytes say.
#include <tessera/stablehlo.h>

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::File file(data, size);
  return fuzz::refuses_or_reads([&] { tessera::load_stablehlo(file.path()); });
}

// Linked into the wheel's library, so that it also runs with the C library of older systems.
#include <sys/random.h>
#include <cstdint>

// LLVM draws the names of temporary files with this function, which came with glibc 2.36. Everything else that the library
// needs is in glibc 2.35.
extern "C" std::uint32_t arc4random() {
  std::uint32_t bits = 0;
  while (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
  }
  return bits;
}

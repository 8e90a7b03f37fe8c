#include "base/float_mode.h"

#include "base/settings.h"

#include <atomic>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tessera::inline v0 {
namespace {

#if defined(__x86_64__)
// Flush subnormal results to zero (FTZ) and treat subnormal operands as zero (DAZ).
constexpr unsigned kFlush = 0x8000 | 0x0040;
unsigned mode() { return _mm_getcsr(); }
void set_mode(unsigned m) { _mm_setcsr(m); }
#elif defined(__aarch64__)
constexpr unsigned kFlush = 1u << 24;
unsigned mode() { return __builtin_aarch64_get_fpcr(); }
void set_mode(unsigned m) { __builtin_aarch64_set_fpcr(m); }
#else
constexpr unsigned kFlush = 0;
unsigned mode() { return 0; }
void set_mode(unsigned) {}
#endif

std::atomic<bool>& setting() {
  static std::atomic<bool> on{settings::flag("TESSERA_FLUSH_DENORMAL")};
  return on;
}

}  // namespace

void flush_subnormals(bool on) { setting().store(on, std::memory_order_relaxed); }
bool flushes_subnormals() { return setting().load(std::memory_order_relaxed); }

void ProgramFloats::flush() {
  before_ = mode();
  changed_ = (before_ & kFlush) != kFlush;
  if (changed_) set_mode(before_ | kFlush);
}
void ProgramFloats::restore() { set_mode(before_); }

UserFloats::UserFloats() : before_(mode()) {
  if (before_ & kFlush) set_mode(before_ & ~kFlush);
}
UserFloats::~UserFloats() {
  if (before_ & kFlush) set_mode(before_);
}

}  // namespace tessera::inline v0

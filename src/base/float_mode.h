// How threads treat subnormal numbers, the floats nearest to zero: compute with them, which on many
// processors is a hundred times slower, or flush them to zero.
#pragma once

namespace tessera::inline v0 {

/// Applies to programs that begin after this call, on all threads.
void flush_subnormals(bool on);
/// The value last set; initially TESSERA_FLUSH_DENORMAL.
bool flushes_subnormals();

/// While alive, its thread computes in the mode that is set; the destructor restores the previous
/// mode. Costs only one check if subnormal numbers are not flushed.
class ProgramFloats {
 public:
  ProgramFloats() {
    if (flushes_subnormals()) flush();
  }
  ~ProgramFloats() {
    if (changed_) restore();
  }
  ProgramFloats(const ProgramFloats&) = delete;
  ProgramFloats& operator=(const ProgramFloats&) = delete;

 private:
  void flush();
  void restore();
  bool changed_ = false;
  unsigned before_ = 0;
};

/// While alive, this thread runs user code in the middle of a program: subnormal numbers are not
/// flushed.
class UserFloats {
 public:
  UserFloats();
  ~UserFloats();
  UserFloats(const UserFloats&) = delete;
  UserFloats& operator=(const UserFloats&) = delete;

 private:
  unsigned before_;
};

}  // namespace tessera::inline v0

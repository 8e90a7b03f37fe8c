// What threads do with subnormal numbers, the floats nearest to zero: compute with them, which takes
// many processors a hundred times as long, or take them for zeros.
#pragma once

namespace tessera::inline v0 {

/// For programs that begin from now on, in all threads.
void flush_subnormals(bool on);
/// As it was set last; TESSERA_FLUSH_DENORMAL before.
bool flushes_subnormals();

/// While it lives its thread computes as was set; then as before. Costs nothing but a look where
/// subnormal numbers are computed with.
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

/// While it lives the user's code runs on this thread, in the middle of a program: subnormal numbers
/// are numbers.
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

// Misuses and their messages. MISUSE(name) { ... } is a program that must end in an error or a
// warning, whose whole text is compared with expected/<name>.txt. Line numbers in the text count
// from the MISUSE line, so that edits above it do not change the texts.
//
// TESSERA_UPDATE_EXPECTED=1 in the environment writes the texts instead. Read them as a user would
// who sees them for the first time.
#pragma once

#include <tessera/tessera.h>

namespace misuse {

struct Registered {
  Registered(const char* name, void (*program)(), const char* file, int line);
};

}  // namespace misuse

#define MISUSE(name)                                                                  \
  static void name();                                                                 \
  static const misuse::Registered registered_##name(#name, name, __FILE__, __LINE__); \
  static void name()

namespace ts = tessera;
using ts::Array;

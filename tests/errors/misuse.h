// Misuses, and what the library says about them. MISUSE(name) { ... } is a program that has to end
// in an error or a warning; its text is compared, whole, with expected/<name>.txt. Lines of the
// program are counted from the MISUSE line, so that edits above do not change the texts.
//
// TESSERA_UPDATE_EXPECTED=1 in the environment writes the texts instead. Read them as somebody
// would who sees them for the first time.
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

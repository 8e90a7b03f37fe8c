// What all lessons include: the library, the parts of the output, and the pictures.
#pragma once

#include "lessons/pictures.h"

#include <tessera/tessera.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace ts = tessera;
using ts::Array;

/// Begins a part of the lesson's output. The page of the lesson shows the code from this line to
/// the next part, and what is printed there; tests/check_lessons.py compares both. Only the first
/// of several processes prints.
inline void part(const char* name) {
  if (ts::process_index() == 0) std::cout << "== " << name << "\n";
}

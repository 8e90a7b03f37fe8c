// The output of the program: the cells' results, part by part.
#pragma once

#include "cells.h"

#include <cstdio>
#include <iostream>
#include <string>

namespace training_techniques {

inline constexpr std::int64_t kDeviceCount = 8;

void show_guide();            // the execution model, the model and its state
void show_loop();             // the training loop
void show_synchronisation();  // pmean, all-reduce, their cost
void show_techniques();       // accumulation, mixed precision, masks
/// Shows rates, a profile that is written to `folder`, and logging.
void show_performance(const std::string& folder);
void show_pitfalls();

inline void title(const std::string& text) { std::cout << "\n== " << text << "\n"; }
inline void subtitle(const std::string& text) { std::cout << "\n-- " << text << "\n"; }
/// printf to the same stream as std::cout.
template <class... A>
void print(const char* format, A... args) {
  char line[256];
  std::snprintf(line, sizeof line, format, args...);
  std::cout << line;
}

}  // namespace training_techniques

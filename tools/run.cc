// `tessera run` and `tessera print`.
#include "command.h"

#include <tessera/stablehlo.h>

#include <cstdio>

namespace command {
int run(const Words&) { throw Unusable{"not yet"}; }
int print(const Words& arguments) {
  std::fputs(tessera::stablehlo_program(arguments.at(0)).c_str(), stdout);
  return kWell;
}
}  // namespace command

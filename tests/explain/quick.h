// Plans of small functions, without the parts that take long.
#pragma once

#include <tessera/tessera.h>

namespace quick {

inline tessera::PlanOptions options() {
  tessera::PlanOptions o;
  o.alternatives = 0;
  o.memory = false;
  return o;
}

struct Layer {
  tessera::Array w, b;
};

}  // namespace quick
